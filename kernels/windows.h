// How many windows of a pool or a convolution lie over one axis of an image.
#pragma once

#include <cstdint>

namespace kernels {

// `reach` is the extent of a window, dilation included; 0 if not even one fits. As torch counts
// them.
inline int64_t window_count(int64_t size, int64_t reach, int64_t stride, int64_t padding,
                            bool ceil_mode) {
  const int64_t room = size + 2 * padding - reach + (ceil_mode ? stride - 1 : 0);
  if (room < 0) return 0;
  const int64_t count = room / stride + 1;
  // The last window must begin inside of the image or of the padding before it.
  return ceil_mode && (count - 1) * stride >= size + padding ? count - 1 : count;
}

}  // namespace kernels
