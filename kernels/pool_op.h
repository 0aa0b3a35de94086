// The checks that the pooling operators share.
#pragma once

#include "compute/pool2d_s8.h"
#include "image_op.h"

namespace kernels {

struct Pool {
  PoolParameters p;
  ForwardAxis rows;
  ForwardAxis columns;
};

// Padding of at most half of the kernel leaves an element of the image in every window.
inline bool read_pool(const Check& check, const Tensor& input, const ArrayRef<int64_t>& kernel_size,
                      const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                      Layout layout, Pool& pool) {
  constexpr int64_t kMaxElements = 1 << 23;  // keeps sums within 32 bits
  Pair kernel;
  Pair step;
  Pair border;
  if (!read_pair(check, kernel_size, "kernel_size", 1, kernel) ||
      !read_pair(check, stride, "stride", 1, step) ||
      !read_pair(check, padding, "padding", 0, border) ||
      !check.range(border.height, "padding", 0, kernel.height / 2) ||
      !check.range(border.width, "padding", 0, kernel.width / 2) ||
      !check.range(int64_t{kernel.height} * kernel.width, "elements of a window", 1,
                   kMaxElements) ||
      !read_image(check, input, "input", layout, pool.p.input)) {
    return false;
  }
  const Image& image = pool.p.input;
  pool.rows = {image.height, kernel.height, step.height, border.height, 1};
  pool.columns = {image.width, kernel.width, step.width, border.width, 1};
  return true;
}

inline bool prepare_output(const Check& check, Layout layout, bool ceil_mode, Pool& pool,
                           Tensor& out) {
  const int64_t height = output_size(pool.rows, ceil_mode);
  const int64_t width = output_size(pool.columns, ceil_mode);
  if (!check.that(pool.rows.image > 0 && pool.columns.image > 0, "input has no pixels") ||
      !check.that(height > 0 && width > 0, "the window is larger than the padded input") ||
      !check.range(std::max(height, width), "size of the result", 1, kImageLimit)) {
    return false;
  }
  const Image& image = pool.p.input;
  pool.p.output = {image.batches, static_cast<int32_t>(height), static_cast<int32_t>(width),
                   image.channels};
  return prepare_image(check, pool.p.output, layout, out);
}

}  // namespace kernels
