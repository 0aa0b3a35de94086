// Corstone-300: addresses and ways of this board.
#pragma once

#include "boards/common/common.h"

// The non-secure views of the peripherals: they answer to secure code as well.
constexpr uintptr_t kUart0Base = 0x49303000;
constexpr uintptr_t kNpuBase = 0x48102000;
constexpr uint32_t kNpuInterrupt = 56;

constexpr bool kConsoleIsUart = true;
constexpr const char* kSemihostingParameter = "cpu0.semihosting-enable=1";
