// Builds the tensors of a method from their serialized form.
#pragma once

#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/program.h>

#include "flat_reader.h"
#include "tensor_spec.h"

namespace executorch::runtime::deserialization {

/// Data from outside of the program that a method keeps for its lifetime.
struct NamedData {
  const char* key;
  FreeableBuffer buffer;
};

/// The class that Program lets read its constants and initial values.
class TensorParser {
 public:
  TensorParser(const Program* program, MemoryManager* memory, const NamedDataMap* named_data,
               Span<const NamedData> external_constants)
      : program_(program),
        memory_(memory),
        named_data_(named_data),
        external_constants_(external_constants) {}

  /// The tensor in memory of the method allocator, its data in the program, in planned memory, in
  /// external constants, or null if it is set later.
  Result<aten::Tensor> parse(flat::Table tensor) const;

 private:
  Result<void*> data(flat::Table tensor, const TensorSpec& spec) const;
  Result<void*> planned_memory(flat::Table allocation, const TensorSpec& spec) const;
  Error load_initial_value(flat::Table tensor, const TensorSpec& spec, void* buffer) const;
  Result<const void*> external_constant(flat::Table tensor, const TensorSpec& spec) const;

  const Program* program_;
  MemoryManager* memory_;
  const NamedDataMap* named_data_;
  Span<const NamedData> external_constants_;
};

/// True for a tensor whose data is stored outside of the program.
bool is_external(flat::Table tensor);

/// Checks that `map` has data for `key` with the given spec, as far as the map knows.
Error check_layout(const NamedDataMap* map, const char* key, const TensorSpec& spec);

}  // namespace executorch::runtime::deserialization
