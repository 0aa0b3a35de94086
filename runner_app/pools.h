// Memory of the runner: four pools of fixed size, each in the region that fits (see pools.cpp).
#pragma once

#include <executorch/runtime/core/memory_allocator.h>

// A bump allocator that says its name when it is exhausted. Under AddressSanitizer, what is not
// allocated is poisoned, so that overruns inside a pool are found as well.
class Pool final : public executorch::runtime::MemoryAllocator {
 public:
  Pool(const char* name, uint8_t* memory, uint32_t size);

  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override;
  void reset() override;

 private:
  const char* name_;
};

struct Pools {
  Pools();
  Pool method;     // what load_method builds: values, tensors, operator lists
  Pool planned;    // memory-planned buffers, and outputs outside of them
  Pool temporary;  // scratch of one kernel call
  Pool files;      // the program and the inputs as read
};
