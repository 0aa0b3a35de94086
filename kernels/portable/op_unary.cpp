// aten operators that map each element by itself; out has the type of self.

#include <algorithm>
#include <cmath>

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

template <typename T, typename Op>
void map(const Tensor& self, Tensor& out, const Op& op) {
  const T* from = self.const_data_ptr<T>();
  T* to = out.mutable_data_ptr<T>();
  kernels::for_each_element(out, {kernels::whole(self)},
                            [&](const int64_t* at, size_t i) { to[i] = op(from[at[0]]); });
}

bool prepare(const Check& check, const Tensor& self, Tensor& out) {
  return check.usable(self, "self") && check.resize(out, self.sizes()) &&
         check.tensor(out, "out", self.scalar_type());
}

template <typename Op>
Tensor& map_numbers(KernelRuntimeContext& context, const char* name, const Tensor& self,
                    Tensor& out, const Op& op) {
  const Check check(context, name);
  if (!prepare(check, self, out)) return out;
  const bool known = kernels::with_type(self.scalar_type(),
                                        [&](auto zero) { map<decltype(zero)>(self, out, op); });
  check.that(known, "the type of self has no kernel");
  return out;
}

template <typename Op>
Tensor& map_floats(KernelRuntimeContext& context, const char* name, const Tensor& self, Tensor& out,
                   const Op& op) {
  const Check check(context, name);
  if (check.tensor(self, "self", ScalarType::Float) && prepare(check, self, out)) {
    map<float>(self, out, op);
  }
  return out;
}

// NaN, as value or as bound, gives NaN, as in ATen.
template <typename T>
T clamp(T value, T low, T high) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value) || std::isnan(low)) return std::isnan(value) ? value : low;
    if (std::isnan(high)) return high;
  }
  return std::min(std::max(value, low), high);
}

template <typename T>
T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}

template <typename T>
T highest() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

Tensor& clamp_numbers(KernelRuntimeContext& context, const char* name, const Tensor& self,
                      const std::optional<Scalar>& min, const std::optional<Scalar>& max,
                      Tensor& out) {
  const Check check(context, name);
  const ScalarType type = self.scalar_type();
  if (!prepare(check, self, out) || !check.that((!min || kernels::takes_scalar(type, *min)) &&
                                                    (!max || kernels::takes_scalar(type, *max)),
                                                "a bound does not fit the type of self")) {
    return out;
  }
  const bool known = kernels::with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T low = min ? kernels::from_scalar<T>(*min) : lowest<T>();
    const T high = max ? kernels::from_scalar<T>(*max) : highest<T>();
    map<T>(self, out, [low, high](T value) { return clamp(value, low, high); });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace

Tensor& relu_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return clamp_numbers(context, "relu", self, Scalar(0), std::nullopt, out);
}

Tensor& clamp_out(KernelRuntimeContext& context, const Tensor& self,
                  const std::optional<Scalar>& min, const std::optional<Scalar>& max, Tensor& out) {
  return clamp_numbers(context, "clamp", self, min, max, out);
}

Tensor& hardtanh_out(KernelRuntimeContext& context, const Tensor& self, const Scalar& min,
                     const Scalar& max, Tensor& out) {
  return clamp_numbers(context, "hardtanh", self, min, max, out);
}

Tensor& neg_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_numbers(context, "neg", self, out, [](auto value) {
    using T = decltype(value);
    if constexpr (std::is_floating_point_v<T>) return -value;
    return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(value));
  });
}

Tensor& abs_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_numbers(context, "abs", self, out, [](auto value) {
    using T = decltype(value);
    if constexpr (std::is_floating_point_v<T>) return std::fabs(value);
    return value < 0 ? static_cast<T>(uint64_t{0} - static_cast<uint64_t>(value)) : value;
  });
}

Tensor& logical_not_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  const Check check(context, "logical_not");
  if (check.tensor(self, "self", ScalarType::Bool) && prepare(check, self, out)) {
    map<kernels::Stored<bool>>(self, out, [](uint8_t value) { return value == 0; });
  }
  return out;
}

Tensor& exp_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "exp", self, out, [](float x) { return std::exp(x); });
}

Tensor& log_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "log", self, out, [](float x) { return std::log(x); });
}

Tensor& sqrt_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "sqrt", self, out, [](float x) { return std::sqrt(x); });
}

Tensor& rsqrt_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "rsqrt", self, out, [](float x) { return 1.0f / std::sqrt(x); });
}

Tensor& reciprocal_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "reciprocal", self, out, [](float x) { return 1.0f / x; });
}

Tensor& tanh_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "tanh", self, out, [](float x) { return std::tanh(x); });
}

Tensor& sigmoid_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "sigmoid", self, out,
                    [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}

Tensor& floor_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "floor", self, out, [](float x) { return std::floor(x); });
}

Tensor& ceil_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "ceil", self, out, [](float x) { return std::ceil(x); });
}

Tensor& trunc_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "trunc", self, out, [](float x) { return std::trunc(x); });
}

Tensor& round_out(KernelRuntimeContext& context, const Tensor& self, Tensor& out) {
  return map_floats(context, "round", self, out, [](float x) { return std::nearbyint(x); });
}

}  // namespace portable::native
