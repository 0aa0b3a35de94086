// Values that go into a method: tensors over given memory, and inputs read from files.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/executor/method_meta.h>

#include "pools.h"

// A tensor as a program or a bundle describes it. `data` holds the elements in storage order,
// that is, in the order of `dim_order`.
struct TensorDescription {
  executorch::aten::ScalarType type;
  executorch::runtime::Span<const int32_t> sizes;
  executorch::runtime::Span<const uint8_t> dim_order;
};

// Bytes that the elements take; an error if the type is unknown, a size negative, the order no
// permutation, or the product too large.
executorch::runtime::Result<size_t> tensor_bytes(const TensorDescription& description);

// A tensor over `data`, which has tensor_bytes() bytes; its header is allocated from `pool`.
executorch::runtime::Result<executorch::runtime::EValue> make_tensor(
    const TensorDescription& description, const void* data, Pool& pool);

// Where the inputs of one inference come from.
class InputSource {
 public:
  virtual size_t count() const = 0;
  // The value of input `index` < count(), of the kind that the method's signature states.
  virtual executorch::runtime::Result<executorch::runtime::EValue> value(
      const executorch::runtime::MethodMeta& meta, size_t index, Pools& pools) const = 0;

 protected:
  ~InputSource() = default;
};

// Inputs from files: a tensor's bytes in storage order, an integer as int64, a float as float64,
// a bool as one byte; of a None the file is not read. All little-endian.
class FileInputs final : public InputSource {
 public:
  FileInputs(const char* const* names, size_t count) : names_(names), count_(count) {}

  size_t count() const override { return count_; }
  executorch::runtime::Result<executorch::runtime::EValue> value(
      const executorch::runtime::MethodMeta& meta, size_t index, Pools& pools) const override;

 private:
  const char* const* names_;
  size_t count_;
};
