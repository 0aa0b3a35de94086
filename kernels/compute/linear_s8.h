// Quantized fully connected layer, weights [outputs, depth]:
//   acc[n] = sum_k (x[k] + input_offset) * (w[n][k] + filter_offset) + bias[n]
//   out[n] = clamp(rq(acc[n]) + output_offset, min, max)
// A kernel sum holds input_offset * sum_k (w[n][k] + filter_offset) + bias[n], computed ahead of
// time; with it only sum_k x[k] * (w[n][k] + filter_offset) is left. Sums wrap at 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa.h"
#include "requantize.h"

namespace kernels {

struct LinearParameters {
  size_t rows;
  size_t depth;
  size_t outputs;
  const int32_t* kernel_sum;  // or null: then input_offset and bias count
  const int32_t* bias;        // or null
  int32_t input_offset;
  int32_t filter_offset;
  int32_t output_offset;
  Rescale rescale;
  int32_t min;
  int32_t max;
};

namespace scalar {

inline void linear_s8(const int8_t* x, const int8_t* weights, int8_t* out,
                      const LinearParameters& p) {
  const int32_t input_offset = p.kernel_sum != nullptr ? 0 : p.input_offset;
  const int32_t* start = p.kernel_sum != nullptr ? p.kernel_sum : p.bias;
  for (size_t row = 0; row < p.rows; ++row, x += p.depth, out += p.outputs) {
    const int8_t* w = weights;
    for (size_t n = 0; n < p.outputs; ++n, w += p.depth) {
      int32_t acc = start == nullptr ? 0 : start[n];
      for (size_t k = 0; k < p.depth; ++k) {
        acc = add_wrapping(acc, (x[k] + input_offset) * (w[k] + p.filter_offset));
      }
      out[n] = to_s8(requantize(acc, p.rescale), p.output_offset, p.min, p.max);
    }
  }
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline int32_t sum_s8(const int8_t* v, size_t count) {
  int32_t sum = 0;
  for (size_t blocks = count / 16; blocks > 0; --blocks, v += 16) sum = vaddvaq(sum, vld1q(v));
  return count % 16 == 0 ? sum : vaddvaq(sum, vld1q_z(v, vctp8q(count % 16)));
}

inline int32_t dot_s8(const int8_t* a, const int8_t* b, size_t count) {
  int32_t sum = 0;
  for (size_t blocks = count / 16; blocks > 0; --blocks, a += 16, b += 16) {
    sum = vmladavaq(sum, vld1q(a), vld1q(b));
  }
  if (count % 16 == 0) return sum;
  const mve_pred16_t p = vctp8q(count % 16);
  return vmladavaq(sum, vld1q_z(a, p), vld1q_z(b, p));
}

// Products of `x` with four rows of weights: every load of `x` serves four sums.
inline int32x4_t dot4_s8(const int8_t* x, const int8_t* w0, size_t depth) {
  const int8_t* w1 = w0 + depth;
  const int8_t* w2 = w1 + depth;
  const int8_t* w3 = w2 + depth;
  int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
  for (size_t blocks = depth / 16; blocks > 0; --blocks) {
    const int8x16_t v = vld1q(x);
    sum0 = vmladavaq(sum0, v, vld1q(w0));
    sum1 = vmladavaq(sum1, v, vld1q(w1));
    sum2 = vmladavaq(sum2, v, vld1q(w2));
    sum3 = vmladavaq(sum3, v, vld1q(w3));
    x += 16, w0 += 16, w1 += 16, w2 += 16, w3 += 16;
  }
  if (depth % 16 != 0) {
    const mve_pred16_t p = vctp8q(depth % 16);
    const int8x16_t v = vld1q_z(x, p);
    sum0 = vmladavaq(sum0, v, vld1q_z(w0, p));
    sum1 = vmladavaq(sum1, v, vld1q_z(w1, p));
    sum2 = vmladavaq(sum2, v, vld1q_z(w2, p));
    sum3 = vmladavaq(sum3, v, vld1q_z(w3, p));
  }
  const int32_t sums[4] = {sum0, sum1, sum2, sum3};
  return vld1q(sums);
}

// Without a kernel sum: input_offset * sum(w + filter_offset) + bias[n].
inline int32_t kernel_sum(const LinearParameters& p, const int8_t* w, size_t n) {
  const int32_t bias = p.bias == nullptr ? 0 : p.bias[n];
  if (p.input_offset == 0) return bias;
  const int32_t filter = multiply_wrapping(p.filter_offset, static_cast<int32_t>(p.depth));
  return add_wrapping(bias,
                      multiply_wrapping(p.input_offset, add_wrapping(sum_s8(w, p.depth), filter)));
}

inline int32x4_t kernel_sum4(const LinearParameters& p, const int8_t* w, size_t n) {
  if (p.kernel_sum != nullptr) return vld1q(p.kernel_sum + n);
  int32_t sums[4];
  for (size_t i = 0; i < 4; ++i) sums[i] = kernel_sum(p, w + i * p.depth, n + i);
  return vld1q(sums);
}

inline void linear_row_s8(const int8_t* x, const int8_t* w, int8_t* out,
                          const LinearParameters& p) {
  const int32_t filter_part =
      p.filter_offset == 0 ? 0 : multiply_wrapping(p.filter_offset, sum_s8(x, p.depth));
  size_t n = 0;
  for (; n + 4 <= p.outputs; n += 4, w += 4 * p.depth) {
    const int32x4_t start = vaddq(kernel_sum4(p, w, n), filter_part);
    const int32x4_t acc = vaddq(dot4_s8(x, w, p.depth), start);
    vstrbq_s32(out + n, to_s8(requantize(acc, p.rescale), p.output_offset, p.min, p.max));
  }
  for (; n < p.outputs; ++n, w += p.depth) {
    const int32_t sum = p.kernel_sum != nullptr ? p.kernel_sum[n] : kernel_sum(p, w, n);
    const int32_t acc = add_wrapping(dot_s8(x, w, p.depth), add_wrapping(sum, filter_part));
    out[n] = scalar::to_s8(scalar::requantize(acc, p.rescale), p.output_offset, p.min, p.max);
  }
}

inline void linear_s8(const int8_t* x, const int8_t* weights, int8_t* out,
                      const LinearParameters& p) {
  for (size_t row = 0; row < p.rows; ++row, x += p.depth, out += p.outputs) {
    linear_row_s8(x, weights, out, p);
  }
}

}  // namespace mve
#endif

}  // namespace kernels
