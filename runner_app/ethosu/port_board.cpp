// Registers by memory access, waiting by WFI. Interrupts stay masked in PRIMASK: a pending one ends
// WFI all the same, so no handler runs and nothing is shared with one. SysTick bounds the wait.
#include "ethosu/port.h"

#include "board.h"

namespace ethosu::port {

namespace {

constexpr uint32_t kLongestPeriod = 0xFFFFFF;  // ticks; the counter has 24 bits
constexpr uint32_t kPeriods = (NPU_WAIT_TICKS + kLongestPeriod - 1) / kLongestPeriod;

struct SysTick {
  volatile uint32_t control;
  volatile uint32_t reload;
  volatile uint32_t value;
};

constexpr uint32_t kEnable = 1U << 0;
constexpr uint32_t kInterrupt = 1U << 1;
constexpr uint32_t kCoreClock = 1U << 2;

constexpr uintptr_t kInterruptControl = 0xE000ED04;  // ICSR
constexpr uint32_t kClearSysTick = 1U << 25;
constexpr uint32_t kSysTickPending = 1U << 26;

// Banks of the interrupt controller, one bit an interrupt.
constexpr uintptr_t kSetEnable = 0xE000E100;
constexpr uintptr_t kClearEnable = 0xE000E180;
constexpr uintptr_t kPending = 0xE000E200;
constexpr uintptr_t kClearPending = 0xE000E280;

SysTick& systick() { return *reinterpret_cast<SysTick*>(0xE000E010); }

volatile uint32_t& word_at(uintptr_t address) {
  return *reinterpret_cast<volatile uint32_t*>(address);
}

volatile uint32_t& interrupt_bank(uintptr_t bank) {
  return word_at(bank + kNpuInterrupt / 32 * sizeof(uint32_t));
}

constexpr uint32_t kInterruptBit = 1U << kNpuInterrupt % 32;

}  // namespace

uint32_t read(Register address) { return word_at(kNpuBase + static_cast<uint32_t>(address)); }

void write(Register address, uint32_t value) {
  word_at(kNpuBase + static_cast<uint32_t>(address)) = value;
}

// The start-up code leaves the caches off, so barriers are enough.
void synchronize_memory() { asm volatile("dsb" ::: "memory"); }

void arm() {
  interrupt_bank(kClearPending) = kInterruptBit;
  interrupt_bank(kSetEnable) = kInterruptBit;
  systick().reload = kLongestPeriod;
  systick().value = 0;
  word_at(kInterruptControl) = kClearSysTick;
  systick().control = kEnable | kInterrupt | kCoreClock;
}

bool wait() {
  const auto raised = [] { return (interrupt_bank(kPending) & kInterruptBit) != 0; };
  for (uint32_t period = 0; period < kPeriods && !raised();) {
    asm volatile("dsb\n\twfi" ::: "memory");
    if (word_at(kInterruptControl) & kSysTickPending) {
      word_at(kInterruptControl) = kClearSysTick;
      ++period;
    }
  }
  return raised();  // it may have come with the last tick
}

void disarm() {
  systick().control = 0;
  word_at(kInterruptControl) = kClearSysTick;
  interrupt_bank(kClearEnable) = kInterruptBit;
  interrupt_bank(kClearPending) = kInterruptBit;
  asm volatile("dsb\n\tisb" ::: "memory");
}

uint32_t interrupt_number() { return kNpuInterrupt; }

uintptr_t register_address() { return kNpuBase; }

}  // namespace ethosu::port
