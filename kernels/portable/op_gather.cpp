// aten cat, index, gather and constant_pad_nd: results put together from chosen elements.

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;
using kernels::kMaxRank;

namespace {

// A concatenated tensor of shape [0] counts for nothing, whatever the rank of the others.
bool is_nothing(const Tensor& tensor) {
  return tensor.sizes().size() == 1 && tensor.sizes()[0] == 0;
}

int64_t index_at(const Tensor& index, int64_t at) {
  return index.scalar_type() == ScalarType::Long ? index.const_data_ptr<int64_t>()[at]
                                                 : index.const_data_ptr<int32_t>()[at];
}

bool is_index(const Check& check, const Tensor& index) {
  return check.usable(index, "index") && check.that(index.scalar_type() == ScalarType::Long ||
                                                        index.scalar_type() == ScalarType::Int,
                                                    "index is neither int64 nor int32");
}

// All elements of `index` lie within a dimension of `size`, negative ones counting from its end.
bool indices_fit(const Check& check, const Tensor& index, int64_t size, bool negative) {
  for (int64_t i = 0; i < index.numel(); ++i) {
    if (!check.range(index_at(index, i), "index", negative ? -size : 0, size - 1)) return false;
  }
  return true;
}

// Copies one element of `size` bytes.
void copy_element(const void* from, int64_t at, void* to, size_t i, size_t size) {
  memcpy(static_cast<uint8_t*>(to) + i * size, static_cast<const uint8_t*>(from) + at * size, size);
}

}  // namespace

Tensor& cat_out(KernelRuntimeContext& context, const ArrayRef<Tensor>& tensors, int64_t dim,
                Tensor& out) {
  const Check check(context, "cat");
  const Tensor* first = nullptr;
  for (const Tensor& tensor : tensors) {
    if (!check.tensor(tensor, "tensor", out.scalar_type())) return out;
    if (first == nullptr && !is_nothing(tensor)) first = &tensor;
  }
  if (first == nullptr) {
    static constexpr SizesType kNone[] = {0};
    check.resize(out, kNone);
    return out;
  }
  kernels::Shape shape = kernels::shape_of(*first);
  if (!check.that(shape.rank > 0, "tensors have no dimension") ||
      !kernels::normalize_dim(check, dim, shape.rank)) {
    return out;
  }
  int64_t length = 0;
  for (const Tensor& tensor : tensors) {
    if (is_nothing(tensor)) continue;
    bool equal = tensor.sizes().size() == shape.rank;
    for (size_t i = 0; equal && i < shape.rank; ++i) {
      equal = static_cast<int64_t>(i) == dim || tensor.sizes()[i] == shape.dims[i];
    }
    if (!check.that(equal, "tensors differ in more than one dimension")) return out;
    length += tensor.sizes()[dim];
  }
  if (!check.range(length, "size", 0, std::numeric_limits<SizesType>::max())) return out;
  shape.dims[dim] = static_cast<SizesType>(length);
  if (!check.resize(out, shape.sizes()) || !check.usable(out, "out")) return out;

  kernels::View into = kernels::whole(out);
  const size_t size = executorch::runtime::elementSize(out.scalar_type());
  for (const Tensor& tensor : tensors) {
    if (is_nothing(tensor)) continue;
    const void* from = tensor.const_data_ptr();
    auto* to = static_cast<uint8_t*>(out.mutable_data_ptr());
    kernels::for_each_element(tensor, {into}, [&](const int64_t* at, size_t i) {
      memcpy(to + at[0] * size, static_cast<const uint8_t*>(from) + i * size, size);
    });
    into.offset += tensor.sizes()[dim] * into.strides[dim];
  }
  return out;
}

Tensor& gather_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim,
                   const Tensor& index, bool, Tensor& out) {
  const Check check(context, "gather");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !is_index(check, index) ||
      !check.that(rank > 0 && index.sizes().size() == rank, "self and index differ in rank") ||
      !kernels::normalize_dim(check, dim, rank)) {
    return out;
  }
  for (size_t i = 0; i < rank; ++i) {
    if (static_cast<int64_t>(i) != dim &&
        !check.range(index.sizes()[i], "size of index", 0, self.sizes()[i])) {
      return out;
    }
  }
  if (!indices_fit(check, index, self.sizes()[dim], false) || !check.resize(out, index.sizes()) ||
      !check.tensor(out, "out", self.scalar_type())) {
    return out;
  }
  kernels::View others = kernels::whole(self);
  const int64_t stride = others.strides[dim];
  others.strides[dim] = 0;
  const size_t size = executorch::runtime::elementSize(out.scalar_type());
  const void* from = self.const_data_ptr();
  void* to = out.mutable_data_ptr();
  kernels::for_each_element(out, {others, kernels::whole(index)}, [&](const int64_t* at, size_t i) {
    copy_element(from, at[0] + index_at(index, at[1]) * stride, to, i, size);
  });
  return out;
}

// Index tensors for the leading dimensions, or with gaps; they are broadcast to one shape, which
// takes the place of the indexed dimensions if these are adjacent, and comes first if not.
Tensor& index_Tensor_out(KernelRuntimeContext& context, const Tensor& self,
                         const ArrayRef<std::optional<Tensor>>& indices, Tensor& out) {
  const Check check(context, "index");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") ||
      !check.range(static_cast<int64_t>(indices.size()), "number of indices", 1,
                   static_cast<int64_t>(rank))) {
    return out;
  }
  kernels::Shape common{{}, 0};
  size_t first = rank;
  size_t last = 0;
  size_t used = 0;
  for (size_t dim = 0; dim < indices.size(); ++dim) {
    if (!indices[dim]) continue;
    const Tensor& index = *indices[dim];
    if (!is_index(check, index) || !indices_fit(check, index, self.sizes()[dim], true)) return out;
    const size_t own = index.sizes().size();
    if (own > common.rank) {
      std::copy_backward(common.dims, common.dims + common.rank, common.dims + own);
      std::fill(common.dims, common.dims + own - common.rank, 1);
      common.rank = own;
    }
    for (size_t i = 0; i < own; ++i) {
      SizesType& size = common.dims[common.rank - own + i];
      if (!check.that(size == 1 || index.sizes()[i] == 1 || size == index.sizes()[i],
                      "index tensors cannot be broadcast")) {
        return out;
      }
      if (size == 1) size = index.sizes()[i];
    }
    first = std::min(first, dim);
    last = dim;
    ++used;
  }
  if (!check.that(used > 0, "there is no index") ||
      !check.that(rank - used + common.rank <= kMaxRank, "the result has too many dimensions")) {
    return out;
  }
  const size_t place = last - first + 1 == used ? first : 0;

  // Shape and view: the dimensions before `place`, the common ones, the rest.
  const kernels::View whole = kernels::whole(self);
  kernels::Shape shape{{}, 0};
  kernels::View kept;
  const auto append_common = [&] {
    for (size_t i = 0; i < common.rank; ++i) shape.dims[shape.rank++] = common.dims[i];
  };
  for (size_t dim = 0; dim < rank; ++dim) {
    if (dim == place) append_common();
    if (dim < indices.size() && indices[dim]) continue;
    kept.strides[shape.rank] = whole.strides[dim];
    shape.dims[shape.rank++] = self.sizes()[dim];
  }
  if (!check.resize(out, shape.sizes()) || !check.tensor(out, "out", self.scalar_type())) {
    return out;
  }

  // The position within the common shape, in row-major order, to find each index tensor's element.
  kernels::View within;
  int64_t stride = 1;
  for (size_t i = common.rank; i-- > 0;) {
    within.strides[place + i] = stride;
    stride *= common.dims[i];
  }
  const size_t size = executorch::runtime::elementSize(out.scalar_type());
  const void* from = self.const_data_ptr();
  void* to = out.mutable_data_ptr();
  kernels::for_each_element(out, {kept, within}, [&](const int64_t* at, size_t i) {
    int64_t source = at[0];
    for (size_t dim = first; dim <= last; ++dim) {
      if (!indices[dim]) continue;
      const Tensor& index = *indices[dim];
      const size_t own = index.sizes().size();
      const kernels::View strides = kernels::whole(index);
      int64_t left = at[1];
      int64_t position = 0;
      for (size_t k = common.rank; k-- > 0;) {
        const int64_t coordinate = left % common.dims[k];
        left /= common.dims[k];
        if (k + own < common.rank) continue;
        const size_t axis = k + own - common.rank;
        if (index.sizes()[axis] != 1) position += coordinate * strides.strides[axis];
      }
      const int64_t value = index_at(index, position);
      source += (value < 0 ? value + self.sizes()[dim] : value) * whole.strides[dim];
    }
    copy_element(from, source, to, i, size);
  });
  return out;
}

Tensor& constant_pad_nd_out(KernelRuntimeContext& context, const Tensor& self,
                            const ArrayRef<int64_t>& pad, const Scalar& value, Tensor& out) {
  const Check check(context, "constant_pad_nd");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") ||
      !check.that(pad.size() % 2 == 0 && pad.size() / 2 <= rank, "pad has the wrong length") ||
      !check.that(kernels::takes_scalar(self.scalar_type(), value),
                  "the value does not fit the type of self")) {
    return out;
  }
  kernels::Shape shape = kernels::shape_of(self);
  int64_t before[kMaxRank] = {};
  for (size_t i = 0; i < pad.size() / 2; ++i) {  // from the last dimension on
    const size_t dim = rank - 1 - i;
    constexpr int64_t kLimit = 1 << 30;
    if (!check.range(pad[2 * i], "pad", 0, kLimit) ||
        !check.range(pad[2 * i + 1], "pad", 0, kLimit))
      return out;
    before[dim] = pad[2 * i];
    const int64_t size = shape.dims[dim] + pad[2 * i] + pad[2 * i + 1];
    if (!check.range(size, "size", 0, std::numeric_limits<SizesType>::max())) return out;
    shape.dims[dim] = static_cast<SizesType>(size);
  }
  if (!check.resize(out, shape.sizes()) || !check.tensor(out, "out", self.scalar_type())) {
    return out;
  }
  kernels::View inner = kernels::whole(out);
  for (size_t dim = 0; dim < rank; ++dim) inner.offset += before[dim] * inner.strides[dim];
  const bool known = kernels::with_every_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = self.const_data_ptr<kernels::Stored<T>>();
    auto* to = out.mutable_data_ptr<kernels::Stored<T>>();
    std::fill_n(to, out.numel(), kernels::from_scalar<T>(value));
    kernels::for_each_element(self, {inner},
                              [&](const int64_t* at, size_t i) { to[at[0]] = from[i]; });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace portable::native
