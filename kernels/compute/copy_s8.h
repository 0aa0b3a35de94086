// Fills and copies of bytes. Element i of a copy goes from from[i * step_from] to to[i * step_to].
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa.h"

namespace kernels {

namespace scalar {

inline void fill_s8(int8_t* to, int8_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) to[i] = value;
}

inline void copy_s8(const int8_t* from, size_t step_from, int8_t* to, size_t step_to,
                    size_t count) {
  for (size_t i = 0; i < count; ++i) to[i * step_to] = from[i * step_from];
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

// The largest step whose eight offsets fit 16 bits.
constexpr size_t kMaxStep = UINT16_MAX / 7;

inline void fill_s8(int8_t* to, int8_t value, size_t count) {
  const int8x16_t repeated = vdupq_n_s8(value);
  for (size_t blocks = count / 16; blocks > 0; --blocks, to += 16) vst1q(to, repeated);
  if (count % 16 != 0) vst1q_p(to, repeated, vctp8q(count % 16));
}

inline void copy_contiguous_s8(const int8_t* from, int8_t* to, size_t count) {
  for (size_t blocks = count / 16; blocks > 0; --blocks, from += 16, to += 16) {
    vst1q(to, vld1q(from));
  }
  if (count % 16 != 0) {
    const mve_pred16_t p = vctp8q(count % 16);
    vst1q_p(to, vld1q_z(from, p), p);
  }
}

inline uint16x8_t offsets_u16(size_t step) {
  return vmulq(vidupq_n_u16(0u, 1), static_cast<uint16_t>(step));
}

inline void gather_s8(const int8_t* from, size_t step, int8_t* to, size_t count) {
  const uint16x8_t offsets = offsets_u16(step);
  for (size_t blocks = count / 8; blocks > 0; --blocks, from += 8 * step, to += 8) {
    vstrbq_s16(to, vldrbq_gather_offset_s16(from, offsets));
  }
  if (count % 8 != 0) {
    const mve_pred16_t p = vctp16q(count % 8);
    vstrbq_p_s16(to, vldrbq_gather_offset_z_s16(from, offsets, p), p);
  }
}

inline void scatter_s8(const int8_t* from, int8_t* to, size_t step, size_t count) {
  const uint16x8_t offsets = offsets_u16(step);
  for (size_t blocks = count / 8; blocks > 0; --blocks, from += 8, to += 8 * step) {
    vstrbq_scatter_offset_s16(to, offsets, vldrbq_s16(from));
  }
  if (count % 8 != 0) {
    const mve_pred16_t p = vctp16q(count % 8);
    vstrbq_scatter_offset_p_s16(to, offsets, vldrbq_z_s16(from, p), p);
  }
}

inline void copy_s8(const int8_t* from, size_t step_from, int8_t* to, size_t step_to,
                    size_t count) {
  if (step_from == 1 && step_to == 1) {
    copy_contiguous_s8(from, to, count);
  } else if (step_to == 1 && step_from <= kMaxStep) {
    gather_s8(from, step_from, to, count);
  } else if (step_from == 1 && step_to <= kMaxStep) {
    scatter_s8(from, to, step_to, count);
  } else {
    scalar::copy_s8(from, step_from, to, step_to, count);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
