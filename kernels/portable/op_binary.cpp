// aten div, minimum, maximum and logical operators with broadcasting; all tensors have one type.

#include "portable/binary.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

template <typename Op>
Tensor& combine(KernelRuntimeContext& context, const char* name, const Tensor& self,
                const Tensor& other, Tensor& out, const Op& op) {
  const Check check(context, name);
  if (!kernels::prepare_broadcast(check, self, other, self.scalar_type(), out)) return out;
  const bool known = kernels::with_type(self.scalar_type(), [&](auto zero) {
    kernels::run_binary<decltype(zero)>(self, other, out, op);
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

template <typename Op>
Tensor& combine_bools(KernelRuntimeContext& context, const char* name, const Tensor& self,
                      const Tensor& other, Tensor& out, const Op& op) {
  const Check check(context, name);
  if (kernels::prepare_broadcast(check, self, other, ScalarType::Bool, out)) {
    kernels::run_binary<kernels::Stored<bool>>(
        self, other, out, [op](uint8_t a, uint8_t b) { return op(a != 0, b != 0); });
  }
  return out;
}

// NaN wins, as in ATen.
template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

enum class Rounding { kNone, kTrunc, kFloor };

float divide(float a, float b, Rounding rounding) {
  const float quotient = a / b;
  if (rounding == Rounding::kNone) return quotient;
  if (rounding == Rounding::kTrunc) return std::trunc(quotient);
  // By the remainder: the rounded quotient may already be the next whole number.
  if (b == 0.0f) return quotient;
  const float remainder = std::fmod(a, b);
  float exact = (a - remainder) / b;
  if (remainder != 0.0f && (b < 0.0f) != (remainder < 0.0f)) exact -= 1.0f;
  if (exact == 0.0f) return std::copysign(0.0f, quotient);
  const float whole = std::floor(exact);
  return exact - whole > 0.5f ? whole + 1.0f : whole;
}

template <typename T>
T divide_whole(T a, T b, Rounding rounding) {
  if (b == static_cast<T>(-1)) {
    if constexpr (std::is_signed_v<T>) return static_cast<T>(0 - static_cast<uint64_t>(a));
  }
  const T quotient = a / b;
  const bool inexact = a % b != 0;
  const bool negative = (a < 0) != (b < 0);
  return rounding == Rounding::kFloor && inexact && negative ? quotient - 1 : quotient;
}

template <typename T>
bool has_zero(const Tensor& tensor) {
  const T* data = tensor.const_data_ptr<T>();
  return std::find(data, data + tensor.numel(), T{0}) != data + tensor.numel();
}

Tensor& divide_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                   Rounding rounding, Tensor& out) {
  const Check check(context, "div");
  if (!kernels::prepare_broadcast(check, self, other, self.scalar_type(), out)) return out;
  const bool known = kernels::with_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      kernels::run_binary<T>(self, other, out,
                             [rounding](T a, T b) { return divide(a, b, rounding); });
    } else if (check.that(rounding != Rounding::kNone, "whole numbers need a rounding mode") &&
               check.that(!has_zero<T>(other), "division by zero")) {
      kernels::run_binary<T>(self, other, out,
                             [rounding](T a, T b) { return divide_whole(a, b, rounding); });
    }
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace

Tensor& div_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                Tensor& out) {
  return divide_out(context, self, other, Rounding::kNone, out);
}

Tensor& div_out_mode(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                     const std::optional<std::string_view>& rounding_mode, Tensor& out) {
  if (!rounding_mode) return divide_out(context, self, other, Rounding::kNone, out);
  const Check check(context, "div");
  const bool trunc = *rounding_mode == "trunc";
  if (!check.that(trunc || *rounding_mode == "floor", "rounding_mode is not trunc or floor")) {
    return out;
  }
  return divide_out(context, self, other, trunc ? Rounding::kTrunc : Rounding::kFloor, out);
}

Tensor& minimum_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                    Tensor& out) {
  return combine(context, "minimum", self, other, out,
                 [](auto a, auto b) { return is_nan(a) || a < b ? a : b; });
}

Tensor& maximum_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                    Tensor& out) {
  return combine(context, "maximum", self, other, out,
                 [](auto a, auto b) { return is_nan(a) || a > b ? a : b; });
}

Tensor& logical_and_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                        Tensor& out) {
  return combine_bools(context, "logical_and", self, other, out,
                       [](bool a, bool b) { return a && b; });
}

Tensor& logical_or_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                       Tensor& out) {
  return combine_bools(context, "logical_or", self, other, out,
                       [](bool a, bool b) { return a || b; });
}

}  // namespace portable::native
