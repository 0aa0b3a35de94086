// What a kernel writes: bytes that are no other argument's, and not the program's own.
#pragma once

#include <executorch/runtime/core/evalue.h>

#include <cstdint>
#include <functional>

#include "types.h"

namespace kernels {

using namespace types;
using executorch::runtime::EValue;

struct Bytes {
  const uint8_t* begin = nullptr;
  size_t size = 0;

  // Addresses of different objects have an order in std::less only.
  bool overlaps(const Bytes& other) const {
    const std::less<const uint8_t*> before;
    return size > 0 && other.size > 0 && before(begin, other.begin + other.size) &&
           before(other.begin, begin + size);
  }
};

// The file of the program that runs. It was verified once, so that nothing may write to it.
inline Bytes program_file;

inline Bytes bytes_of(const Tensor& tensor) {
  return {static_cast<const uint8_t*>(tensor.const_data_ptr()), tensor.nbytes()};
}

inline bool may_write(const Tensor& tensor) { return !bytes_of(tensor).overlaps(program_file); }

// `predicate` holds for every tensor of an argument that was accepted as what it is.
template <typename Predicate>
bool all_tensors(const EValue& value, const Predicate& predicate) {
  if (value.isTensor()) return predicate(value.toTensor());
  if (value.isTensorList()) {
    for (const Tensor& tensor : value.toTensorList()) {
      if (!predicate(tensor)) return false;
    }
  } else if (value.isListOptionalTensor()) {
    for (const std::optional<Tensor>& tensor : value.toListOptionalTensor()) {
      if (tensor.has_value() && !predicate(*tensor)) return false;
    }
  }
  return true;
}

inline bool may_write(const EValue& value) {
  return all_tensors(value, [](const Tensor& tensor) { return may_write(tensor); });
}

inline bool overlap(const EValue& a, const EValue& b) {
  return !all_tensors(a, [&](const Tensor& x) {
    const Bytes bytes = bytes_of(x);
    return all_tensors(b, [&](const Tensor& y) { return !bytes.overlaps(bytes_of(y)); });
  });
}

}  // namespace kernels
