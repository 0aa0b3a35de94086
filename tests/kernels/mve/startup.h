// Bare-metal start and semihosting output of the self-test.
#pragma once

#include <cstdint>

extern "C" uint8_t stack_top[];
extern "C" [[noreturn]] void reset();

namespace board {

inline intptr_t semihosting(uintptr_t operation, const void* argument) {
  register uintptr_t r0 asm("r0") = operation;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return static_cast<intptr_t>(r0);
}

inline void print(const char* text) { semihosting(0x04, text); }

inline void print(uint32_t value) {
  char digits[11];
  char* at = digits + sizeof(digits);
  *--at = '\0';
  do {
    *--at = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  print(at);
}

[[noreturn]] inline void exit(uint32_t status) {
  const uintptr_t reason_and_status[2] = {0x20026, status};
  semihosting(0x20, reason_and_status);
  for (;;) {
  }
}

[[noreturn]] inline void fault() {
  print("selftest: fault\n");
  exit(3);
}

inline void enable_vectors() {
  *reinterpret_cast<volatile uint32_t*>(0xE000ED88) |= 0xFu << 20;  // CPACR: CP10, CP11
  asm volatile("dsb\n isb" ::: "memory");
}

}  // namespace board
