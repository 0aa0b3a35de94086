// Device-side comparison with bundled references: evidence beside the host's own comparison.
#pragma once

#include <executorch/runtime/core/evalue.h>

#include "values.h"

// Both log where output `index` differs first, and how.
// `data` holds what is expected, in the storage order that `expected` describes.
bool tensors_match(size_t index, const TensorDescription& expected, const void* data,
                   const executorch::aten::Tensor& got);
bool scalars_match(size_t index, const executorch::runtime::EValue& expected,
                   const executorch::runtime::EValue& got);
