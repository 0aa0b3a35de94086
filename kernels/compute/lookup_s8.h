// A function of one int8 value as a table: out[i] = table[in[i] + 128].
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa.h"

namespace kernels {

constexpr int64_t kTableSize = 256;

namespace scalar {

inline void lookup_s8(const int8_t* in, const int8_t* table, int8_t* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = table[in[i] + 128];
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline void lookup_s8(const int8_t* in, const int8_t* table, int8_t* out, size_t count) {
  // Adding 128 to an int8 flips its top bit.
  const uint8x16_t top = vdupq_n_u8(0x80);
  const auto* bytes = reinterpret_cast<const uint8_t*>(in);
  for (size_t blocks = count / 16; blocks > 0; --blocks, bytes += 16, out += 16) {
    vst1q(out, vldrbq_gather_offset_s8(table, veorq(vld1q(bytes), top)));
  }
  if (count % 16 != 0) {
    const mve_pred16_t p = vctp8q(count % 16);
    const uint8x16_t index = veorq(vld1q_z(bytes, p), top);
    vst1q_p(out, vldrbq_gather_offset_z_s8(table, index, p), p);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
