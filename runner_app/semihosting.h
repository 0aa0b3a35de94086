// Raw Arm semihosting calls (BKPT 0xAB), as defined by the "Semihosting for AArch32" specification.
#pragma once

#include <cstdint>

namespace semihosting {

enum class Operation : uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kWriteText = 0x04,  // SYS_WRITE0
  kWrite = 0x05,
  kRead = 0x06,
  kFileLength = 0x0C,
  kGetCommandLine = 0x15,
  kExit = 0x18,
  kExitExtended = 0x20,
};

constexpr uint16_t kBreakpoint = 0xBEAB;  // the instruction's encoding, for the fault handler
constexpr uintptr_t kApplicationExit = 0x20026;
constexpr uintptr_t kRunTimeError = 0x20023;

inline intptr_t call(Operation operation, const void* argument) {
  register uintptr_t r0 asm("r0") = static_cast<uintptr_t>(operation);
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return static_cast<intptr_t>(r0);
}

[[noreturn]] inline void exit(int status) {
  const uintptr_t reason_and_status[2] = {kApplicationExit, static_cast<uintptr_t>(status)};
  call(Operation::kExitExtended, reason_and_status);
  // A simulator without the extended call returns: the plain one carries only good or bad.
  const uintptr_t reason = status == 0 ? kApplicationExit : kRunTimeError;
  call(Operation::kExit, reinterpret_cast<const void*>(reason));
  for (;;) asm volatile("wfi");
}

}  // namespace semihosting
