// Permutation of the axes of an int8 tensor, as nested loops over both tensors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/copy_s8.h"

namespace kernels {

// One loop: both steps count elements.
struct TransposeAxis {
  size_t size;
  size_t step_from;
  size_t step_to;
};

template <size_t kMaxAxes>
struct TransposeLoops {
  // Adds an inner loop, or merges it with the loop around it where both sides walk on without gap.
  void append(const TransposeAxis& axis) {
    if (axis.size == 1) return;
    if (depth > 0 && axes[depth - 1].step_from == axis.size * axis.step_from &&
        axes[depth - 1].step_to == axis.size * axis.step_to) {
      axes[depth - 1] = {axes[depth - 1].size * axis.size, axis.step_from, axis.step_to};
    } else {
      axes[depth++] = axis;
    }
  }

  // Makes the longest axis that is contiguous on a side the innermost one.
  void finish() {
    if (depth == 0) axes[depth++] = {1, 1, 1};
    size_t best = depth - 1;
    for (size_t i = 0; i < depth; ++i) {
      const bool contiguous = axes[i].step_from == 1 || axes[i].step_to == 1;
      if (contiguous && axes[i].size > axes[best].size) best = i;
    }
    const TransposeAxis inner = axes[best];
    for (size_t i = best; i + 1 < depth; ++i) axes[i] = axes[i + 1];
    axes[depth - 1] = inner;
  }

  // Calls `body(offset_from, offset_to)` for every run of the innermost axis; no axis is empty.
  template <typename Body>
  void for_each_run(const Body& body) const {
    size_t index[kMaxAxes] = {};
    size_t from = 0;
    size_t to = 0;
    for (;;) {
      body(from, to);
      size_t level = depth - 1;
      for (;; index[level] = 0) {
        if (level-- == 0) return;
        const TransposeAxis& axis = axes[level];
        from += axis.step_from;
        to += axis.step_to;
        if (++index[level] < axis.size) break;
        from -= axis.size * axis.step_from;
        to -= axis.size * axis.step_to;
      }
    }
  }

  TransposeAxis axes[kMaxAxes] = {};
  size_t depth = 0;
};

namespace scalar {

template <size_t kMaxAxes>
void transpose_s8(const int8_t* in, int8_t* out, const TransposeLoops<kMaxAxes>& loops) {
  const TransposeAxis inner = loops.axes[loops.depth - 1];
  loops.for_each_run([&](size_t from, size_t to) {
    copy_s8(in + from, inner.step_from, out + to, inner.step_to, inner.size);
  });
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

template <size_t kMaxAxes>
void transpose_s8(const int8_t* in, int8_t* out, const TransposeLoops<kMaxAxes>& loops) {
  const TransposeAxis inner = loops.axes[loops.depth - 1];
  loops.for_each_run([&](size_t from, size_t to) {
    copy_s8(in + from, inner.step_from, out + to, inner.step_to, inner.size);
  });
}

}  // namespace mve
#endif

}  // namespace kernels
