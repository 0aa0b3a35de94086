#include "ethosu/driver.h"

#include <executorch/runtime/platform/log.h>

#include <cinttypes>
#include <iterator>

#include "ethosu/port.h"

using executorch::runtime::Error;
using executorch::runtime::Result;

namespace ethosu {

namespace {

constexpr uint32_t kResetPolls = 100000;

// Memory paths, as selected per region: 0 and 1 lead to the fast port, 2 and 3 to the main port.
// U55 can only read through the main port, so its scratch buffer is on the fast one.
constexpr uint32_t kFast = 0;
constexpr uint32_t kFastToo = 1;
constexpr uint32_t kMain = 2;
constexpr uint32_t kMainToo = 3;

Register offset(Register first, size_t words) {
  return static_cast<Register>(static_cast<uint32_t>(first) + words * sizeof(uint32_t));
}

void write_address(Register low, uintptr_t address) {
  const uint64_t wide = address;
  port::write(low, static_cast<uint32_t>(wide));
  port::write(offset(low, 1), static_cast<uint32_t>(wide >> 32));
}

bool reset() {
  port::write(Register::kReset, kPrivilegedSecure);
  for (uint32_t poll = 0; poll < kResetPolls; ++poll) {
    if ((port::read(Register::kStatus) & kInReset) == 0) return true;
  }
  ET_LOG(Error, "NPU at 0x%08" PRIxPTR " does not leave reset (STATUS=0x%08" PRIx32 ")",
         port::register_address(), port::read(Register::kStatus));
  return false;
}

void select_memory_paths(uint32_t product) {
  // Outstanding transfers, less one. U55, U65: reads in bits 16-23, writes in bits 24-31; U85:
  // reads in bits 0-5, writes in bits 8-12.
  constexpr uint32_t kU55Limit = 31U << 16 | 15U << 24;
  constexpr uint32_t kU65Limit = 63U << 16 | 31U << 24;
  constexpr uint32_t kU85Limit = 63U << 0 | 31U << 8;
  constexpr uint32_t kMainPort = 1U << 2;  // in U85's memory attributes
  if (product == kU85) {
    for (size_t i = 0; i < 4; ++i) {
      port::write(offset(Register::kMemory0, i), i < kMain ? 0 : kMainPort);
    }
    port::write(Register::kSramPortLimit, kU85Limit);
    port::write(Register::kMainPortLimit, kU85Limit);
  } else {
    for (size_t i = 0; i < 4; ++i) {
      port::write(offset(Register::kMemory0, i), product == kU65 ? kU65Limit : kU55Limit);
    }
  }
  const uint32_t scratch = product == kU55 ? kFast : kMain;
  port::write(Register::kRegionConfig, kMainToo << 0 | scratch << 2 | kFastToo << 4);
  port::write(Register::kStreamConfig, kMain);
}

void start(Bytes commands, const Regions& regions) {
  write_address(Register::kStreamBase, reinterpret_cast<uintptr_t>(commands.data()));
  port::write(Register::kStreamSize, static_cast<uint32_t>(commands.size()));
  const void* bases[] = {regions.weights, regions.scratch, regions.fast_scratch};
  for (size_t i = 0; i < std::size(bases); ++i) {
    write_address(offset(Register::kRegionBase0, 2 * i), reinterpret_cast<uintptr_t>(bases[i]));
  }
  port::synchronize_memory();
  port::write(Register::kCommand, kRun);
}

const char* failure(uint32_t status) {
  if (status & kBusFault) return "bus error";
  if (status & kParseError) return "command parse error";
  if (status & kEccFault) return "ECC fault";
  if (status & kBranchFault) return "branch fault";
  if (status & kWatchdogFault) return "watchdog fault";
  if (status & kRunning) return "interrupt while it is still running";
  if ((status & kEndReached) == 0) return "stop before the end";
  return nullptr;
}

Error report(const char* what, uint32_t status, size_t size) {
  ET_LOG(Error, "NPU %s at byte %" PRIu32 " of %zu of the command stream (STATUS=0x%08" PRIx32 ")",
         what, port::read(Register::kStreamPosition), size, status);
  return Error::Internal;
}

}  // namespace

Result<Identity> probe() {
  if (!reset()) return Error::NotFound;
  const Identity identity{port::read(Register::kConfig), port::read(Register::kId)};
  if (identity.id == 0) {
    ET_LOG(Error, "There is no NPU at 0x%08" PRIxPTR " (ID=0)", port::register_address());
    return Error::NotFound;
  }
  return identity;
}

Error run(const Identity& npu, Bytes commands, const Regions& regions) {
  if (!reset()) return Error::Internal;
  const uint32_t protection = port::read(Register::kProtection) & kProtectionBits;
  if (protection != kPrivilegedSecure) {
    ET_LOG(Error, "NPU refuses privileged secure accesses (PROT=0x%" PRIx32 ")", protection);
    return Error::Internal;
  }
  select_memory_paths(npu.product());
  port::arm();
  start(commands, regions);
  const bool interrupted = port::wait();
  const uint32_t status = port::read(Register::kStatus);
  port::write(Register::kCommand, kClearInterrupt | kMayStopClock | kMayPowerDown);
  port::disarm();
  port::synchronize_memory();
  if (!interrupted) {
    report(status & kRunning ? "time-out" : "stop without interrupt", status, commands.size());
    ET_LOG(Error, "Waited for interrupt %" PRIu32 " of the NPU in vain", port::interrupt_number());
    reset();  // or it could go on writing
    return Error::Internal;
  }
  const char* what = failure(status);
  return what == nullptr ? Error::Ok : report(what, status, commands.size());
}

}  // namespace ethosu
