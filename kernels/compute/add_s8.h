// Quantized addition: clamp(rq(rq((a - za) << 20) + rq((b - zb) << 20)) + zo, min, max).
#pragma once

#include "compute/binary_s8.h"
#include "requantize.h"

namespace kernels {

constexpr int32_t kAddShift = 20;

struct AddParameters {
  int32_t zero_point_a;
  Rescale a;
  int32_t zero_point_b;
  Rescale b;
  int32_t zero_point_out;
  Rescale out;
  int32_t min;
  int32_t max;
};

namespace scalar {

struct Add {
  int32_t operator()(int32_t a, int32_t b) const {
    const int32_t left = requantize(shift_left(a - p.zero_point_a, kAddShift), p.a);
    const int32_t right = requantize(shift_left(b - p.zero_point_b, kAddShift), p.b);
    return to_s8(requantize(add_wrapping(left, right), p.out), p.zero_point_out, p.min, p.max);
  }

  AddParameters p;
};

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

struct Add {
  int32x4_t operator()(int32x4_t a, int32x4_t b) const {
    const int32x4_t left = scaled(vsubq(a, p.zero_point_a), p.a);
    const int32x4_t right = scaled(vsubq(b, p.zero_point_b), p.b);
    return to_s8(requantize(vaddq(left, right), p.out), p.zero_point_out, p.min, p.max);
  }

  // Both left shifts in one.
  static int32x4_t scaled(int32x4_t v, const Rescale& by) {
    return requantize_shifted(vshlq_r(v, by.left + kAddShift), by);
  }

  AddParameters p;
};

}  // namespace mve
#endif

}  // namespace kernels
