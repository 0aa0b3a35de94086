// Corstone-320: addresses and ways of this board.
#pragma once

#include "boards/common/common.h"

// The secure views of the peripherals.
constexpr uintptr_t kUart0Base = 0x58203000;
constexpr uintptr_t kNpuBase = 0x50004000;
constexpr uint32_t kNpuInterrupt = 16;

// By semihosting, a line at a time: far fewer accesses for a simulator than a character at a time.
constexpr bool kConsoleIsUart = false;
constexpr const char* kSemihostingParameter = "mps4_board.subsystem.cpu0.semihosting-enable=1";
