// aten operators that give the elements of one tensor another shape or order: every result element
// is found by strides.

#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;
using kernels::kMaxRank;
using kernels::Shape;
using kernels::View;

namespace {

// Shape and view of a tensor, to be edited.
struct Draft {
  explicit Draft(const Tensor& tensor)
      : shape(kernels::shape_of(tensor)), view(kernels::whole(tensor)) {}

  void set(size_t at, SizesType size, int64_t stride) {
    shape.dims[at] = size;
    view.strides[at] = stride;
  }

  void remove(size_t dim) {
    for (size_t i = dim; i + 1 < shape.rank; ++i) set(i, shape.dims[i + 1], view.strides[i + 1]);
    --shape.rank;
  }

  void insert(size_t dim) {
    for (size_t i = shape.rank; i > dim; --i) set(i, shape.dims[i - 1], view.strides[i - 1]);
    set(dim, 1, 0);
    ++shape.rank;
  }

  Shape shape;
  View view;
};

bool fits_size(const Check& check, int64_t size, const char* name) {
  return check.range(size, name, 0, std::numeric_limits<SizesType>::max());
}

}  // namespace

Tensor& permute_copy_out(KernelRuntimeContext& context, const Tensor& self,
                         const ArrayRef<int64_t>& dims, Tensor& out) {
  const Check check(context, "permute_copy");
  if (!check.usable(self, "self")) return out;
  const size_t rank = self.sizes().size();
  if (!check.equal(static_cast<int64_t>(dims.size()), "number of dims", static_cast<int64_t>(rank)))
    return out;
  const Draft old(self);
  Draft draft(self);
  uint32_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    int64_t dim = dims[i];
    if (!kernels::normalize_dim(check, dim, rank)) return out;
    seen |= 1U << dim;
    draft.set(i, old.shape.dims[dim], old.view.strides[dim]);
  }
  if (!check.that(seen == (1U << rank) - 1, "dims is no permutation")) return out;
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& transpose_copy_int_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim0,
                               int64_t dim1, Tensor& out) {
  const Check check(context, "transpose_copy");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !kernels::normalize_dim(check, dim0, rank) ||
      !kernels::normalize_dim(check, dim1, rank)) {
    return out;
  }
  Draft draft(self);
  if (rank > 0) {
    std::swap(draft.shape.dims[dim0], draft.shape.dims[dim1]);
    std::swap(draft.view.strides[dim0], draft.view.strides[dim1]);
  }
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& t_copy_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  const Check check(context, "t_copy");
  if (!check.usable(self, "self") ||
      !check.range(static_cast<int64_t>(self.sizes().size()), "rank of self", 0, 2)) {
    return out;
  }
  Draft draft(self);
  if (draft.shape.rank == 2) {
    std::swap(draft.shape.dims[0], draft.shape.dims[1]);
    std::swap(draft.view.strides[0], draft.view.strides[1]);
  }
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& unsqueeze_copy_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim,
                           Tensor& out) {
  const Check check(context, "unsqueeze_copy");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !kernels::normalize_dim(check, dim, rank + 1) ||
      !check.that(rank < kMaxRank, "self has too many dimensions")) {
    return out;
  }
  Draft draft(self);
  draft.insert(static_cast<size_t>(dim));
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& squeeze_copy_dims_out(KernelRuntimeContext& context, const Tensor& self,
                              const ArrayRef<int64_t>& dims, Tensor& out) {
  const Check check(context, "squeeze_copy");
  if (!check.usable(self, "self")) return out;
  const size_t rank = self.sizes().size();
  uint32_t wanted = 0;
  for (int64_t dim : dims) {
    if (!kernels::normalize_dim(check, dim, rank)) return out;
    wanted |= 1U << dim;
  }
  Draft draft(self);
  for (size_t dim = rank; dim-- > 0;) {
    if ((wanted >> dim & 1) != 0 && self.sizes()[dim] == 1) draft.remove(dim);
  }
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& squeeze_copy_dim_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim,
                             Tensor& out) {
  return squeeze_copy_dims_out(context, self, ArrayRef<int64_t>(&dim, 1), out);
}

Tensor& select_copy_int_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim,
                            int64_t index, Tensor& out) {
  const Check check(context, "select_copy");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !check.that(rank > 0, "self has no dimension") ||
      !kernels::normalize_dim(check, dim, rank)) {
    return out;
  }
  const int64_t size = self.sizes()[dim];
  if (!check.range(index, "index", -size, size - 1)) return out;
  Draft draft(self);
  draft.view.offset = (index < 0 ? index + size : index) * draft.view.strides[dim];
  draft.remove(static_cast<size_t>(dim));
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

void split_with_sizes_copy_out(KernelRuntimeContext& context, const Tensor& self,
                               const ArrayRef<int64_t>& split_sizes, int64_t dim,
                               const ArrayRef<Tensor>& out) {
  const Check check(context, "split_with_sizes_copy");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !check.that(rank > 0, "self has no dimension") ||
      !kernels::normalize_dim(check, dim, rank) ||
      !check.that(split_sizes.size() == out.size(), "out has another number of parts")) {
    return;
  }
  const auto axis = static_cast<size_t>(dim);
  int64_t first = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!check.range(split_sizes[i], "size of a part", 0, self.sizes()[axis] - first)) return;
    Draft draft(self);
    draft.view.offset = first * draft.view.strides[axis];
    draft.set(axis, static_cast<SizesType>(split_sizes[i]), draft.view.strides[axis]);
    Tensor part = out[i];  // a handle of the same tensor
    if (!kernels::move_checked(check, self, draft.view, draft.shape, part)) return;
    first += split_sizes[i];
  }
  check.that(first == self.sizes()[axis], "the parts do not make up self");
}

Tensor& slice_copy_Tensor_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim,
                              const std::optional<int64_t>& start,
                              const std::optional<int64_t>& end, int64_t step, Tensor& out) {
  const Check check(context, "slice_copy");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !check.that(rank > 0, "self has no dimension") ||
      !kernels::normalize_dim(check, dim, rank) ||
      !check.range(step, "step", 1, std::numeric_limits<SizesType>::max())) {
    return out;
  }
  const int64_t size = self.sizes()[dim];
  const auto clamp = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t first = clamp(start.value_or(0));
  const int64_t last = clamp(end.value_or(size));
  Draft draft(self);
  draft.view.offset = first * draft.view.strides[dim];
  draft.set(static_cast<size_t>(dim),
            static_cast<SizesType>(last > first ? (last - first + step - 1) / step : 0),
            draft.view.strides[dim] * step);
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& expand_copy_out(KernelRuntimeContext& context, const Tensor& self,
                        const ArrayRef<int64_t>& sizes, bool implicit, Tensor& out) {
  const Check check(context, "expand_copy");
  const size_t rank = self.sizes().size();
  if (!check.usable(self, "self") || !check.that(!implicit, "implicit is not supported") ||
      !check.range(static_cast<int64_t>(sizes.size()), "number of sizes",
                   static_cast<int64_t>(rank), kMaxRank)) {
    return out;
  }
  const Draft old(self);
  Draft draft(self);
  draft.shape.rank = sizes.size();
  const size_t missing = sizes.size() - rank;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const SizesType own = dim < missing ? 1 : old.shape.dims[dim - missing];
    const int64_t size = sizes[dim] == -1 && dim >= missing ? own : sizes[dim];
    if (!fits_size(check, size, "size") ||
        !check.that(own == 1 || own == size, "sizes do not match self")) {
      return out;
    }
    draft.set(dim, static_cast<SizesType>(size), own == 1 ? 0 : old.view.strides[dim - missing]);
  }
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& as_strided_copy_out(KernelRuntimeContext& context, const Tensor& self,
                            const ArrayRef<int64_t>& sizes, const ArrayRef<int64_t>& strides,
                            const std::optional<int64_t>& storage_offset, Tensor& out) {
  const Check check(context, "as_strided_copy");
  const auto rank = static_cast<int64_t>(sizes.size());
  if (!check.usable(self, "self") || !check.range(rank, "number of sizes", 0, kMaxRank) ||
      !check.equal(static_cast<int64_t>(strides.size()), "number of strides", rank)) {
    return out;
  }
  Draft draft(self);
  draft.shape.rank = sizes.size();
  draft.view.offset = storage_offset.value_or(0);
  const int64_t elements = self.numel();
  bool empty = false;
  int64_t last = 0;
  if (!check.range(draft.view.offset, "storage_offset", 0, elements)) return out;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (!fits_size(check, sizes[dim], "size") ||
        !check.range(strides[dim], "stride", 0, std::numeric_limits<SizesType>::max())) {
      return out;
    }
    draft.set(dim, static_cast<SizesType>(sizes[dim]), strides[dim]);
    empty = empty || sizes[dim] == 0;
    last += sizes[dim] == 0 ? 0 : (sizes[dim] - 1) * strides[dim];
    if (!check.range(last, "last position", 0, std::numeric_limits<SizesType>::max())) return out;
  }
  if (!check.that(empty || draft.view.offset + last < elements, "the view reaches out of self")) {
    return out;
  }
  kernels::move_checked(check, self, draft.view, draft.shape, out);
  return out;
}

Tensor& view_copy_out(KernelRuntimeContext& context, const Tensor& self,
                      const ArrayRef<int64_t>& sizes, Tensor& out) {
  const Check check(context, "view_copy");
  if (!check.usable(self, "self") ||
      !check.range(static_cast<int64_t>(sizes.size()), "number of sizes", 0, kMaxRank)) {
    return out;
  }
  Shape shape;
  shape.rank = sizes.size();
  int64_t known = 1;
  size_t open = sizes.size();
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == -1 && open == sizes.size()) {
      open = dim;
      continue;
    }
    if (!fits_size(check, sizes[dim], "size")) return out;
    shape.dims[dim] = static_cast<SizesType>(sizes[dim]);
    known *= sizes[dim];
    if (!check.range(known, "number of elements", 0, std::numeric_limits<SizesType>::max())) {
      return out;
    }
  }
  const int64_t elements = self.numel();
  if (open < sizes.size()) {
    if (!check.that(known > 0 && elements % known == 0, "sizes do not match self")) return out;
    shape.dims[open] = static_cast<SizesType>(elements / known);
    known = elements;
  }
  if (!check.that(known == elements, "sizes do not match self") ||
      !check.resize(out, shape.sizes()) || !check.tensor(out, "out", self.scalar_type()) ||
      !check.that(kernels::is_row_major(self) && kernels::is_row_major(out),
                  "self and out must be in row-major order")) {
    return out;
  }
  if (out.nbytes() > 0) memcpy(out.mutable_data_ptr(), self.const_data_ptr(), out.nbytes());
  return out;
}

}  // namespace portable::native
