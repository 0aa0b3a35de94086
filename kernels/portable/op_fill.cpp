// aten operators whose result is one value: full, full_like, scalar_tensor.

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

Tensor& fill(const Check& check, const Scalar& value, Tensor& out) {
  if (!check.usable(out, "out") || !check.that(kernels::takes_scalar(out.scalar_type(), value),
                                               "the value does not fit the type of out")) {
    return out;
  }
  const bool known = kernels::with_every_type(out.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(out.mutable_data_ptr<T>(), out.numel(), kernels::from_scalar<T>(value));
  });
  check.that(known, "the type of out has no kernel");
  return out;
}

}  // namespace

Tensor& full_out(KernelRuntimeContext& context, const ArrayRef<int64_t>& sizes,
                 const Scalar& fill_value, Tensor& out) {
  const Check check(context, "full");
  kernels::Shape shape;
  if (!check.range(static_cast<int64_t>(sizes.size()), "number of sizes", 0, kernels::kMaxRank)) {
    return out;
  }
  shape.rank = sizes.size();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!check.range(sizes[i], "size", 0, std::numeric_limits<SizesType>::max())) return out;
    shape.dims[i] = static_cast<SizesType>(sizes[i]);
  }
  return check.resize(out, shape.sizes()) ? fill(check, fill_value, out) : out;
}

Tensor& full_like_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& fill_value,
                      const std::optional<int64_t>&, Tensor& out) {
  const Check check(context, "full_like");
  return check.resize(out, self.sizes()) ? fill(check, fill_value, out) : out;
}

Tensor& scalar_tensor_out(KernelRuntimeContext& context, const Scalar& value, Tensor& out) {
  const Check check(context, "scalar_tensor");
  return check.resize(out, {}) ? fill(check, value, out) : out;
}

}  // namespace portable::native
