// Quantized multiplication: clamp(rq((a - za) * (b - zb)) + zo, -128, 127).
#pragma once

#include "compute/binary_s8.h"
#include "requantize.h"

namespace kernels {

struct MulParameters {
  int32_t zero_point_a;
  int32_t zero_point_b;
  int32_t zero_point_out;
  Rescale out;
};

namespace scalar {

struct Mul {
  int32_t operator()(int32_t a, int32_t b) const {
    const int32_t product = (a - p.zero_point_a) * (b - p.zero_point_b);
    return to_s8(requantize(product, p.out), p.zero_point_out, INT8_MIN, INT8_MAX);
  }

  MulParameters p;
};

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

struct Mul {
  int32x4_t operator()(int32x4_t a, int32x4_t b) const {
    const int32x4_t product = vmulq(vsubq(a, p.zero_point_a), vsubq(b, p.zero_point_b));
    return to_s8(requantize(product, p.out), p.zero_point_out, INT8_MIN, INT8_MAX);
  }

  MulParameters p;
};

}  // namespace mve
#endif

}  // namespace kernels
