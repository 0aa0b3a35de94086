#include "pools.h"

#include <executorch/runtime/platform/log.h>

#include <cinttypes>

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#endif
#endif

#if ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)0)
#endif

namespace {

constexpr size_t kAlignment = 64;  // at least that of any segment or vector access

// The linker script puts `.bss.pool.<region>` where it says; on the host the names mean nothing.
[[gnu::section(".bss.pool.ddr.method")]] alignas(kAlignment) uint8_t
    method_memory[METHOD_POOL_SIZE];
[[gnu::section(".bss.pool.ddr.planned")]] alignas(kAlignment) uint8_t
    planned_memory[PLANNED_POOL_SIZE];
[[gnu::section(".bss.pool.sram.temporary")]] alignas(kAlignment) uint8_t
    temporary_memory[TEMPORARY_POOL_SIZE];
[[gnu::section(".bss.pool.ddr.files")]] alignas(kAlignment) uint8_t files_memory[FILES_POOL_SIZE];

#if ADDRESS_SANITIZER
constexpr size_t kRedZone = 16;  // between two allocations
#else
constexpr size_t kRedZone = 0;
#endif

}  // namespace

Pool::Pool(const char* name, uint8_t* memory, uint32_t size)
    : MemoryAllocator(size, memory), name_(name) {
  ASAN_POISON_MEMORY_REGION(memory, size);
}

void* Pool::allocate(size_t size, size_t alignment) {
  // The base class would refuse as well, but cannot say which pool is too small.
  const uintptr_t next = reinterpret_cast<uintptr_t>(base_address()) + used_size();
  const size_t padding = -next & (alignment - 1);
  if (size > free_size() || padding + kRedZone > free_size() - size) {
    ET_LOG(Error,
           "Memory allocation failed: %zuB requested (adjusted for alignment), %zuB available "
           "in pool %s of %" PRIu32 "B",
           size + padding, free_size(), name_, this->size());
    return nullptr;
  }
  void* memory = MemoryAllocator::allocate(size + kRedZone, alignment);
  if (memory != nullptr) ASAN_UNPOISON_MEMORY_REGION(memory, size);
  return memory;
}

void Pool::reset() {
  MemoryAllocator::reset();
  ASAN_POISON_MEMORY_REGION(base_address(), size());
}

Pools::Pools()
    : method("method", method_memory, sizeof(method_memory)),
      planned("planned", planned_memory, sizeof(planned_memory)),
      temporary("temporary", temporary_memory, sizeof(temporary_memory)),
      files("files", files_memory, sizeof(files_memory)) {}
