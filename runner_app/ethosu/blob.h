// Reader of what a program holds for the NPU: a list of named blocks, and inside of one of them the
// actions for the driver. Every size and offset is checked before its use.
#pragma once

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

#include <cstddef>
#include <cstdint>

#include "ethosu/identity.h"

namespace ethosu {

using Bytes = executorch::runtime::Span<const uint8_t>;

// Of every block, and of the command stream inside of its block.
constexpr size_t kAlignment = 16;

// Where the NPU expects an input or leaves an output: offset into the scratch buffer, and sizes.
struct Placement {
  size_t offset;
  size_t bytes;
  size_t element_size;
};

// The inputs or the outputs of a delegate, in order.
class Placements {
 public:
  Placements() = default;
  // Checks each of the placements in `block` against a scratch buffer of `scratch_size` bytes; logs
  // at level E as `what`.
  static executorch::runtime::Result<Placements> parse(Bytes block, size_t scratch_size,
                                                       const char* what);
  size_t size() const { return count_; }
  Placement operator[](size_t i) const;

 private:
  const uint8_t* entries_ = nullptr;
  size_t count_ = 0;
};

// Data, or the key under which the program has it as named data.
struct Block {
  Bytes data;
  bool is_key = false;
};

struct Blob {
  Block driver_actions;
  Block weights;
  size_t scratch_size = 0;
  Placements inputs;
  Placements outputs;
};

// The result points into `bytes`.
executorch::runtime::Result<Blob> parse_blob(Bytes bytes);

struct CommandStream {
  Identity compiled_for;
  Bytes commands;
};

// `actions` are the bytes of the block with the driver's actions; the result points into them.
executorch::runtime::Result<CommandStream> parse_driver_actions(Bytes actions);

}  // namespace ethosu
