// Elementwise int8 operations that compute in 32-bit lanes: out[i] = op(a[i * step_a], b[i *
// step_b]). An Op is a function object from two int32 (scalar) or two int32x4_t (mve) to a clamped
// result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/lanes.h"
#include "compute/operand.h"
#include "isa.h"

namespace kernels {

namespace scalar {

template <typename Op>
void binary_s8(Operand<int8_t> a, Operand<int8_t> b, int8_t* out, size_t count, Op op) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<int8_t>(op(a.data[i * a.step], b.data[i * b.step]));
  }
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

template <typename Op>
void binary_s8_contiguous(const int8_t* a, const int8_t* b, int8_t* out, size_t count,
                          const Op& op) {
  for (size_t blocks = count / 4; blocks > 0; --blocks, a += 4, b += 4, out += 4) {
    store(out, op(load(a), load(b)));
  }
  if (count % 4 != 0) {
    const mve_pred16_t p = vctp32q(count % 4);
    store(out, op(load(a, p), load(b, p)), p);
  }
}

template <typename Op>
void binary_s8_strided(Operand<int8_t> a, Operand<int8_t> b, int8_t* out, size_t count, Op op) {
  const uint32x4_t offsets_a = vmulq(vidupq_n_u32(0u, 1), static_cast<uint32_t>(a.step));
  const uint32x4_t offsets_b = vmulq(vidupq_n_u32(0u, 1), static_cast<uint32_t>(b.step));
  for (size_t i = 0; i < count; i += 4) {
    const mve_pred16_t p = vctp32q(count - i);
    const int32x4_t x = vldrbq_gather_offset_z_s32(a.data + i * a.step, offsets_a, p);
    const int32x4_t y = vldrbq_gather_offset_z_s32(b.data + i * b.step, offsets_b, p);
    store(out + i, op(x, y), p);
  }
}

template <typename Op>
void binary_s8(Operand<int8_t> a, Operand<int8_t> b, int8_t* out, size_t count, Op op) {
  if (a.step == 1 && b.step == 1) {
    binary_s8_contiguous(a.data, b.data, out, count, op);
  } else {
    binary_s8_strided(a, b, out, count, op);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
