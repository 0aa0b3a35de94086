// What a serialized tensor's metadata must satisfy before anything is computed from it.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/span.h>

#include "flat_reader.h"

namespace executorch::runtime {

/// Sizes, order and type of a tensor, known to be consistent, and the bytes it occupies.
struct TensorSpec {
  Span<const int32_t> sizes;
  Span<const uint8_t> dim_order;
  aten::ScalarType scalar_type = aten::ScalarType::Byte;
  size_t nbytes = 0;
};

/// Bytes of one element, 0 if `type` is not a data type.
size_t element_size(aten::ScalarType type);

/// Checks rank, sizes, dim order (a permutation), type, and that neither strides nor bytes
/// overflow; then sets `spec.nbytes`. Logs what is wrong.
Error check_spec(TensorSpec& spec);

/// The checked spec of a serialized tensor.
Error read_spec(flat::Table tensor, TensorSpec& spec);

namespace internal {
/// The elements that a tensor may be resized to.
size_t numel_bound(const aten::Tensor& tensor);
}  // namespace internal

}  // namespace executorch::runtime
