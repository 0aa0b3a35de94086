// Pooling over windows of [batches][height][width][channels]; positions outside of the image do not
// count, and every window has one inside.
//   maximum:  out = clamp(max, min, max)
//   average:  out = sum / n, rounded half away from zero, n = number of positions
#pragma once

#include "compute/convolution.h"
#include "isa.h"

namespace kernels {

struct PoolParameters {
  Image input;
  Image output;
  int32_t min = INT8_MIN;  // bounds of maximum pooling
  int32_t max = INT8_MAX;
};

// A window of one channel: its elements lie in `count` runs of `length`.
struct Window {
  Window(const Taps& row, const Taps& column, const int8_t* plane, const Image& image)
      : first(plane + static_cast<size_t>(row.at) * image.row() +
              ptrdiff_t{column.at} * image.channels),
        line(static_cast<ptrdiff_t>(image.row())),
        step(image.channels),
        height(row.count),
        width(column.count) {}

  int32_t elements() const { return height * width; }

  // Calls `body(element)` from the first element of the channel at `offset` on.
  template <typename Body>
  void for_each(int32_t offset, const Body& body) const {
    const int8_t* from = first + offset;
    for (int32_t i = height; i > 0; --i, from += line) {
      const int8_t* at = from;
      for (int32_t j = width; j > 0; --j, at += step) body(at);
    }
  }

  const int8_t* first;
  ptrdiff_t line;
  ptrdiff_t step;
  int32_t height;
  int32_t width;
};

namespace scalar {

inline int8_t window_average(const Window& window, int32_t channel) {
  const int32_t n = window.elements();
  int32_t sum = 0;
  window.for_each(channel, [&](const int8_t* at) { sum += *at; });
  return static_cast<int8_t>((sum > 0 ? sum + n / 2 : sum - n / 2) / n);
}

inline void max_pool2d_s8(const int8_t* input, int8_t* out, const PoolParameters& p,
                          const ForwardAxis& rows, const ForwardAxis& columns) {
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   const Window window(row, column, plane, p.input);
                   for (int32_t c = 0; c < p.output.channels; ++c) {
                     int32_t top = INT8_MIN;
                     window.for_each(c,
                                     [&](const int8_t* at) { top = std::max<int32_t>(top, *at); });
                     to[c] = static_cast<int8_t>(std::clamp(top, p.min, p.max));
                   }
                 });
}

inline void avg_pool2d_s8(const int8_t* input, int8_t* out, const PoolParameters& p,
                          const ForwardAxis& rows, const ForwardAxis& columns) {
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   const Window window(row, column, plane, p.input);
                   for (int32_t c = 0; c < p.output.channels; ++c)
                     to[c] = window_average(window, c);
                 });
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline void max_pool2d_s8(const int8_t* input, int8_t* out, const PoolParameters& p,
                          const ForwardAxis& rows, const ForwardAxis& columns) {
  const int8x16_t low = vdupq_n_s8(static_cast<int8_t>(p.min));
  const int8x16_t high = vdupq_n_s8(static_cast<int8_t>(p.max));
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   const Window window(row, column, plane, p.input);
                   int32_t c = 0;
                   for (; c + 16 <= p.output.channels; c += 16) {
                     int8x16_t top = low;
                     window.for_each(c, [&](const int8_t* at) { top = vmaxq(top, vld1q(at)); });
                     vst1q(to + c, vminq(top, high));
                   }
                   if (c == p.output.channels) return;
                   const mve_pred16_t lanes = vctp8q(static_cast<uint32_t>(p.output.channels - c));
                   int8x16_t top = low;
                   window.for_each(c,
                                   [&](const int8_t* at) { top = vmaxq(top, vld1q_z(at, lanes)); });
                   vst1q_p(to + c, vminq(top, high), lanes);
                 });
}

// v / n, rounded half away from zero, for |v| <= 128 * n: a high product with 2^32 / n, rounded up,
// which is exact while 128.5 * n * n < 2^32.
class Average {
 public:
  static constexpr int32_t kMaxElements = 4096;

  explicit Average(int32_t n)
      : n_(n),
        reciprocal_(static_cast<uint32_t>((uint64_t{1} << 32) / static_cast<uint32_t>(n)) + 1) {}

  int32x4_t operator()(int32x4_t v) const {
    if (n_ == 1) return v;
    const uint32x4_t rounded = vreinterpretq_u32(vaddq(vabsq(v), n_ / 2));
    const int32x4_t quotient = vreinterpretq_s32(vmulhq(rounded, vdupq_n_u32(reciprocal_)));
    const int32x4_t sign = vshrq(v, 31);
    return vsubq(veorq(quotient, sign), sign);
  }

 private:
  int32_t n_;
  uint32_t reciprocal_;
};

constexpr int32_t kShortSums = 256;  // elements whose sum fits 16 bits

// Averages of the first `lanes` of eight channels. Runs of at most 256 elements are summed in 16
// bits.
inline void average_lanes(const Window& window, const Average& average, int32_t channel,
                          mve_pred16_t lanes, int8_t* to) {
  const int8_t* line = window.first + channel;
  int32x4_t even = vdupq_n_s32(0);
  int32x4_t odd = vdupq_n_s32(0);
  const int32_t lines_at_once = kShortSums / window.width;
  for (int32_t left = window.height; left > 0; left -= lines_at_once) {
    int16x8_t sum = vdupq_n_s16(0);
    for (int32_t i = std::min(left, lines_at_once); i > 0; --i, line += window.line) {
      const int8_t* at = line;
      for (int32_t j = window.width; j > 0; --j, at += window.step) {
        sum = vaddq(sum, vldrbq_z_s16(at, lanes));
      }
    }
    even = vaddq(even, vmovlbq(sum));
    odd = vaddq(odd, vmovltq(sum));
  }
  const int16x8_t result = vmovntq(vmovnbq(vdupq_n_s16(0), average(even)), average(odd));
  vstrbq_p_s16(to, result, lanes);
}

inline void avg_pool2d_s8(const int8_t* input, int8_t* out, const PoolParameters& p,
                          const ForwardAxis& rows, const ForwardAxis& columns) {
  for_each_pixel(p.input, p.output, rows, columns, input, out,
                 [&](const Taps& row, const Taps& column, const int8_t* plane, int8_t* to) {
                   const Window window(row, column, plane, p.input);
                   if (window.width > kShortSums || window.elements() > Average::kMaxElements) {
                     for (int32_t c = 0; c < p.output.channels; ++c) {
                       to[c] = scalar::window_average(window, c);
                     }
                     return;
                   }
                   const Average average(window.elements());
                   for (int32_t c = 0; c < p.output.channels; c += 8) {
                     const auto left = static_cast<uint32_t>(p.output.channels - c);
                     average_lanes(window, average, c, vctp16q(left), to + c);
                   }
                 });
}

}  // namespace mve
#endif

}  // namespace kernels
