#include "compare.h"

#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

#include <cmath>
#include <cstring>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::EValue;
using executorch::runtime::Span;

namespace {

// Upstream's rule: the relative part scales with the value under test, not with the reference.
bool close(double expected, double got) {
  if (expected == got) return true;  // also equal infinities
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (std::isinf(expected) || std::isinf(got)) return false;
  return std::fabs(expected - got) <= BUNDLE_ATOL + std::fabs(BUNDLE_RTOL * got);
}

struct Differences {
  size_t count = 0;
  size_t first = 0;
};

template <typename Equal>
Differences differences(size_t elements, Equal&& equal) {
  Differences found;
  for (size_t i = 0; i < elements; i++) {
    if (equal(i)) continue;
    if (found.count++ == 0) found.first = i;
  }
  return found;
}

template <typename T>
Differences float_differences(size_t elements, const void* expected, const void* got) {
  const auto* a = static_cast<const T*>(expected);
  const auto* b = static_cast<const T*>(got);
  return differences(elements, [=](size_t i) {
    return close(static_cast<double>(a[i]), static_cast<double>(b[i]));
  });
}

Differences byte_differences(size_t elements, size_t element_size, const void* expected,
                             const void* got) {
  const auto* a = static_cast<const uint8_t*>(expected);
  const auto* b = static_cast<const uint8_t*>(got);
  return differences(elements, [=](size_t i) {
    return memcmp(a + i * element_size, b + i * element_size, element_size) == 0;
  });
}

Differences element_differences(const Tensor& got, const void* expected) {
  const auto elements = static_cast<size_t>(got.numel());
  const void* data = got.const_data_ptr();
  switch (got.scalar_type()) {
    case ScalarType::Half:
      return float_differences<executorch::aten::Half>(elements, expected, data);
    case ScalarType::BFloat16:
      return float_differences<executorch::aten::BFloat16>(elements, expected, data);
    case ScalarType::Float:
      return float_differences<float>(elements, expected, data);
    case ScalarType::Double:
      return float_differences<double>(elements, expected, data);
    default:
      return byte_differences(elements, static_cast<size_t>(got.element_size()), expected, data);
  }
}

template <typename A, typename B>
bool same_elements(A a, B b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

bool tensors_match(size_t index, const TensorDescription& expected, const void* data,
                   const Tensor& got) {
  if (expected.type != got.scalar_type()) {
    ET_LOG(Error, "Output %zu is of type %s, the bundle expects %s.", index,
           executorch::runtime::toString(got.scalar_type()),
           executorch::runtime::toString(expected.type));
    return false;
  }
  if (!same_elements(expected.sizes, got.sizes()) ||
      !same_elements(expected.dim_order, got.dim_order())) {
    ET_LOG(Error, "Output %zu differs from the bundle in shape or dim order.", index);
    return false;
  }
  const Differences found = element_differences(got, data);
  if (found.count == 0) return true;
  ET_LOG(Error, "Output %zu: %zu of %zu elements differ, the first at %zu.", index, found.count,
         static_cast<size_t>(got.numel()), found.first);
  return false;
}

bool scalars_match(size_t index, const EValue& expected, const EValue& got) {
  const bool equal = got.isInt()      ? expected.toInt() == got.toInt()
                     : got.isBool()   ? expected.toBool() == got.toBool()
                     : got.isDouble() ? close(expected.toDouble(), got.toDouble())
                                      : got.isNone();
  if (!equal) ET_LOG(Error, "Output %zu differs from the bundle's value.", index);
  return equal;
}
