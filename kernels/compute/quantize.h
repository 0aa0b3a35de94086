// Quantize float32 to int8 or int16 and back.
//   quantize:   clamp(rhe(x * reciprocal) + zero_point, min, max), rhe = round half to even
//   dequantize: (q - zero_point) * scale
// NaN gives clamp(zero_point, min, max), infinities and values out of range saturate. Vector
// arithmetic flushes subnormal numbers to zero: with a scale of at least kMinScale and a reciprocal
// that is no subnormal number either, no result depends on it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "compute/lanes.h"
#include "isa.h"
#include "requantize.h"

namespace kernels {

constexpr float kMinScale = 0x1p-125f;
constexpr float kMaxScale = 0x1p126f;

struct Quantization {
  int32_t zero_point;
  int32_t min;
  int32_t max;
};

namespace scalar {

// Rounds half to even and saturates; NaN gives 0.
inline int32_t round_to_int32(float v) {
  if (std::isnan(v)) return 0;
  if (v >= 0x1p31f) return std::numeric_limits<int32_t>::max();
  if (v < -0x1p31f) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(std::rint(v));
}

template <typename T>
void quantize(const float* in, T* out, size_t count, float reciprocal, const Quantization& q) {
  for (size_t i = 0; i < count; ++i) {
    const int32_t rounded = round_to_int32(in[i] * reciprocal);
    out[i] = static_cast<T>(std::clamp(add_saturating(rounded, q.zero_point), q.min, q.max));
  }
}

template <typename T>
void dequantize(const T* in, float* out, size_t count, float scale, int32_t zero_point) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(in[i] - zero_point) * scale;
  }
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline int32x4_t quantize_lanes(float32x4_t x, float reciprocal, const Quantization& q) {
  const int32x4_t rounded = vcvtnq_s32_f32(vmulq(x, reciprocal));
  return vminq(vmaxq(vqaddq(rounded, q.zero_point), vdupq_n_s32(q.min)), vdupq_n_s32(q.max));
}

template <typename T>
void quantize(const float* in, T* out, size_t count, float reciprocal, const Quantization& q) {
  for (size_t blocks = count / 4; blocks > 0; --blocks, in += 4, out += 4) {
    store(out, quantize_lanes(vldrwq_f32(in), reciprocal, q));
  }
  if (count % 4 != 0) {
    const mve_pred16_t p = vctp32q(count % 4);
    store(out, quantize_lanes(vldrwq_z_f32(in, p), reciprocal, q), p);
  }
}

inline float32x4_t dequantize_lanes(int32x4_t q, float scale, int32_t zero_point) {
  return vmulq(vcvtq_f32_s32(vsubq(q, zero_point)), scale);
}

template <typename T>
void dequantize(const T* in, float* out, size_t count, float scale, int32_t zero_point) {
  for (size_t blocks = count / 4; blocks > 0; --blocks, in += 4, out += 4) {
    vstrwq_f32(out, dequantize_lanes(load(in), scale, zero_point));
  }
  if (count % 4 != 0) {
    const mve_pred16_t p = vctp32q(count % 4);
    vstrwq_p_f32(out, dequantize_lanes(load(in, p), scale, zero_point), p);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
