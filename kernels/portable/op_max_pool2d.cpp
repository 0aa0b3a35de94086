// aten::max_pool2d_with_indices: maximum and its position within the plane of [N, C, H, W] or
// [C, H, W]. Padding does not count, the first of equal values wins, NaN wins over all.

#include "portable/element_types.h"
#include "portable/strided.h"
#include "windows.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

constexpr int64_t kLimit = 1 << 20;  // of every parameter: keeps all positions far from overflow

struct Axis {
  int64_t kernel, stride, padding, dilation;

  int64_t reach() const { return dilation * (kernel - 1) + 1; }

  // Calls `body(position)` for the elements of window `index` that lie within `size`.
  template <typename Body>
  void for_each_position(int64_t index, int64_t size, const Body& body) const {
    const int64_t start = index * stride - padding;
    const int64_t outside = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const int64_t end = std::min(size, start + reach());
    for (int64_t at = start + outside * dilation; at < end; at += dilation) body(at);
  }

  // Number of windows over `size` elements; 0 if not even one fits.
  int64_t windows(int64_t size, bool ceil_mode) const {
    return kernels::window_count(size, reach(), stride, padding, ceil_mode);
  }
};

// Element `i` of a list that may have one element for both axes.
bool element(const Check& check, ArrayRef<int64_t> list, size_t i, const char* name, int64_t low,
             int64_t* value) {
  if (!check.that(list.size() == 1 || list.size() == 2, "a list has the wrong length")) {
    return false;
  }
  *value = list[list.size() == 1 ? 0 : i];
  return check.range(*value, name, low, kLimit);
}

// Position of the maximum of the window at (y, x); `plane` has the strides of the two axes.
template <typename T>
int64_t find_maximum(const T* plane, const int64_t* strides, const int64_t* sizes, const Axis* axes,
                     int64_t y, int64_t x) {
  int64_t best = -1;
  T top{};
  axes[0].for_each_position(y, sizes[0], [&](int64_t iy) {
    axes[1].for_each_position(x, sizes[1], [&](int64_t ix) {
      const T value = plane[iy * strides[0] + ix * strides[1]];
      bool nan = false;
      if constexpr (std::is_floating_point_v<T>) nan = std::isnan(value);
      if (best < 0 || value > top || nan) {
        best = iy * sizes[1] + ix;
        top = value;
      }
    });
  });
  return best;
}

}  // namespace

std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(
    KernelRuntimeContext& context, const Tensor& self, const ArrayRef<int64_t>& kernel_size,
    const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
    const ArrayRef<int64_t>& dilation, bool ceil_mode, Tensor& out, Tensor& indices) {
  const Check check(context, "max_pool2d_with_indices");
  std::tuple<Tensor&, Tensor&> result(out, indices);
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") ||
      !check.range(static_cast<int64_t>(rank), "rank of self", 3, 4)) {
    return result;
  }
  kernels::Shape shape = kernels::shape_of(self);
  int64_t sizes[2];
  Axis axes[2];
  for (size_t i = 0; i < 2; ++i) {
    Axis& axis = axes[i];
    sizes[i] = self.sizes()[rank - 2 + i];
    if (!element(check, kernel_size, i, "kernel_size", 1, &axis.kernel) ||
        !element(check, stride.empty() ? kernel_size : stride, i, "stride", 1, &axis.stride) ||
        !element(check, padding, i, "padding", 0, &axis.padding) ||
        !element(check, dilation, i, "dilation", 1, &axis.dilation) ||
        !check.range(axis.padding, "padding", 0, axis.kernel / 2)) {
      return result;
    }
    const int64_t count = axis.windows(sizes[i], ceil_mode);
    if (!check.range(count, "size of the result", 1, std::numeric_limits<SizesType>::max())) {
      return result;
    }
    shape.dims[rank - 2 + i] = static_cast<SizesType>(count);
  }
  if (!check.resize(out, shape.sizes()) || !check.resize(indices, shape.sizes()) ||
      !check.tensor(out, "out", self.scalar_type()) ||
      !check.tensor(indices, "indices", ScalarType::Long) ||
      !check.that(kernels::same_layout(out, indices), "out and indices differ in dim order")) {
    return result;
  }

  kernels::View plane = kernels::whole(self);
  const int64_t strides[2] = {plane.strides[rank - 2], plane.strides[rank - 1]};
  plane.strides[rank - 2] = plane.strides[rank - 1] = 0;
  kernels::View row;
  kernels::View column;
  row.strides[rank - 2] = column.strides[rank - 1] = 1;
  int64_t* places = indices.mutable_data_ptr<int64_t>();
  const bool known = kernels::with_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = self.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    bool filled = true;
    kernels::for_each_element(out, {plane, row, column}, [&](const int64_t* at, size_t i) {
      const int64_t best = find_maximum(from + at[0], strides, sizes, axes, at[1], at[2]);
      // A dilated window may lie in the padding altogether, where ATen's index is none of self.
      if (filled) filled = check.that(best >= 0, "a window has no element of self");
      if (!filled) return;
      places[i] = best;
      to[i] = from[at[0] + best / sizes[1] * strides[0] + best % sizes[1] * strides[1]];
    });
  });
  check.that(known, "the type of self has no kernel");
  return result;
}

}  // namespace portable::native
