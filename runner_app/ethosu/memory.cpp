#include "ethosu/memory.h"

#include "ethosu/blob.h"

namespace ethosu {

namespace {

[[gnu::section(".bss.pool.ddr.npu_scratch")]] alignas(kAlignment) uint8_t scratch[NPU_SCRATCH_SIZE];
[[gnu::section(".bss.pool.sram.npu_fast_scratch")]] alignas(kAlignment) uint8_t
    fast_scratch[NPU_FAST_SCRATCH_SIZE];

}  // namespace

executorch::runtime::Span<uint8_t> scratch_memory() { return {scratch, sizeof(scratch)}; }

executorch::runtime::Span<uint8_t> fast_scratch_memory() {
  return {fast_scratch, sizeof(fast_scratch)};
}

}  // namespace ethosu
