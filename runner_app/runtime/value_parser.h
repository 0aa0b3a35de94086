// Builds the values of a method from their serialized form.
#pragma once

#include <executorch/runtime/core/evalue.h>

#include "tensor_parser.h"

namespace executorch::runtime::deserialization {

/// Parses entry after entry of a method's value table. Lists refer to other entries, hence the
/// whole table, of which only the serialized form is looked at.
class ValueParser {
 public:
  ValueParser(flat::Offsets<flat::Table> serialized, EValue* values, MemoryAllocator* allocator,
              const TensorParser& tensors)
      : serialized_(serialized), values_(values), allocator_(allocator), tensors_(tensors) {}

  /// Constructs value `index` in place; nothing is constructed on an error.
  Error parse(size_t index);

 private:
  template <typename T>
  Error flat_list(EValue* value, Span<const T> items);
  template <typename T, typename Index>
  Error boxed_list(EValue* value, Span<const Index> items);
  template <typename T>
  bool accepts(int64_t item) const;

  flat::Offsets<flat::Table> serialized_;
  EValue* values_;
  MemoryAllocator* allocator_;
  const TensorParser& tensors_;
};

}  // namespace executorch::runtime::deserialization
