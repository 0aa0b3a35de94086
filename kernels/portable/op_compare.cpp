// aten comparisons: self ? other, with broadcasting, of two tensors of one type or with a scalar.

#include <functional>

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

template <typename Op>
Tensor& compare(KernelRuntimeContext& context, const char* name, const Tensor& self,
                const Tensor& other, Tensor& out, const Op& op) {
  const Check check(context, name);
  kernels::Shape shape;
  if (!check.usable(self, "self") || !check.tensor(other, "other", self.scalar_type()) ||
      !check.that(kernels::broadcast_shape(self, other, shape), "shapes cannot be broadcast") ||
      !check.resize(out, shape.sizes()) || !check.tensor(out, "out", ScalarType::Bool)) {
    return out;
  }
  const kernels::View views[] = {kernels::broadcast_view(self, out),
                                 kernels::broadcast_view(other, out)};
  const bool known = kernels::with_every_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto* a = self.const_data_ptr<kernels::Stored<T>>();
    const auto* b = other.const_data_ptr<kernels::Stored<T>>();
    bool* to = out.mutable_data_ptr<bool>();
    kernels::for_each_element(out, views, [&](const int64_t* at, size_t i) {
      to[i] = op(kernels::value_of<T>(a[at[0]]), kernels::value_of<T>(b[at[1]]));
    });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

// With a float scalar, integers are compared as double: exact up to 2^53. A whole one wraps to the
// type of the tensor, as in ATen; bools are compared with it as numbers.
template <typename Op>
Tensor& compare(KernelRuntimeContext& context, const char* name, const Tensor& self,
                const Scalar& other, Tensor& out, const Op& op) {
  const Check check(context, name);
  if (!check.usable(self, "self") || !check.resize(out, self.sizes()) ||
      !check.tensor(out, "out", ScalarType::Bool)) {
    return out;
  }
  const bool known = kernels::with_every_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = self.const_data_ptr<kernels::Stored<T>>();
    bool* to = out.mutable_data_ptr<bool>();
    const auto run = [&](auto value) {
      kernels::for_each_element(out, {kernels::whole(self)}, [&](const int64_t* at, size_t i) {
        to[i] = op(static_cast<decltype(value)>(kernels::value_of<T>(from[at[0]])), value);
      });
    };
    if constexpr (std::is_floating_point_v<T>) {
      run(kernels::from_scalar<T>(other));
    } else if (other.isFloatingPoint()) {
      run(other.to<double>());
    } else {
      run(kernels::from_scalar<std::conditional_t<std::is_same_v<T, bool>, int64_t, T>>(other));
    }
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace

Tensor& eq_Tensor_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  return compare(context, "eq", self, other, out, std::equal_to<>());
}

Tensor& eq_Scalar_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& other,
                      Tensor& out) {
  return compare(context, "eq", self, other, out, std::equal_to<>());
}

Tensor& ne_Tensor_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  return compare(context, "ne", self, other, out, std::not_equal_to<>());
}

Tensor& ne_Scalar_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& other,
                      Tensor& out) {
  return compare(context, "ne", self, other, out, std::not_equal_to<>());
}

Tensor& lt_Tensor_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  return compare(context, "lt", self, other, out, std::less<>());
}

Tensor& lt_Scalar_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& other,
                      Tensor& out) {
  return compare(context, "lt", self, other, out, std::less<>());
}

Tensor& le_Tensor_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  return compare(context, "le", self, other, out, std::less_equal<>());
}

Tensor& le_Scalar_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& other,
                      Tensor& out) {
  return compare(context, "le", self, other, out, std::less_equal<>());
}

Tensor& gt_Tensor_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  return compare(context, "gt", self, other, out, std::greater<>());
}

Tensor& gt_Scalar_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& other,
                      Tensor& out) {
  return compare(context, "gt", self, other, out, std::greater<>());
}

Tensor& ge_Tensor_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                      Tensor& out) {
  return compare(context, "ge", self, other, out, std::greater_equal<>());
}

Tensor& ge_Scalar_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& other,
                      Tensor& out) {
  return compare(context, "ge", self, other, out, std::greater_equal<>());
}

}  // namespace portable::native
