// From a tensor's type to the C++ type of its elements.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "types.h"

namespace kernels {

using namespace types;

// Calls `body(T{})` with the C++ type of `type`; false if there is no kernel for it.
template <typename Body>
bool with_type(ScalarType type, const Body& body) {
  switch (type) {
    case ScalarType::Float:
      return body(float{}), true;
    case ScalarType::Int:
      return body(int32_t{}), true;
    case ScalarType::Long:
      return body(int64_t{}), true;
    case ScalarType::Short:
      return body(int16_t{}), true;
    case ScalarType::Char:
      return body(int8_t{}), true;
    case ScalarType::Byte:
      return body(uint8_t{}), true;
    default:
      return false;
  }
}

// As with_type, for bool and double as well.
template <typename Body>
bool with_every_type(ScalarType type, const Body& body) {
  if (type == ScalarType::Bool) return body(bool{}), true;
  if (type == ScalarType::Double) return body(double{}), true;
  return with_type(type, body);
}

// How an element is stored. In a bool tensor any byte but 0 is true; C++ has two values of bool.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <typename T>
T value_of(Stored<T> stored) {
  return static_cast<T>(stored);
}

// The first number above an integer type. Its largest one need not be a double: that of int64
// rounds up to 2^63, which no int64 is.
template <typename T>
constexpr double kEnd = static_cast<double>(std::numeric_limits<T>::max() / 2 + 1) * 2;

// Floats to integers are cut towards zero and saturate, NaN gives 0; integers wrap.
template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    if (std::isnan(value)) return 0;
    if (static_cast<double>(value) >= kEnd<To>) return std::numeric_limits<To>::max();
    if (static_cast<double>(value) <= static_cast<double>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <typename T>
T from_scalar(const Scalar& scalar) {
  if (scalar.isFloatingPoint()) return convert<T>(scalar.to<double>());
  return scalar.isBoolean() ? convert<T>(scalar.to<bool>()) : convert<T>(scalar.to<int64_t>());
}

// True if a tensor of `type` can hold the scalar without changing its value. ExecuTorch writes
// whole numbers as floats too: the default value of a pad is 0.0 whatever the type of the tensor
// is.
inline bool takes_scalar(ScalarType type, const Scalar& scalar) {
  if (type == ScalarType::Float || type == ScalarType::Double) return true;
  if (scalar.isFloatingPoint()) {
    const double value = scalar.to<double>();
    bool same = type == ScalarType::Bool && (value == 0.0 || value == 1.0);
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      same = value >= static_cast<double>(std::numeric_limits<T>::min()) && value < kEnd<T> &&
             std::trunc(value) == value;
    });
    return same;
  }
  if (scalar.isBoolean() || type == ScalarType::Bool) return true;
  const int64_t value = scalar.to<int64_t>();
  bool fits = true;  // a type without kernel is found out elsewhere
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_floating_point_v<T>) fits = static_cast<T>(value) == value;
  });
  return fits;
}

// Integers wrap.
template <typename T>
T add_wrapping(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// a * b + c; float with a single rounding on every platform, integers wrap.
template <typename T>
T multiply_add(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, c);
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b) +
                          static_cast<uint64_t>(c));
  }
}

}  // namespace kernels
