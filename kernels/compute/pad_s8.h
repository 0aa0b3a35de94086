// Constant padding of a four-dimensional int8 tensor: one pass over the output, in which the
// padding behind a row and in front of the next is one fill.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/copy_s8.h"

namespace kernels {

constexpr size_t kPadRank = 4;

// Elements of an axis, and those to put in front of and behind them.
struct PadAxis {
  size_t total() const { return before + size + after; }

  size_t size;
  size_t before;
  size_t after;
};

// Axes in storage order, the innermost last.
struct PadParameters {
  PadAxis axes[kPadRank];
  int8_t value;
};

// Calls `fill(count)` and `copy(count)` in the order of the output.
template <typename Fill, typename Copy>
void for_each_pad_run(const PadParameters& p, const Fill& fill, const Copy& copy) {
  const PadAxis(&axes)[kPadRank] = p.axes;
  const size_t row = axes[3].total();
  const size_t plane = axes[2].total() * row;
  const size_t volume = axes[1].total() * plane;
  size_t padding = axes[0].before * volume;
  for (size_t i = 0; i < axes[0].size; ++i) {
    padding += axes[1].before * plane;
    for (size_t j = 0; j < axes[1].size; ++j) {
      padding += axes[2].before * row;
      for (size_t k = 0; k < axes[2].size; ++k) {
        fill(padding + axes[3].before);
        copy(axes[3].size);
        padding = axes[3].after;
      }
      padding += axes[2].after * row;
    }
    padding += axes[1].after * plane;
  }
  fill(padding + axes[0].after * volume);
}

namespace scalar {

inline void pad_s8(const int8_t* in, int8_t* out, const PadParameters& p) {
  for_each_pad_run(
      p, [&](size_t count) { fill_s8(out, p.value, count), out += count; },
      [&](size_t count) { copy_s8(in, 1, out, 1, count), in += count, out += count; });
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline void pad_s8(const int8_t* in, int8_t* out, const PadParameters& p) {
  for_each_pad_run(
      p, [&](size_t count) { fill_s8(out, p.value, count), out += count; },
      [&](size_t count) { copy_contiguous_s8(in, out, count), in += count, out += count; });
}

}  // namespace mve
#endif

}  // namespace kernels
