// Buffers that the NPU works in, shared by all delegates: one runs at a time, and none depends on
// what another left behind.
#pragma once

#include <executorch/runtime/core/span.h>

#include <cstdint>

namespace ethosu {

// Region 1: inputs, outputs and intermediates.
executorch::runtime::Span<uint8_t> scratch_memory();

// Region 2: the cache in SRAM that programs of the memory modes Dedicated_Sram… use. A program does
// not say how much of it; this is enough for the largest of Vela's own modes.
executorch::runtime::Span<uint8_t> fast_scratch_memory();

}  // namespace ethosu
