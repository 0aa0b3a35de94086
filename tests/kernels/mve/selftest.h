// What the self-test's cases share: random parameters, the comparison of both variants, the report.
#pragma once

#include <cstring>

#include "requantize.h"
#include "startup.h"

#if !KERNELS_MVE
#error "this core has no vector instructions"
#endif

namespace selftest {

using namespace kernels;

constexpr size_t kMaxCount = 80;
constexpr size_t kGuard = 32;
constexpr int kRounds = 40;

class Random {
 public:
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  int32_t between(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(next() % static_cast<uint32_t>(high - low + 1));
  }
  int32_t zero_point() { return next() % 4 == 0 ? INT8_MIN : between(INT8_MIN, INT8_MAX); }
  Rescale rescale() {
    constexpr int32_t kMultipliers[] = {INT32_MIN, INT32_MIN + 1, -1, 0, 1, 1 << 30, INT32_MAX};
    const bool usual = next() % 2 == 0;
    const int32_t multiplier =
        usual ? between(1 << 30, INT32_MAX) : kMultipliers[static_cast<size_t>(next() % 7)];
    return Rescale(multiplier, usual ? between(-20, 3) : between(-31, 31));
  }
  template <typename T>
  void fill(T* to, size_t count) {
    for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(next());
  }

 private:
  uint32_t state_ = 2463534242u;
};

inline Random rng;
inline uint32_t mismatches = 0;

// Fills both outputs alike, calls `body(output, use_vectors)` for each and compares all bytes.
// No output has more than kCapacity elements.
template <typename T, size_t kCapacity = kMaxCount, typename Body>
bool same(const Body& body) {
  static T outputs[2][kCapacity + kGuard];
  std::memset(outputs, 0x5A, sizeof(outputs));
  body(outputs[0] + 1, false);
  body(outputs[1] + 1, true);
#ifdef BREAK
  reinterpret_cast<uint8_t*>(outputs[1] + 1)[0] ^= 1;
#endif
  return std::memcmp(outputs[0], outputs[1], sizeof(outputs[0])) == 0;
}

// Calls `test(count)`, which returns true on equality, for many sizes.
template <typename Test>
void report(const char* name, const Test& test) {
  uint32_t compared = 0;
  uint32_t different = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (size_t count = 0; count <= kMaxCount; count += count < 36 ? 1 : 11) {
      ++compared;
      if (!test(count)) ++different;
    }
  }
  board::print(name);
  board::print(": ");
  board::print(compared);
  board::print(" comparisons, ");
  board::print(different);
  board::print(" mismatches\n");
  mismatches += different;
}

}  // namespace selftest
