// cortex_m::transpose: out[i] has the size input[perm[i]]; int8 by vectors, other element types one
// by one. Tensors may have any dim order.

#include "compute/transpose_s8.h"
#include "portable/strided.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

// Sizes of the result, and the strides of `input` in the order of the result's dimensions.
bool permute(const kernels::Check& check, const Tensor& input, const ArrayRef<int64_t>& perm,
             kernels::Shape& shape, kernels::View& view) {
  const auto rank = static_cast<int64_t>(input.sizes().size());
  if (!check.equal(static_cast<int64_t>(perm.size()), "length of perm", rank)) return false;
  const kernels::View whole = kernels::whole(input);
  uint32_t seen = 0;
  shape.rank = perm.size();
  for (size_t i = 0; i < perm.size(); ++i) {
    if (!check.range(perm[i], "entry of perm", 0, rank - 1)) return false;
    seen |= 1U << perm[i];
    shape.dims[i] = input.sizes()[static_cast<size_t>(perm[i])];
    view.strides[i] = whole.strides[perm[i]];
  }
  return check.that(seen == (1U << rank) - 1, "perm is no permutation");
}

void transpose_s8(const Tensor& input, const kernels::View& from, Tensor& out) {
  if (out.numel() == 0) return;
  const kernels::View to = kernels::whole(out);
  kernels::TransposeLoops<kernels::kMaxRank> loops;
  for (size_t i = 0; i < out.sizes().size(); ++i) {
    const size_t dim = kernels::storage_dim(out, i);
    loops.append({static_cast<size_t>(out.sizes()[dim]), static_cast<size_t>(from.strides[dim]),
                  static_cast<size_t>(to.strides[dim])});
  }
  loops.finish();
  kernels::isa::transpose_s8(input.const_data_ptr<int8_t>(), out.mutable_data_ptr<int8_t>(), loops);
}

}  // namespace

Tensor& transpose_out(KernelRuntimeContext& context, const Tensor& input,
                      const ArrayRef<int64_t>& perm, Tensor& out) {
  const kernels::Check check(context, "transpose");
  kernels::Shape shape;
  kernels::View view;
  if (!check.usable(input, "input") || !permute(check, input, perm, shape, view)) return out;
  if (input.scalar_type() != ScalarType::Char) {
    kernels::move_checked(check, input, view, shape, out);
  } else if (check.resize(out, shape.sizes()) && check.tensor(out, "out", ScalarType::Char)) {
    transpose_s8(input, view, out);
  }
  return out;
}

}  // namespace cortex_m::native
