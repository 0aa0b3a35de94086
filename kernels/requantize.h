// Requantization: v * multiplier * 2^(shift - 31) with two roundings, the first half up, the second
// half away from zero. Shifts lie within -31...31. A left shift that overflows wraps, as on the
// device; the one product that does not fit (both factors -2^31) saturates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "isa.h"

namespace kernels {

// A factor multiplier * 2^(shift - 31), with the shift split by direction.
struct Rescale {
  Rescale(int32_t multiplier, int32_t shift)
      : multiplier(multiplier), left(shift > 0 ? shift : 0), right(shift < 0 ? -shift : 0) {}

  int32_t multiplier;
  int32_t left;
  int32_t right;
};

// v << bits for any v, wrapping.
inline int32_t shift_left(int32_t v, int32_t bits) {
  return static_cast<int32_t>(static_cast<uint32_t>(v) << bits);
}

// a + b, a - b, a * b, wrapping.
inline int32_t add_wrapping(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
inline int32_t multiply_wrapping(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

inline int32_t add_saturating(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + b;
  return static_cast<int32_t>(std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(),
                                                  std::numeric_limits<int32_t>::max()));
}

namespace scalar {

// a * b / 2^31, rounded half up; the one product that does not fit saturates.
inline int32_t multiply_high(int32_t a, int32_t b) {
  const int64_t rounded = (int64_t{a} * b + (int64_t{1} << 30)) >> 31;
  return static_cast<int32_t>(std::min<int64_t>(rounded, std::numeric_limits<int32_t>::max()));
}

inline int32_t requantize(int32_t v, const Rescale& by) {
  const int64_t t = multiply_high(shift_left(v, by.left), by.multiplier);
  if (by.right == 0) return static_cast<int32_t>(t);
  // Half up, except that a negative value is moved down first: half away from zero.
  const int64_t half = int64_t{1} << (by.right - 1);
  return static_cast<int32_t>((t + half - (t < 0 ? 1 : 0)) >> by.right);
}

// Adds the output zero point and clamps.
inline int8_t to_s8(int32_t v, int32_t zero_point, int32_t min, int32_t max) {
  return static_cast<int8_t>(std::clamp(add_saturating(v, zero_point), min, max));
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

// `v` already carries the left shift of `by`.
inline int32x4_t requantize_shifted(int32x4_t v, const Rescale& by) {
  const int32x4_t t = vqrdmulhq(v, by.multiplier);
  // Half up, except that a negative value is moved down first; no t is -2^31.
  const int32x4_t moved = vmlaq(t, vshrq(t, 31), by.right != 0 ? 1 : 0);
  return vrshlq(moved, -by.right);
}

inline int32x4_t requantize(int32x4_t v, const Rescale& by) {
  return requantize_shifted(vshlq_r(v, by.left), by);
}

// A factor of its own for each lane.
struct RescaleLanes {
  RescaleLanes() = default;
  RescaleLanes(int32x4_t multiplier, int32x4_t shift)
      : multiplier(multiplier),
        left(vmaxq(shift, vdupq_n_s32(0))),
        right(vminq(shift, vdupq_n_s32(0))) {}

  int32x4_t multiplier;
  int32x4_t left;
  int32x4_t right;  // zero or negative
};

inline int32x4_t requantize(int32x4_t v, const RescaleLanes& by) {
  const int32x4_t t = vqrdmulhq(vshlq(v, by.left), by.multiplier);
  // The sign of `t & right` is set where a negative value is shifted right: those move down.
  const int32x4_t moved = vaddq(t, vshrq(vandq(t, by.right), 31));
  return vrshlq(moved, by.right);
}

// Adds the output zero point and clamps; the result is stored with vstrbq.
inline int32x4_t to_s8(int32x4_t v, int32_t zero_point, int32_t min, int32_t max) {
  return vminq(vmaxq(vqaddq(v, zero_point), vdupq_n_s32(min)), vdupq_n_s32(max));
}

}  // namespace mve
#endif

}  // namespace kernels
