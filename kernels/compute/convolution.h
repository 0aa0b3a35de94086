// What the convolutions share: parameters, and the walk over output pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/taps.h"
#include "requantize.h"

namespace kernels {

// Sizes of tensors stored as [batches][height][width][channels].
struct Image {
  int32_t batches;
  int32_t height;
  int32_t width;
  int32_t channels;

  size_t row() const { return static_cast<size_t>(width) * static_cast<size_t>(channels); }
  size_t plane() const { return static_cast<size_t>(height) * row(); }
};

struct ConvParameters {
  Image input;
  Image output;
  int32_t kernel_height;
  int32_t kernel_width;
  int32_t groups;
  int32_t depth;        // input channels that one output channel reads
  const int32_t* bias;  // per output channel, or null
  const int32_t* multipliers;
  const int32_t* shifts;
  int32_t input_offset;
  int32_t output_offset;
  int32_t min;
  int32_t max;

  // Weights of one output channel.
  int32_t kernel_size() const { return kernel_height * kernel_width * depth; }
};

// Adjacent outputs in one row: distances in bytes from one to the next, in image and output.
struct Steps {
  ptrdiff_t in;
  ptrdiff_t out;
};

// Calls `body(row taps, span of the row, input plane, first output, steps)` for all outputs.
template <typename Axis, typename Body>
void for_each_span(const Image& input, const Image& output, const Axis& rows, const Axis& columns,
                   const int8_t* in, int8_t* out, const Body& body) {
  const int32_t period = columns.period();
  const Steps steps{ptrdiff_t{columns.advance()} * input.channels,
                    ptrdiff_t{period} * output.channels};
  for (int32_t b = 0; b < output.batches; ++b, in += input.plane()) {
    for (int32_t y = 0; y < output.height; ++y, out += output.row()) {
      const Taps row = rows.taps(y);
      for (int32_t phase = 0; phase < std::min(period, output.width); ++phase) {
        for (int32_t x = phase; x < output.width;) {
          const Stretch span = span_from(columns, x, (output.width - 1 - x) / period + 1);
          body(row, span, in, out + ptrdiff_t{x} * output.channels, steps);
          x += span.outputs * period;
        }
      }
    }
  }
}

// Calls `body(row taps, column taps, input plane, output)` for every output.
template <typename Axis, typename Body>
void for_each_pixel(const Image& input, const Image& output, const Axis& rows, const Axis& columns,
                    const int8_t* in, int8_t* out, const Body& body) {
  for_each_span(
      input, output, rows, columns, in, out,
      [&](const Taps& row, Stretch span, const int8_t* plane, int8_t* to, const Steps& steps) {
        for (; span.outputs > 0; --span.outputs, to += steps.out) {
          body(row, span.taps, plane, to);
          span.taps.at += columns.advance();
        }
      });
}

namespace scalar {

inline int8_t requantize_channel(int32_t acc, int32_t channel, const ConvParameters& p) {
  const Rescale by(p.multipliers[channel], p.shifts[channel]);
  return to_s8(requantize(acc, by), p.output_offset, p.min, p.max);
}

}  // namespace scalar
}  // namespace kernels
