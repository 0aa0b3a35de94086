// dim_order_ops::_to_dim_order_copy and _clone_dim_order: the same elements in the dim order and,
// for the first, in the type of out.

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

bool prepare(const Check& check, const Tensor& self,
             const std::optional<ArrayRef<int64_t>>& dim_order, Tensor& out) {
  if (!check.usable(self, "self") || !check.resize(out, self.sizes()) ||
      !check.usable(out, "out")) {
    return false;
  }
  if (!dim_order.has_value()) return true;
  bool equal = dim_order->size() == out.sizes().size();
  for (size_t i = 0; equal && i < dim_order->size(); ++i) {
    equal = (*dim_order)[i] == static_cast<int64_t>(kernels::storage_dim(out, i));
  }
  return check.that(equal, "dim_order is not that of out");
}

template <typename From, typename To>
void convert(const Tensor& self, Tensor& out) {
  const auto* from = self.const_data_ptr<kernels::Stored<From>>();
  To* to = out.mutable_data_ptr<To>();
  kernels::for_each_element(out, {kernels::whole(self)}, [&](const int64_t* at, size_t i) {
    to[i] = kernels::convert<To>(kernels::value_of<From>(from[at[0]]));
  });
}

}  // namespace

Tensor& _to_dim_order_copy_out(KernelRuntimeContext& context, const Tensor& self, bool,
                               const std::optional<ArrayRef<int64_t>>& dim_order, Tensor& out) {
  const Check check(context, "_to_dim_order_copy");
  if (!prepare(check, self, dim_order, out) || out.numel() == 0) return out;
  if (self.scalar_type() == out.scalar_type()) {
    check.that(kernels::move_elements(self, kernels::whole(self), out),
               "the type of self has no kernel");
    return out;
  }
  bool known = false;
  kernels::with_every_type(self.scalar_type(), [&](auto from) {
    known = kernels::with_every_type(
        out.scalar_type(), [&](auto to) { convert<decltype(from), decltype(to)>(self, out); });
  });
  check.that(known, "the type of self or out has no kernel");
  return out;
}

Tensor& _clone_dim_order_out(KernelRuntimeContext& context, const Tensor& self, bool,
                             const std::optional<ArrayRef<int64_t>>& dim_order, Tensor& out) {
  const Check check(context, "_clone_dim_order");
  if (!check.tensor(out, "out", self.scalar_type()) || !prepare(check, self, dim_order, out)) {
    return out;
  }
  check.that(kernels::move_elements(self, kernels::whole(self), out),
             "the type of self has no kernel");
  return out;
}

}  // namespace portable::native
