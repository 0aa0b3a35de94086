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
inline int32x4_t dot4_s8(const int8_t* x, const int8_t* w, size_t depth) {
  const int8_t* w1 = w + depth;
  const int8_t* w2 = w1 + depth;
  const int8_t* w3 = w2 + depth;
  int32_t sum[4] = {};
  for (size_t blocks = depth / 16; blocks > 0; --blocks) {
    const int8x16_t v = vld1q(x);
    sum[0] = vmladavaq(sum[0], v, vld1q(w));
    sum[1] = vmladavaq(sum[1], v, vld1q(w1));
    sum[2] = vmladavaq(sum[2], v, vld1q(w2));
    sum[3] = vmladavaq(sum[3], v, vld1q(w3));
    x += 16, w += 16, w1 += 16, w2 += 16, w3 += 16;
  }
  if (depth % 16 != 0) {
    const mve_pred16_t p = vctp8q(depth % 16);
    const int8x16_t v = vld1q_z(x, p);
    sum[0] = vmladavaq(sum[0], v, vld1q_z(w, p));
    sum[1] = vmladavaq(sum[1], v, vld1q_z(w1, p));
    sum[2] = vmladavaq(sum[2], v, vld1q_z(w2, p));
    sum[3] = vmladavaq(sum[3], v, vld1q_z(w3, p));
  }
  return vld1q(sum);
}

// What is added to the products of output `n`: the sum over (x + i)(w + f) beside sum(x * w).
inline int32_t linear_start(const LinearParameters& p, const int8_t* w, size_t n,
                            int32_t filter_part) {
  if (p.kernel_sum != nullptr) return add_wrapping(p.kernel_sum[n], filter_part);
  int32_t start = p.bias == nullptr ? 0 : p.bias[n];
  if (p.input_offset != 0) {
    const int32_t filter = multiply_wrapping(p.filter_offset, static_cast<int32_t>(p.depth));
    const int32_t weights = add_wrapping(sum_s8(w, p.depth), filter);
    start = add_wrapping(start, multiply_wrapping(p.input_offset, weights));
  }
  return add_wrapping(start, filter_part);
}

inline void linear_row_s8(const int8_t* x, const int8_t* w, int8_t* out,
                          const LinearParameters& p) {
  const int32_t filter_part =
      p.filter_offset == 0 ? 0 : multiply_wrapping(p.filter_offset, sum_s8(x, p.depth));
  size_t n = 0;
  for (; n + 4 <= p.outputs; n += 4, w += 4 * p.depth) {
    int32_t start[4];
    for (size_t i = 0; i < 4; ++i) start[i] = linear_start(p, w + i * p.depth, n + i, filter_part);
    const int32x4_t acc = vaddq(dot4_s8(x, w, p.depth), vld1q(start));
    vstrbq_s32(out + n, to_s8(requantize(acc, p.rescale), p.output_offset, p.min, p.max));
  }
  for (; n < p.outputs; ++n, w += p.depth) {
    const int32_t acc = add_wrapping(dot_s8(x, w, p.depth), linear_start(p, w, n, filter_part));
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
