// Quantized convolution, weights [outputs][kernel height][kernel width][depth], groups:
//   acc[c] = sum over the kernel positions inside of the image of (x + input_offset) * w + bias[c]
//   out[c] = clamp(rq(acc[c], multipliers[c], shifts[c]) + output_offset, min, max)
// Sums wrap at 32 bits. The axes say which positions meet: with TransposedAxis this is the
// transposed convolution.
#pragma once

#include "compute/convolution.h"
#include "isa.h"

namespace kernels {

namespace scalar {

template <typename Axis>
void conv2d_s8(const int8_t* input, const int8_t* weights, int8_t* out, const ConvParameters& p,
               const Axis& rows, const Axis& columns) {
  const int32_t depth = p.depth;
  const int32_t per_group = p.output.channels / p.groups;
  const auto sum = [&](const Taps& row, const Taps& column, const int8_t* plane, const int8_t* w) {
    int32_t acc = 0;
    for (int32_t i = 0; i < row.count; ++i) {
      const int8_t* line = plane + static_cast<size_t>(row.at + i * row.at_step) * p.input.row();
      const int32_t k_line = (row.k + i * row.k_step) * p.kernel_width;
      for (int32_t j = 0; j < column.count; ++j) {
        const int8_t* x = line + (column.at + j * column.at_step) * p.input.channels;
        const int8_t* v = w + (k_line + column.k + j * column.k_step) * depth;
        for (int32_t d = 0; d < depth; ++d) {
          acc = add_wrapping(acc, (x[d] + p.input_offset) * v[d]);
        }
      }
    }
    return acc;
  };
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   const int8_t* w = weights;
                   for (int32_t c = 0; c < p.output.channels; ++c, w += p.kernel_size()) {
                     const int8_t* first = plane + c / per_group * depth;
                     const int32_t bias = p.bias == nullptr ? 0 : p.bias[c];
                     const int32_t acc = add_wrapping(sum(row, column, first, w), bias);
                     to[c] = requantize_channel(acc, c, p);
                   }
                 });
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

// Up to four output channels of one group. sum (x + offset) * w = sum x * w + offset * sum w: the
// second part depends on the kernel positions only and is kept while they stay the same.
class ConvBlock {
 public:
  ConvBlock(const ConvParameters& p, const int8_t* weights, int32_t channel, int32_t count)
      : p_(p),
        count_(count),
        lanes_(vctp32q(static_cast<uint32_t>(count))),
        rescale_(vld1q_z(p.multipliers + channel, lanes_), vld1q_z(p.shifts + channel, lanes_)),
        bias_(p.bias == nullptr ? vdupq_n_s32(0) : vld1q_z(p.bias + channel, lanes_)) {
    // Lanes without a channel repeat the last one; they are not stored.
    for (int32_t i = 0; i < kLanes; ++i) {
      weights_[i] = weights + (channel + std::min(i, count - 1)) * p.kernel_size();
    }
  }

  // `plane` begins at the first channel of the group, `out` at the first channel of the block.
  void pixel(const Taps& row, const Taps& column, const int8_t* plane, int8_t* out) {
    if (!row.same_kernel_positions(row_) || !column.same_kernel_positions(column_)) {
      row_ = row;
      column_ = column;
      start_ = p_.input_offset == 0 ? bias_ : vmlaq(bias_, weight_sums(), p_.input_offset);
    }
    const int32x4_t acc = vaddq(start_, products(row, column, plane));
    const int32x4_t v = to_s8(requantize(acc, rescale_), p_.output_offset, p_.min, p_.max);
    count_ == kLanes ? vstrbq_s32(out, v) : vstrbq_p_s32(out, v, lanes_);
  }

 private:
  static constexpr int32_t kLanes = 4;
  static constexpr int32_t kBytes = 16;

  struct Sums {
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;

    int32x4_t lanes() const {
      int32x4_t v = vdupq_n_s32(s0);
      v = vsetq_lane(s1, v, 1);
      v = vsetq_lane(s2, v, 2);
      return vsetq_lane(s3, v, 3);
    }
  };

  // Sums of x * w over `count` adjacent elements, from element `at` of the weights on.
  inline __attribute__((always_inline)) void dot(const int8_t* x, int32_t at, int32_t count,
                                                 Sums& sums) const {
    const int8_t *w0 = weights_[0] + at, *w1 = weights_[1] + at;
    const int8_t *w2 = weights_[2] + at, *w3 = weights_[3] + at;
    for (int32_t blocks = count / kBytes; blocks > 0; --blocks) {
      const int8x16_t v = vld1q(x);
      sums.s0 = vmladavaq(sums.s0, v, vld1q(w0));
      sums.s1 = vmladavaq(sums.s1, v, vld1q(w1));
      sums.s2 = vmladavaq(sums.s2, v, vld1q(w2));
      sums.s3 = vmladavaq(sums.s3, v, vld1q(w3));
      x += kBytes, w0 += kBytes, w1 += kBytes, w2 += kBytes, w3 += kBytes;
    }
    if (count % kBytes == 0) return;
    const mve_pred16_t p = vctp8q(static_cast<uint32_t>(count % kBytes));
    const int8x16_t v = vld1q_z(x, p);
    sums.s0 = vmladavaq(sums.s0, v, vld1q_z(w0, p));
    sums.s1 = vmladavaq(sums.s1, v, vld1q_z(w1, p));
    sums.s2 = vmladavaq(sums.s2, v, vld1q_z(w2, p));
    sums.s3 = vmladavaq(sums.s3, v, vld1q_z(w3, p));
  }

  int32x4_t products(const Taps& row, const Taps& column, const int8_t* plane) const {
    const int32_t depth = p_.depth;
    const bool adjacent = column.adjacent() && p_.groups == 1;
    const int32_t runs = adjacent ? 1 : column.count;
    const int32_t length = adjacent ? column.count * depth : depth;
    const ptrdiff_t x_step = ptrdiff_t{column.at_step} * p_.input.channels;
    const ptrdiff_t line_step = ptrdiff_t{row.at_step} * static_cast<ptrdiff_t>(p_.input.row());
    const int8_t* line = plane + static_cast<size_t>(row.at) * p_.input.row() +
                         ptrdiff_t{column.at} * p_.input.channels;
    int32_t k_line = (row.k * p_.kernel_width + column.k) * depth;
    Sums sums;
    for (int32_t i = row.count; i > 0; --i) {
      const int8_t* x = line;
      int32_t at = k_line;
      for (int32_t j = runs; j > 0; --j) {
        dot(x, at, length, sums);
        x += x_step;
        at += column.k_step * depth;
      }
      line += line_step;
      k_line += row.k_step * p_.kernel_width * depth;
    }
    return sums.lanes();
  }

  // Sums of the weights at the kernel positions of row_ and column_.
  int32x4_t weight_sums() const {
    int32_t sums[kLanes] = {};
    for (int32_t lane = 0; lane < count_; ++lane) {
      for (int32_t i = 0; i < row_.count; ++i) {
        for (int32_t j = 0; j < column_.count; ++j) {
          const int32_t k = (row_.k + i * row_.k_step) * p_.kernel_width + column_.k;
          const int8_t* w = weights_[lane] + (k + j * column_.k_step) * p_.depth;
          sums[lane] = add_run(sums[lane], w, p_.depth);
        }
      }
    }
    return vld1q(sums);
  }

  static int32_t add_run(int32_t sum, const int8_t* w, int32_t count) {
    for (; count >= kBytes; count -= kBytes, w += kBytes) sum = vaddvaq(sum, vld1q(w));
    return count == 0 ? sum : vaddvaq(sum, vld1q_z(w, vctp8q(static_cast<uint32_t>(count))));
  }

  const ConvParameters& p_;
  int32_t count_;
  mve_pred16_t lanes_;
  RescaleLanes rescale_;
  int32x4_t bias_;
  int32x4_t start_;
  const int8_t* weights_[kLanes];
  Taps row_{-1, 0, 0, 0, 0};
  Taps column_{-1, 0, 0, 0, 0};
};

template <typename Axis>
void conv2d_s8(const int8_t* input, const int8_t* weights, int8_t* out, const ConvParameters& p,
               const Axis& rows, const Axis& columns) {
  const int32_t per_group = p.output.channels / p.groups;
  for (int32_t group = 0; group < p.groups; ++group) {
    for (int32_t n = 0; n < per_group; n += 4) {
      const int32_t channel = group * per_group + n;
      ConvBlock block(p, weights, channel, std::min<int32_t>(per_group - n, 4));
      for_each_pixel(p.input, p.output, rows, columns, input, out,
                     [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                       block.pixel(row, column, plane + group * p.depth, to + channel);
                     });
    }
  }
}

}  // namespace mve
#endif

}  // namespace kernels
