// Quantized division in float32, on int8 or int16:
//   out = clamp(rha(f32(a - za) / f32(b - zb) * factor) + zo), rha = round half away from zero
// A divisor of zero gives the quotient 0. No result depends on subnormal numbers, which vector
// arithmetic flushes to zero: quotients are at least 2^-17.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "compute/lanes.h"
#include "compute/operand.h"
#include "isa.h"

namespace kernels {

struct DivideParameters {
  int32_t zero_point_a;
  int32_t zero_point_b;
  int32_t zero_point_out;
  float factor;  // scale of a / (scale of b * scale of the output), finite
};

namespace scalar {

template <typename T>
void divide(Operand<T> a, Operand<T> b, T* out, size_t count, const DivideParameters& p) {
  constexpr float kMin = std::numeric_limits<T>::min();
  constexpr float kMax = std::numeric_limits<T>::max();
  for (size_t i = 0; i < count; ++i) {
    const int32_t divisor = b.data[i * b.step] - p.zero_point_b;
    const int32_t numerator = divisor == 0 ? 0 : a.data[i * a.step] - p.zero_point_a;
    const float quotient =
        static_cast<float>(numerator) / static_cast<float>(divisor == 0 ? 1 : divisor);
    const float shifted = std::round(quotient * p.factor) + static_cast<float>(p.zero_point_out);
    out[i] = static_cast<T>(std::clamp(shifted, kMin, kMax));
  }
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

template <typename T>
int32x4_t divide_lanes(int32x4_t a, int32x4_t b, const DivideParameters& p) {
  const float32x4_t numerator = vcvtq_f32_s32(vsubq(a, p.zero_point_a));
  const int32x4_t divisor = vsubq(b, p.zero_point_b);
  // There is no vector division: four scalar ones.
  const float32x4_t quotient = numerator / vcvtq_f32_s32(divisor);
  const float32x4_t defined = vpselq(quotient, vdupq_n_f32(0.0f), vcmpneq(divisor, 0));
  const int32x4_t rounded = vcvtaq_s32_f32(vmulq(defined, p.factor));
  const int32x4_t low = vdupq_n_s32(std::numeric_limits<T>::min());
  const int32x4_t high = vdupq_n_s32(std::numeric_limits<T>::max());
  return vminq(vmaxq(vqaddq(rounded, p.zero_point_out), low), high);
}

template <typename T>
void divide(Operand<T> a, Operand<T> b, T* out, size_t count, const DivideParameters& p) {
  if (a.step != 1 || b.step != 1) return scalar::divide(a, b, out, count, p);
  for (size_t i = 0; i + 4 <= count; i += 4) {
    store(out + i, divide_lanes<T>(load(a.data + i), load(b.data + i), p));
  }
  if (count % 4 != 0) {
    const size_t i = count - count % 4;
    const mve_pred16_t tail = vctp32q(count % 4);
    store(out + i, divide_lanes<T>(load(a.data + i, tail), load(b.data + i, tail), p), tail);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
