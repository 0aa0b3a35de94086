// Memory protection: code is read-only, and so is the memory at address 0. Without this a write
// through a null pointer could change code and would go unnoticed.
#include "board.h"

namespace {

struct Mpu {
  volatile uint32_t type;
  volatile uint32_t control;
  volatile uint32_t region;
  volatile uint32_t base;
  volatile uint32_t limit;
  volatile uint32_t aliases[6];
  volatile uint32_t reserved;
  volatile uint32_t attributes;
};

constexpr uintptr_t kMpuAddress = 0xE000ED90;
constexpr uint32_t kRegionCount = 0xFFU << 8;       // in `type`
constexpr uint32_t kEnable = 1U << 0;               // in `control` and in `limit`
constexpr uint32_t kDefaultMapElsewhere = 1U << 2;  // in `control`
constexpr uint32_t kReadOnly = 2U << 1;             // in `base`
constexpr uint32_t kExecuteNever = 1U << 0;         // in `base`
constexpr uint32_t kNormalUncached = 0x44;          // attribute 0

// Both addresses are multiples of 32, the granule of protection.
void protect(Mpu& mpu, uint32_t region, uint32_t start, uint32_t end, uint32_t access) {
  mpu.region = region;
  mpu.base = start | access;
  mpu.limit = (end - 32) | kEnable;
}

uint32_t address(const uint8_t* symbol) { return reinterpret_cast<uintptr_t>(symbol); }

}  // namespace

void mpu_initialize() {
  auto& mpu = *reinterpret_cast<Mpu*>(kMpuAddress);
  if ((mpu.type & kRegionCount) == 0) return;  // simulators may leave the MPU out
  mpu.attributes = kNormalUncached;
  protect(mpu, 0, 0x00000000, 0x10000000, kReadOnly | kExecuteNever);
  protect(mpu, 1, address(code_start), address(code_end), kReadOnly);
  protect(mpu, 2, address(boot_start), address(boot_end), kReadOnly);
  mpu.control = kEnable | kDefaultMapElsewhere;
  asm volatile("dsb\n\tisb" ::: "memory");
}
