// The register block of Ethos-U55, U65 and U85, as far as this driver uses it: byte offsets and
// bits.
#pragma once

#include <cstdint>

namespace ethosu {

enum class Register : uint32_t {
  kId = 0x00,
  kStatus = 0x04,
  kCommand = 0x08,
  kReset = 0x0C,
  kStreamBase = 0x10,      // QBASE, low word; the high word follows
  kStreamPosition = 0x18,  // QREAD: offset of the next command
  kStreamConfig = 0x1C,    // QCONFIG: memory attributes of the command stream
  kStreamSize = 0x20,      // QSIZE, bytes
  kProtection = 0x24,
  kConfig = 0x28,
  kRegionConfig = 0x3C,
  kMemory0 = 0x40,        // U55, U65: AXI_LIMIT0…3; U85: MEM_ATTR0…3
  kSramPortLimit = 0x50,  // U85: AXI_SRAM
  kMainPortLimit = 0x54,  // U85: AXI_EXT
  kRegionBase0 = 0x80,    // BASEP0…7, low and high word of each
};

// kCommand
constexpr uint32_t kRun = 1U << 0;
constexpr uint32_t kClearInterrupt = 1U << 1;
constexpr uint32_t kMayStopClock = 1U << 2;
constexpr uint32_t kMayPowerDown = 1U << 3;

// kStatus
constexpr uint32_t kRunning = 1U << 0;
constexpr uint32_t kInterruptRaised = 1U << 1;
constexpr uint32_t kBusFault = 1U << 2;
constexpr uint32_t kInReset = 1U << 3;
constexpr uint32_t kParseError = 1U << 4;
constexpr uint32_t kEndReached = 1U << 5;
constexpr uint32_t kWatchdogFault = 1U << 7;  // U55, U65
constexpr uint32_t kEccFault = 1U << 8;
constexpr uint32_t kBranchFault = 1U << 9;  // U85

// kReset and kProtection: bit 0 privileged, bit 1 non-secure.
constexpr uint32_t kPrivilegedSecure = 1;
constexpr uint32_t kProtectionBits = 3;

}  // namespace ethosu
