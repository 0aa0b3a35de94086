// What the portable operators of two tensors share: one type for all three tensors, broadcasting.
#pragma once

#include <cmath>
#include <type_traits>

#include "binary_op.h"
#include "portable/element_types.h"

namespace kernels {

// out = op(a, b) elementwise.
template <typename T, typename Op>
void run_binary(const Tensor& a, const Tensor& b, Tensor& out, const Op& op) {
  for_each_run<T>(a, b, out, [&op](Operand<T> x, Operand<T> y, T* to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i] = op(x.data[i * x.step], y.data[i * y.step]);
  });
}

// a + factor * b; float with a single rounding on every platform, integers wrap.
template <typename T>
T add_scaled(T a, T b, std::conditional_t<std::is_floating_point_v<T>, T, int64_t> factor) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(factor, b, a);
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) +
                          static_cast<uint64_t>(factor) * static_cast<uint64_t>(b));
  }
}

// out = self + sign * alpha * other, for add and sub.
inline Tensor& add_scaled_out(KernelRuntimeContext& context, const char* name, const Tensor& self,
                              const Tensor& other, const Scalar& alpha, int sign, Tensor& out) {
  const Check check(context, name);
  const bool is_float = self.scalar_type() == ScalarType::Float;
  if (!prepare_broadcast(check, self, other, self.scalar_type(), out) ||
      !check.that(is_float || !alpha.isFloatingPoint(), "a float alpha needs float tensors")) {
    return out;
  }
  // One of the two counts; negating the lowest integer wraps.
  const int64_t whole = alpha.isFloatingPoint() ? 0
                        : alpha.isBoolean()     ? alpha.to<bool>()
                                                : alpha.to<int64_t>();
  const double real = alpha.isFloatingPoint() ? alpha.to<double>() : static_cast<double>(whole);
  const bool known = with_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      const T factor = static_cast<T>(sign * real);
      run_binary<T>(self, other, out, [factor](T a, T b) { return add_scaled(a, b, factor); });
    } else {
      const auto factor = static_cast<int64_t>(static_cast<uint64_t>(whole) * sign);
      run_binary<T>(self, other, out, [factor](T a, T b) { return add_scaled(a, b, factor); });
    }
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace kernels
