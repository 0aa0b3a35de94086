#include "model.h"

#include <map>

#include "ethosu/port.h"

Model model;

namespace {

using ethosu::Register;

std::map<uint32_t, uint32_t> words;
bool pending = false;

uint64_t address_at(Register low) {
  const auto at = static_cast<uint32_t>(low);
  return words[at] | static_cast<uint64_t>(words[at + 4]) << 32;
}

void run_job() {
  ++model.jobs;
  const auto scratch = static_cast<uint32_t>(Register::kRegionBase0) + 8;
  auto* bytes = reinterpret_cast<uint8_t*>(address_at(static_cast<Register>(scratch)));
  for (int i = 0; i < 8; ++i) bytes[8 + i] = static_cast<uint8_t>(bytes[i] + 1);
  words[static_cast<uint32_t>(Register::kStatus)] = model.end_status;
  const uint32_t size = words[static_cast<uint32_t>(Register::kStreamSize)];
  const bool ended = (model.end_status & ethosu::kEndReached) != 0;
  words[static_cast<uint32_t>(Register::kStreamPosition)] = ended ? size : 4;
  pending = model.interrupts;
}

}  // namespace

bool Model::break_as(const std::string& fault) {
  if (fault == "bus") end_status = 1U << 1 | 1U << 2;
  if (fault == "parse") end_status = 1U << 1 | 1U << 4;
  if (fault == "ecc") end_status = 1U << 1 | 1U << 8;
  if (fault == "stops") end_status = 1U << 1;
  if (fault == "hangs") end_status = 1U << 0;
  if (fault == "hangs" || fault == "mute") interrupts = false;
  if (fault == "reset") leaves_reset = false;
  if (fault == "protection") takes_protection = false;
  if (fault == "absent") id = config = 0;
  if (fault == "macs") config = 0x20000119;
  if (fault == "product") config = 0x00001807;
  if (fault == "version") id = 0x30007000;
  if (fault == "newer") id = 0x20107000;
  return true;
}

namespace ethosu::port {

uint32_t read(Register address) {
  if (address == Register::kId) return model.id;
  if (address == Register::kConfig) return model.config;
  if (address == Register::kStatus && !model.leaves_reset) return kInReset;
  return words[static_cast<uint32_t>(address)];
}

void write(Register address, uint32_t value) {
  if (address == Register::kReset) {
    words.clear();
    ++model.resets;
    if (model.takes_protection) words[static_cast<uint32_t>(Register::kProtection)] = value;
  } else if (address == Register::kCommand) {
    if (value & kRun) run_job();
    if (value & kClearInterrupt) pending = false;
  } else {
    words[static_cast<uint32_t>(address)] = value;
  }
}

void synchronize_memory() {}
void arm() { ++model.armed; }
bool wait() { return pending; }
void disarm() { --model.armed; }
uint32_t interrupt_number() { return 16; }
uintptr_t register_address() { return 0x50004000; }

}  // namespace ethosu::port
