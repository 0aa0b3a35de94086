// Softmax of int8 rows in fixed point, output scale 1/256 and zero point -128:
//   e[i]   = exp((x[i] - max) * s), in Q31, from (x[i] - max) requantized to Q5.26
//   sum    = sum_i rhu(e[i] / 2^12), in Q12.19
//   out[i] = clamp(rhu(e[i] * (1 / sum) * 256) - 128), rhu = round half up
// Differences below diff_min count as probability 0. exp and 1 / x are the ones of gemmlowp: a
// polynomial around -1/8 with one factor per bit of the argument, and three Newton steps. No
// rounded value is negative, so half up is half away from zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "compute/lanes.h"
#include "isa.h"
#include "requantize.h"

namespace kernels {

constexpr int32_t kOne = std::numeric_limits<int32_t>::max();  // in Q31
constexpr int32_t kExpFractionBits = 26;
constexpr int32_t kExpSumShift = 12;

struct SoftmaxParameters {
  // `rescale` has a multiplier of at least 0.
  SoftmaxParameters(const Rescale& rescale, int32_t diff_min)
      : rescale(rescale), diff_min(std::max<int32_t>(diff_min, INT32_MIN >> rescale.left)) {}

  Rescale rescale;
  int32_t diff_min;  // no difference from here to 0 overflows in the left shift
};

// Constants of exp, in Q31. kExpPowers: exp(-2^k) for k = -2...4.
constexpr int32_t kExpCentre = 1895147668;  // exp(-1/8)
constexpr int32_t kThird = 715827883;
constexpr int32_t kExpPowers[] = {1672461947, 1302514674, 790015084, 290630308,
                                  39332535,   720401,     242};

// What turns the products into outputs: 1 / sum as a Q31 factor in [1/2, 1] and a right shift.
struct Reciprocal {
  int32_t factor;
  int32_t shift;
};

// `sum` of exponentials, at least 2^19. From 2^31 on every output is 0, as it is just below.
inline Reciprocal softmax_reciprocal(int64_t sum) {
  const auto limited = static_cast<uint32_t>(std::min<int64_t>(sum, INT32_MAX));
  const int32_t headroom = __builtin_clz(limited);
  // The sum scaled to [1/2, 1).
  const auto half = static_cast<int32_t>((limited << headroom) >> 1);
  constexpr int32_t kStart = 1515870810;   // 48/17 in Q29
  constexpr int32_t kSlope = -1010580540;  // -32/17 in Q29
  constexpr int32_t kOneQ29 = 1 << 29;
  int32_t x = kStart + scalar::multiply_high(half, kSlope);
  for (int step = 0; step < 3; ++step) {
    x += scalar::multiply_high(x, kOneQ29 - scalar::multiply_high(half, x)) * 4;
  }
  const int64_t factor = std::min<int64_t>(int64_t{x} * 2, kOne);
  return {static_cast<int32_t>(factor), 31 - 8 + kExpSumShift - headroom};
}

namespace scalar {

// v / 2^bits for v >= 0 and bits >= 1.
inline int32_t shift_rounding(int32_t v, int32_t bits) {
  return static_cast<int32_t>((v + (int64_t{1} << (bits - 1))) >> bits);
}

// exp(v) in Q31 for v <= 0 in Q5.26.
inline int32_t exp_of_negative(int32_t v) {
  if (v == 0) return kOne;
  constexpr int32_t kQuarter = 1 << (kExpFractionBits - 2);
  const int32_t fraction = (v & (kQuarter - 1)) - kQuarter;  // in [-1/4, 0)
  const int32_t rest = fraction - v;                         // a multiple of 1/4
  const int32_t x = shift_left(fraction, 31 - kExpFractionBits) + (1 << 28);
  const int32_t x2 = multiply_high(x, x);
  const int32_t x4 = multiply_high(x2, x2);
  const int32_t x3 = multiply_high(x2, x);
  const int32_t higher = shift_rounding(multiply_high(shift_rounding(x4, 2) + x3, kThird) + x2, 1);
  int32_t result = kExpCentre + multiply_high(kExpCentre, x + higher);
  int32_t bit = kQuarter;
  for (int32_t power : kExpPowers) {
    if ((rest & bit) != 0) result = multiply_high(result, power);
    bit = shift_left(bit, 1);
  }
  return result;
}

inline void softmax_row_s8(const int8_t* in, int8_t* out, size_t count, size_t step,
                           const SoftmaxParameters& p) {
  int32_t max = INT8_MIN;
  for (size_t i = 0; i < count; ++i) max = std::max<int32_t>(max, in[i * step]);
  int64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const int32_t diff = in[i * step] - max;
    if (diff < p.diff_min) continue;
    sum += shift_rounding(exp_of_negative(requantize(diff, p.rescale)), kExpSumShift);
  }
  const Reciprocal by = softmax_reciprocal(sum);
  for (size_t i = 0; i < count; ++i) {
    const int32_t diff = in[i * step] - max;
    int32_t probability = 0;
    if (diff >= p.diff_min) {
      const int32_t e = exp_of_negative(requantize(diff, p.rescale));
      probability = shift_rounding(multiply_high(by.factor, e), by.shift);
    }
    out[i * step] = static_cast<int8_t>(std::min<int32_t>(probability + INT8_MIN, INT8_MAX));
  }
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline int32x4_t exp_of_negative(int32x4_t v) {
  constexpr int32_t kQuarter = 1 << (kExpFractionBits - 2);
  const int32x4_t fraction = vsubq(vandq(v, vdupq_n_s32(kQuarter - 1)), kQuarter);
  const int32x4_t rest = vsubq(fraction, v);
  const int32x4_t x = vaddq(vshlq_n(fraction, 31 - kExpFractionBits), 1 << 28);
  const int32x4_t x2 = vqrdmulhq(x, x);
  const int32x4_t x4 = vqrdmulhq(x2, x2);
  const int32x4_t x3 = vqrdmulhq(x2, x);
  const int32x4_t cubic = vqrdmulhq(vaddq(vrshrq(x4, 2), x3), kThird);
  const int32x4_t higher = vrshrq(vaddq(cubic, x2), 1);
  int32x4_t result = vaddq(vqrdmulhq(vaddq(x, higher), kExpCentre), kExpCentre);
  // Bits from that of 1/4 upwards, each moved to the sign: GCC 12 breaks down over masks.
  int32_t to_sign = 31 - (kExpFractionBits - 2);
  for (int32_t power : kExpPowers) {
    const mve_pred16_t set = vcmpltq(vshlq_r(rest, to_sign--), 0);
    result = vqrdmulhq_m(result, result, power, set);
  }
  return vpselq(vdupq_n_s32(kOne), result, vcmpeqq(v, 0));
}

inline int32_t max_s8(const int8_t* in, size_t count) {
  int8_t max = INT8_MIN;
  for (size_t blocks = count / 16; blocks > 0; --blocks, in += 16) max = vmaxvq(max, vld1q(in));
  if (count % 16 == 0) return max;
  const mve_pred16_t p = vctp8q(count % 16);
  return vmaxvq_p(max, vld1q_z(in, p), p);
}

inline void softmax_row_s8(const int8_t* in, int8_t* out, size_t count, size_t step,
                           const SoftmaxParameters& p) {
  if (step != 1) return scalar::softmax_row_s8(in, out, count, step, p);
  const int32_t max = max_s8(in, count);
  int64_t sum = 0;
  for (size_t i = 0; i < count; i += 4) {
    const mve_pred16_t lanes = vctp32q(count - i);
    const int32x4_t diff = vsubq(load(in + i, lanes), max);
    const mve_pred16_t counted = vcmpgeq_m(diff, p.diff_min, lanes);
    const int32x4_t e = exp_of_negative(requantize(diff, p.rescale));
    sum = vaddlvaq_p(sum, vrshrq(e, kExpSumShift), counted);
  }
  const Reciprocal by = softmax_reciprocal(sum);
  const int32x4_t zero = vdupq_n_s32(0);
  for (size_t i = 0; i < count; i += 4) {
    const mve_pred16_t lanes = vctp32q(count - i);
    const int32x4_t diff = vsubq(load(in + i, lanes), max);
    const int32x4_t e = exp_of_negative(requantize(diff, p.rescale));
    const int32x4_t scaled = vrshlq(vqrdmulhq(e, by.factor), -by.shift);
    const int32x4_t probability = vpselq(scaled, zero, vcmpgeq(diff, p.diff_min));
    store(out + i, vminq(vaddq(probability, INT8_MIN), vdupq_n_s32(INT8_MAX)), lanes);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
