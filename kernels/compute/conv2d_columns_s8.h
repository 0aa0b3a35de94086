// Convolution by columns: all image elements that an output pixel reads are copied side by side
// into scratch memory, with the zero point where the kernel leaves the image. The weights of an
// output channel then meet one run, and their sum, which the input offset needs, is the same for
// all pixels.
#pragma once

#include "compute/conv2d_s8.h"

namespace kernels {

struct Scratch {
  void* data;
  size_t size;  // bytes, may be 0
};

namespace scalar {

inline void conv2d_s8(const int8_t* input, const int8_t* weights, int8_t* out,
                      const ConvParameters& p, const ForwardAxis& rows, const ForwardAxis& columns,
                      const Scratch&) {
  conv2d_s8(input, weights, out, p, rows, columns);
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

// Scratch memory as int32 per output channel, then one column.
class ColumnConvolution {
 public:
  // True if columns pay and `scratch` holds them.
  static bool fits(const ConvParameters& p, const Scratch& scratch) {
    const size_t needed = static_cast<size_t>(p.output.channels) * sizeof(int32_t) +
                          static_cast<size_t>(p.kernel_size());
    return p.groups == 1 && p.kernel_height * p.kernel_width > 1 && needed <= scratch.size &&
           reinterpret_cast<uintptr_t>(scratch.data) % alignof(int32_t) == 0;
  }

  ColumnConvolution(const ConvParameters& p, const int8_t* weights, const Scratch& scratch)
      : p_(p),
        weights_(weights),
        starts_(static_cast<int32_t*>(scratch.data)),
        column_(reinterpret_cast<int8_t*>(starts_ + p.output.channels),
                static_cast<uint32_t>(p.kernel_size())),
        zero_point_(static_cast<int8_t>(-p.input_offset)) {
    const int8_t* w = weights;
    for (int32_t c = 0; c < p.output.channels; ++c, w += p.kernel_size()) {
      const int32_t bias = p.bias == nullptr ? 0 : p.bias[c];
      starts_[c] = add_wrapping(bias, multiply_wrapping(p.input_offset, sum(w)));
    }
  }

  void pixel(const Taps& row, const Taps& column, const int8_t* plane, int8_t* out) const {
    gather(row, column, plane);
    // Local copies stay in registers, since `out` may not point to them.
    const int32_t *start = starts_, *multiplier = p_.multipliers, *shift = p_.shifts;
    const int32x4_t min = vdupq_n_s32(p_.min);
    const int32x4_t max = vdupq_n_s32(p_.max);
    const int32_t offset = p_.output_offset;
    const int32_t size = p_.kernel_size();
    const auto scale = [&](int32x4_t sums, int32x4_t start, int32x4_t multiplier, int32x4_t shift) {
      const int32x4_t v = requantize(vaddq(sums, start), RescaleLanes(multiplier, shift));
      return vminq(vmaxq(vqaddq(v, offset), min), max);
    };
    const Column x = column_;
    const int8_t* w = weights_;
    for (int32_t blocks = p_.output.channels / kLanes; blocks > 0; --blocks, w += kLanes * size) {
      const int32x4_t sums = products(x, w, w + size, w + 2 * size, w + 3 * size);
      vstrbq_s32(out, scale(sums, vld1q(start), vld1q(multiplier), vld1q(shift)));
      out += kLanes, start += kLanes, multiplier += kLanes, shift += kLanes;
    }
    const int32_t rest = p_.output.channels % kLanes;
    if (rest == 0) return;
    // Lanes without a channel repeat the last one; they are not stored.
    const mve_pred16_t lanes = vctp32q(static_cast<uint32_t>(rest));
    const int8_t* last = w + (rest - 1) * size;
    const int32x4_t sums =
        products(x, w, rest > 1 ? w + size : last, rest > 2 ? w + 2 * size : last, last);
    vstrbq_p_s32(
        out, scale(sums, vld1q_z(start, lanes), vld1q_z(multiplier, lanes), vld1q_z(shift, lanes)),
        lanes);
  }

 private:
  static constexpr int32_t kLanes = 4;
  static constexpr int32_t kBytes = 16;

  // `blocks` vectors and `rest` elements.
  struct Column {
    Column(int8_t* data, uint32_t size)
        : data(data), blocks(size / kBytes), rest(size % kBytes), rest_lanes(vctp8q(rest)) {}

    int8_t* data;
    uint32_t blocks;
    uint32_t rest;
    mve_pred16_t rest_lanes;
  };

  int32_t sum(const int8_t* w) const {
    int32_t total = 0;
    for (uint32_t i = column_.blocks; i > 0; --i, w += kBytes) total = vaddvaq(total, vld1q(w));
    return column_.rest == 0 ? total : vaddvaq(total, vld1q_z(w, column_.rest_lanes));
  }

  static void copy(const int8_t* from, int8_t* to, int32_t count) {
    for (; count >= kBytes; count -= kBytes, from += kBytes, to += kBytes) vst1q(to, vld1q(from));
    if (count == 0) return;
    const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(count));
    vst1q_p(to, vld1q_z(from, lanes), lanes);
  }

  void clear() const {
    int8_t* to = column_.data;
    const int8x16_t zero = vdupq_n_s8(zero_point_);
    for (uint32_t i = column_.blocks; i > 0; --i, to += kBytes) vst1q(to, zero);
    if (column_.rest != 0) vst1q_p(to, zero, column_.rest_lanes);
  }

  void gather(const Taps& row, const Taps& column, const int8_t* plane) const {
    if (row.count < p_.kernel_height || column.count < p_.kernel_width) clear();
    const bool adjacent = column.at_step == 1;
    const int32_t runs = adjacent ? 1 : column.count;
    const int32_t length = adjacent ? column.count * p_.depth : p_.depth;
    const ptrdiff_t x_row = static_cast<ptrdiff_t>(p_.input.row());
    const int8_t* line = plane + row.at * x_row + ptrdiff_t{column.at} * p_.depth;
    int8_t* to_line = column_.data + (row.k * p_.kernel_width + column.k) * p_.depth;
    for (int32_t i = row.count; i > 0; --i) {
      const int8_t* from = line;
      int8_t* to = to_line;
      for (int32_t j = runs; j > 0; --j, from += column.at_step * p_.depth, to += p_.depth) {
        copy(from, to, length);
      }
      line += row.at_step * x_row;
      to_line += p_.kernel_width * p_.depth;
    }
  }

  // Products of a column with the weights of four channels.
  static inline __attribute__((always_inline)) int32x4_t products(Column column, const int8_t* w0,
                                                                  const int8_t* w1,
                                                                  const int8_t* w2,
                                                                  const int8_t* w3) {
    const int8_t* x = column.data;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t i = column.blocks; i > 0; --i) {
      const int8x16_t v = vld1q(x);
      s0 = vmladavaq(s0, v, vld1q(w0));
      s1 = vmladavaq(s1, v, vld1q(w1));
      s2 = vmladavaq(s2, v, vld1q(w2));
      s3 = vmladavaq(s3, v, vld1q(w3));
      x += kBytes, w0 += kBytes, w1 += kBytes, w2 += kBytes, w3 += kBytes;
    }
    if (column.rest != 0) {
      const int8x16_t v = vld1q_z(x, column.rest_lanes);
      s0 = vmladavaq(s0, v, vld1q_z(w0, column.rest_lanes));
      s1 = vmladavaq(s1, v, vld1q_z(w1, column.rest_lanes));
      s2 = vmladavaq(s2, v, vld1q_z(w2, column.rest_lanes));
      s3 = vmladavaq(s3, v, vld1q_z(w3, column.rest_lanes));
    }
    int32x4_t sums = vdupq_n_s32(s0);
    sums = vsetq_lane(s1, sums, 1);
    sums = vsetq_lane(s2, sums, 2);
    return vsetq_lane(s3, sums, 3);
  }

  const ConvParameters& p_;
  const int8_t* weights_;
  int32_t* starts_;
  Column column_;
  int8_t zero_point_;
};

// By columns if that pays and `scratch` is large enough.
inline void conv2d_s8(const int8_t* input, const int8_t* weights, int8_t* out,
                      const ConvParameters& p, const ForwardAxis& rows, const ForwardAxis& columns,
                      const Scratch& scratch) {
  if (!ColumnConvolution::fits(p, scratch)) {
    conv2d_s8(input, weights, out, p, rows, columns);
    return;
  }
  const ColumnConvolution convolution(p, weights, scratch);
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   convolution.pixel(row, column, plane, to);
                 });
}

}  // namespace mve
#endif

}  // namespace kernels
