// Elementwise minimum and maximum: out[i] = op(a[i * step_a], b[i * step_b]).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compute/operand.h"
#include "isa.h"

namespace kernels {

struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
#if KERNELS_MVE
  int8x16_t operator()(int8x16_t a, int8x16_t b) const { return vminq(a, b); }
#endif
};

struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
#if KERNELS_MVE
  int8x16_t operator()(int8x16_t a, int8x16_t b) const { return vmaxq(a, b); }
#endif
};

namespace scalar {

template <typename T, typename Op>
void extremum(Operand<T> a, Operand<T> b, T* out, size_t count, Op op) {
  for (size_t i = 0; i < count; ++i) out[i] = op(a.data[i * a.step], b.data[i * b.step]);
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

using scalar::extremum;

template <typename Op>
void extremum_contiguous(const int8_t* a, const int8_t* b, int8_t* out, size_t count, Op op) {
  for (size_t blocks = count / 16; blocks > 0; --blocks, a += 16, b += 16, out += 16) {
    vst1q(out, op(vld1q(a), vld1q(b)));
  }
  if (count % 16 != 0) {
    const mve_pred16_t p = vctp8q(count % 16);
    vst1q_p(out, op(vld1q_z(a, p), vld1q_z(b, p)), p);
  }
}

template <typename Op>
void extremum_repeated(const int8_t* a, int8_t b, int8_t* out, size_t count, Op op) {
  const int8x16_t repeated = vdupq_n_s8(b);
  for (size_t i = 0; i < count; i += 16) {
    const mve_pred16_t p = vctp8q(count - i);
    vst1q_p(out + i, op(vld1q_z(a + i, p), repeated), p);
  }
}

template <typename Op>
void extremum(Operand<int8_t> a, Operand<int8_t> b, int8_t* out, size_t count, Op op) {
  if (a.step == 1 && b.step == 1) {
    extremum_contiguous(a.data, b.data, out, count, op);
  } else if (a.step == 1 && b.step == 0) {
    extremum_repeated(a.data, *b.data, out, count, op);
  } else if (a.step == 0 && b.step == 1) {
    extremum_repeated(b.data, *a.data, out, count, op);
  } else {
    scalar::extremum(a, b, out, count, op);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
