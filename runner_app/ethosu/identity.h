// Which NPU: the one that is there, and the one that a program was compiled for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ethosu {

// The words of the registers CONFIG and ID; a command stream carries the same two.
struct Identity {
  uint32_t config = 0;
  uint32_t id = 0;

  uint32_t product() const { return config >> 28; }
  uint32_t macs() const { return 1U << (config & 0xF); }
  uint32_t stream_version() const { return config >> 4 & 0xF; }
  uint32_t architecture_major() const { return id >> 28; }
  uint32_t architecture_minor() const { return id >> 20 & 0xFF; }
};

constexpr uint32_t kU55 = 0;
constexpr uint32_t kU65 = 1;
constexpr uint32_t kU85 = 2;

// Vela's name of a configuration: "ethos-u85-256".
class Name {
 public:
  explicit Name(const Identity& identity);
  const char* text() const { return text_; }

 private:
  char text_[32];
};

// Checks that `npu` executes what was compiled for `program`; logs at level E what differs.
bool matches(const Identity& program, const Identity& npu);

}  // namespace ethosu
