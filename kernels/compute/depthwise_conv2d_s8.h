// Quantized depthwise convolution, weights [kernel height][kernel width][outputs]: output channel c
// reads input channel c / multiplier alone, multiplier = outputs / inputs.
//   acc[c] = sum over the kernel positions inside of the image of (x + input_offset) * w + bias[c]
//   out[c] = clamp(rq(acc[c], multipliers[c], shifts[c]) + output_offset, min, max)
// Sums wrap at 32 bits.
#pragma once

#include "compute/convolution.h"
#include "isa.h"

namespace kernels {

namespace scalar {

inline void depthwise_conv2d_s8(const int8_t* input, const int8_t* weights, int8_t* out,
                                const ConvParameters& p, const ForwardAxis& rows,
                                const ForwardAxis& columns) {
  const int32_t multiplier = p.output.channels / p.input.channels;
  const auto channel = [&](const Taps& row, const Taps& column, const int8_t* plane, int32_t c) {
    int32_t acc = p.bias == nullptr ? 0 : p.bias[c];
    for (int32_t i = 0; i < row.count; ++i) {
      const int8_t* line = plane + static_cast<size_t>(row.at + i * row.at_step) * p.input.row();
      const int8_t* w = weights + ((row.k + i) * p.kernel_width + column.k) * p.output.channels + c;
      for (int32_t j = 0; j < column.count; ++j, w += p.output.channels) {
        const int8_t x = line[(column.at + j * column.at_step) * p.input.channels];
        acc = add_wrapping(acc, (x + p.input_offset) * *w);
      }
    }
    return requantize_channel(acc, c, p);
  };
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   for (int32_t c = 0; c < p.output.channels; ++c) {
                     to[c] = channel(row, column, plane + c / multiplier, c);
                   }
                 });
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

// How a block of sixteen output channels is loaded: whole, its first channels, or from the input
// channels that they share.
struct WholeLanes {
  int8x16_t input(const int8_t* from) const { return vld1q(from); }
  int8x16_t weights(const int8_t* from) const { return vld1q(from); }
};

struct FirstLanes {
  explicit FirstLanes(int32_t count) : p(vctp8q(static_cast<uint32_t>(count))) {}
  int8x16_t input(const int8_t* from) const { return vld1q_z(from, p); }
  int8x16_t weights(const int8_t* from) const { return vld1q_z(from, p); }

  mve_pred16_t p;
};

struct SharedLanes {
  // For output channels first...first + count - 1 of `multiplier` for each input channel.
  SharedLanes(int32_t first, int32_t count, int32_t multiplier)
      : p(vctp8q(static_cast<uint32_t>(count))) {
    uint8_t places[16] = {};
    for (int32_t i = 0; i < count; ++i) {
      places[i] = static_cast<uint8_t>((first + i) / multiplier - first / multiplier);
    }
    offsets = vld1q(places);
  }
  int8x16_t input(const int8_t* from) const { return vldrbq_gather_offset_z(from, offsets, p); }
  int8x16_t weights(const int8_t* from) const { return vld1q_z(from, p); }

  mve_pred16_t p;
  uint8x16_t offsets;
};

// Sixteen sums of 32 bits. Widening separates even from odd lanes, twice: vector i holds channels
// kFirst[i], kFirst[i] + 4, + 8, + 12. Named members, since the compiler keeps arrays in memory.
struct WideSums {
  static constexpr int32_t kFirst[4] = {0, 2, 1, 3};

  void add_wide(int16x8_t even, int16x8_t odd) {
    v0 = vaddq(v0, vmovlbq(even));
    v1 = vaddq(v1, vmovltq(even));
    v2 = vaddq(v2, vmovlbq(odd));
    v3 = vaddq(v3, vmovltq(odd));
  }
  void add_product(int8x16_t a, int8x16_t b) { add_wide(vmullbq_int(a, b), vmulltq_int(a, b)); }
  void add(int8x16_t a) { add_wide(vmovlbq(a), vmovltq(a)); }

  int32x4_t v0 = vdupq_n_s32(0);
  int32x4_t v1 = vdupq_n_s32(0);
  int32x4_t v2 = vdupq_n_s32(0);
  int32x4_t v3 = vdupq_n_s32(0);
};

// Up to sixteen output channels. The sums of weights that the offset needs depend on the kernel
// positions only and are kept while they stay the same.
template <typename Lanes>
class DepthwiseBlock {
 public:
  DepthwiseBlock(const ConvParameters& p, const int8_t* weights, int32_t channel,
                 const Lanes& lanes)
      : p_(p), weights_(weights + channel), lanes_(lanes) {
    const int32_t left = p.output.channels - channel;
    for (int32_t i = 0; i < 4; ++i) {
      const int32_t first = WideSums::kFirst[i];
      valid_[i] = vcmpltq(vaddq(places(), first), left);
      const auto load = [&](const int32_t* table) {
        return vldrwq_gather_shifted_offset_z(table + channel + first, vreinterpretq_u32(places()),
                                              valid_[i]);
      };
      rescale_[i] = RescaleLanes(load(p.multipliers), load(p.shifts));
      bias_[i] = p.bias == nullptr ? vdupq_n_s32(0) : load(p.bias);
    }
  }

  // `plane` begins at the first input channel of the block, `out` at its first output channel.
  void run(const Taps& row, const Stretch& span, const int8_t* plane, int8_t* out,
           const Steps& steps) {
    const Taps& column = span.taps;
    if (!row.same_kernel_positions(row_) || !column.same_kernel_positions(column_)) {
      row_ = row;
      column_ = column;
      start();
    }
    const ptrdiff_t x_step = ptrdiff_t{column.at_step} * p_.input.channels;
    const ptrdiff_t w_step = p_.output.channels;
    const ptrdiff_t row_step = static_cast<ptrdiff_t>(p_.input.row());
    const int8_t* first = plane + row.at * row_step + ptrdiff_t{column.at} * p_.input.channels;
    const int8_t* first_weight = weight_at(row.k, column.k);
    for (int32_t left = span.outputs; left > 0; --left, first += steps.in, out += steps.out) {
      WideSums sums = start_;
      const int8_t* line = first;
      const int8_t* k_line = first_weight;
      for (int32_t i = row.count; i > 0; --i) {
        const int8_t* x = line;
        const int8_t* w = k_line;
        for (int32_t j = column.count; j > 0; --j, x += x_step, w += w_step) {
          sums.add_product(lanes_.input(x), lanes_.weights(w));
        }
        line += row.at_step * row_step;
        k_line += p_.kernel_width * w_step;
      }
      store<0>(sums.v0, out);
      store<1>(sums.v1, out);
      store<2>(sums.v2, out);
      store<3>(sums.v3, out);
    }
  }

 private:
  // Distances between the channels of one vector of WideSums.
  static int32x4_t places() { return vreinterpretq_s32(vshlq_n(vidupq_n_u32(0, 1), 2)); }

  const int8_t* weight_at(int32_t y, int32_t x) const {
    return weights_ + (y * p_.kernel_width + x) * p_.output.channels;
  }

  // start_ = bias + offset * sum of the weights at the kernel positions of row_ and column_.
  void start() {
    WideSums sums;
    for (int32_t i = 0; i < row_.count; ++i) {
      for (int32_t j = 0; j < column_.count; ++j) {
        sums.add(lanes_.weights(weight_at(row_.k + i, column_.k + j)));
      }
    }
    start_.v0 = vmlaq(bias_[0], sums.v0, p_.input_offset);
    start_.v1 = vmlaq(bias_[1], sums.v1, p_.input_offset);
    start_.v2 = vmlaq(bias_[2], sums.v2, p_.input_offset);
    start_.v3 = vmlaq(bias_[3], sums.v3, p_.input_offset);
  }

  template <int kVector>
  void store(int32x4_t sums, int8_t* out) const {
    const int32x4_t v =
        to_s8(requantize(sums, rescale_[kVector]), p_.output_offset, p_.min, p_.max);
    vstrbq_scatter_offset_p(out + WideSums::kFirst[kVector], vreinterpretq_u32(places()), v,
                            valid_[kVector]);
  }

  const ConvParameters& p_;
  const int8_t* weights_;
  Lanes lanes_;
  mve_pred16_t valid_[4];
  RescaleLanes rescale_[4];
  int32x4_t bias_[4];
  WideSums start_;
  Taps row_{-1, 0, 0, 0, 0};
  Taps column_{-1, 0, 0, 0, 0};
};

inline void depthwise_conv2d_s8(const int8_t* input, const int8_t* weights, int8_t* out,
                                const ConvParameters& p, const ForwardAxis& rows,
                                const ForwardAxis& columns) {
  constexpr int32_t kLanes = 16;
  const int32_t multiplier = p.output.channels / p.input.channels;
  for (int32_t c = 0; c < p.output.channels; c += kLanes) {
    const int32_t count = std::min(p.output.channels - c, kLanes);
    const auto run = [&](const auto& lanes) {
      DepthwiseBlock block(p, weights, c, lanes);
      for_each_span(
          p.input, p.output, rows, columns, input, out,
          [&](const Taps& row, const Stretch& span, const int8_t* plane, int8_t* to,
              const Steps& steps) { block.run(row, span, plane + c / multiplier, to + c, steps); });
    };
    if (multiplier != 1) {
      run(SharedLanes(c, count, multiplier));
    } else if (count == kLanes) {
      run(WholeLanes());
    } else {
      run(FirstLanes(count));
    }
  }
}

}  // namespace mve
#endif

}  // namespace kernels
