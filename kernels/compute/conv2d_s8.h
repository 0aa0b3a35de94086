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
  void run(const Taps& row, const Stretch& span, const int8_t* plane, int8_t* out,
           const Steps& steps) {
    if (!row.same_kernel_positions(row_) || !span.taps.same_kernel_positions(column_)) {
      row_ = row;
      column_ = span.taps;
      start_ = p_.input_offset == 0 ? bias_ : vmlaq(bias_, weight_sums(), p_.input_offset);
    }
    const Walk walk(p_, row, span.taps);
    if (walk.runs != 1) {
      run_span<2>(walk, span.outputs, plane, out, steps);
    } else if (walk.lines != 1) {
      run_span<1>(walk, span.outputs, plane, out, steps);
    } else {
      run_span<0>(walk, span.outputs, plane, out, steps);
    }
  }

 private:
  static constexpr int32_t kLanes = 4;
  static constexpr int32_t kBytes = 16;

  // How an output walks over image and weights: `lines` lines of `runs` runs. Steps lead from one
  // line or run to the next, skips from behind the last whole vector of weights.
  struct Walk {
    Walk(const ConvParameters& p, const Taps& row, const Taps& column) {
      const bool adjacent = column.adjacent() && p.groups == 1;
      const ptrdiff_t x_row = static_cast<ptrdiff_t>(p.input.row());
      first = row.at * x_row + ptrdiff_t{column.at} * p.input.channels;
      first_weight = (row.k * p.kernel_width + column.k) * p.depth;
      lines = row.count;
      runs = adjacent ? 1 : column.count;
      const int32_t length = adjacent ? column.count * p.depth : p.depth;
      blocks = static_cast<uint32_t>(length) / kBytes;
      rest = static_cast<uint32_t>(length) % kBytes;
      line_step = row.at_step * x_row;
      run_step = ptrdiff_t{column.at_step} * p.input.channels;
      const int32_t remainder = static_cast<int32_t>(rest);
      const int32_t to_next_line = row.k_step * p.kernel_width * p.depth;
      run_skip = (runs == 1 ? 0 : column.k_step * p.depth - length) + remainder;
      line_skip = runs == 1 ? to_next_line - length + remainder
                            : to_next_line - runs * column.k_step * p.depth;
    }

    ptrdiff_t first;
    int32_t first_weight;
    int32_t lines;
    int32_t runs;
    uint32_t blocks;  // a run has this many vectors and `rest` elements
    uint32_t rest;
    ptrdiff_t line_step;
    ptrdiff_t run_step;
    int32_t run_skip;
    int32_t line_skip;
  };

  // Sums of x * w for the four channels of the block, on from the weights at w0...w3.
  struct Sums {
    void skip(int32_t count) { w0 += count, w1 += count, w2 += count, w3 += count; }

    void add(int8x16_t v) {
      s0 = vmladavaq(s0, v, vld1q(w0));
      s1 = vmladavaq(s1, v, vld1q(w1));
      s2 = vmladavaq(s2, v, vld1q(w2));
      s3 = vmladavaq(s3, v, vld1q(w3));
      skip(kBytes);
    }

    void add_first(int8x16_t v, mve_pred16_t p) {
      s0 = vmladavaq(s0, v, vld1q_z(w0, p));
      s1 = vmladavaq(s1, v, vld1q_z(w1, p));
      s2 = vmladavaq(s2, v, vld1q_z(w2, p));
      s3 = vmladavaq(s3, v, vld1q_z(w3, p));
    }

    int32x4_t lanes() const {
      int32x4_t v = vdupq_n_s32(s0);
      v = vsetq_lane(s1, v, 1);
      v = vsetq_lane(s2, v, 2);
      return vsetq_lane(s3, v, 3);
    }

    const int8_t *w0, *w1, *w2, *w3;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  };

  // `kLoops` loops surround a run: over lines, and over the runs of a line.
  template <int kLoops>
  inline __attribute__((always_inline)) int32x4_t products(const int8_t* line,
                                                           const Walk& walk) const {
    const int32_t at = walk.first_weight;
    const uint32_t rest = walk.rest;
    const mve_pred16_t rest_lanes = vctp8q(rest);
    Sums sums{weights_[0] + at, weights_[1] + at, weights_[2] + at, weights_[3] + at};
    for (int32_t i = kLoops > 0 ? walk.lines : 1; i > 0; --i, line += walk.line_step) {
      const int8_t* run = line;
      for (int32_t j = kLoops > 1 ? walk.runs : 1; j > 0; --j, run += walk.run_step) {
        const int8_t* x = run;
        for (uint32_t blocks = walk.blocks; blocks > 0; --blocks, x += kBytes) {
          sums.add(vld1q(x));
        }
        if (rest != 0) sums.add_first(vld1q_z(x, rest_lanes), rest_lanes);
        if (kLoops > 1) sums.skip(walk.run_skip);
      }
      sums.skip(walk.line_skip);
    }
    return sums.lanes();
  }

  template <int kLoops>
  void run_span(const Walk& walk, int32_t outputs, const int8_t* plane, int8_t* out,
                const Steps& steps) const {
    // Local copies stay in registers, since `out` may not point to them.
    const RescaleLanes rescale = rescale_;
    const int32x4_t start = start_;
    const int32x4_t min = vdupq_n_s32(p_.min);
    const int32x4_t max = vdupq_n_s32(p_.max);
    const int32_t offset = p_.output_offset;
    const mve_pred16_t lanes = lanes_;
    const Steps by = steps;
    const int8_t* x = plane + walk.first;
    for (int32_t left = outputs; left > 0; --left, x += by.in, out += by.out) {
      const int32x4_t acc = vaddq(start, products<kLoops>(x, walk));
      const int32x4_t v = vminq(vmaxq(vqaddq(requantize(acc, rescale), offset), min), max);
      vstrbq_p_s32(out, v, lanes);
    }
  }

  // Sums of the weights at the kernel positions of row_ and column_.
  int32x4_t weight_sums() const {
    const bool adjacent = column_.k_step == 1;
    const int32_t runs = adjacent ? 1 : column_.count;
    const int32_t length = adjacent ? column_.count * p_.depth : p_.depth;
    int32_t sums[kLanes] = {};
    for (int32_t i = 0; i < row_.count; ++i) {
      const int32_t line = (row_.k + i * row_.k_step) * p_.kernel_width + column_.k;
      for (int32_t j = 0; j < runs; ++j) {
        const int32_t at = (line + j * column_.k_step) * p_.depth;
        for (int32_t lane = 0; lane < count_; ++lane) {
          sums[lane] = add_run(sums[lane], weights_[lane] + at, length);
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
      for_each_span(p.input, p.output, rows, columns, input, out,
                    [&](const Taps& row, const Stretch& span, const int8_t* plane, int8_t* to,
                        const Steps& steps) {
                      block.run(row, span, plane + group * p.depth, to + channel, steps);
                    });
    }
  }
}

}  // namespace mve
#endif

}  // namespace kernels
