// Checks that the operators on images share: layout, pairs of parameters, size of the result.
#pragma once

#include "checks.h"
#include "compute/convolution.h"
#include "windows.h"

namespace kernels {

// Images are stored [batches][height][width][channels]. Programs write that as logical NCHW with a
// channels-last dim order, the `_nhwc` operators as logical NHWC in plain order.
enum class Layout { kChannelsLast, kNhwc };

constexpr int64_t kImageLimit = 1 << 30;  // of all extents: keeps positions within 32 bits

inline size_t image_dim(Layout layout, size_t stored) {
  constexpr size_t kNchw[] = {0, 2, 3, 1};
  return layout == Layout::kNhwc ? stored : kNchw[stored];
}

// True if the dimensions longer than 1 are stored in the order of `layout`.
inline bool is_stored_as(const Tensor& tensor, Layout layout) {
  size_t last = 0;
  for (size_t i = 0; i < 4; ++i) {
    size_t place = 0;
    while (place < 3 && image_dim(layout, place) != storage_dim(tensor, i)) ++place;
    if (tensor.sizes()[storage_dim(tensor, i)] == 1) continue;
    if (place < last) return false;
    last = place;
  }
  return true;
}

// An int8 tensor of four dimensions in `layout`.
inline bool read_image(const Check& check, const Tensor& tensor, const char* name, Layout layout,
                       Image& image) {
  if (!check.tensor(tensor, name, ScalarType::Char) ||
      !check.that(tensor.sizes().size() == 4, "input, weight and out need four dimensions") ||
      !check.that(is_stored_as(tensor, layout), layout == Layout::kNhwc
                                                    ? "input or out is not in plain dim order"
                                                    : "input or out is not channels-last")) {
    return false;
  }
  const auto size = [&](size_t i) {
    return static_cast<int32_t>(tensor.sizes()[image_dim(layout, i)]);
  };
  image = {size(0), size(1), size(2), size(3)};
  return check.range(image.height, "height of input", 0, kImageLimit) &&
         check.range(image.width, "width of input", 0, kImageLimit);
}

// Gives `out` the sizes of `image`, and checks that it can take the result.
inline bool prepare_image(const Check& check, const Image& image, Layout layout, Tensor& out) {
  const int32_t stored[4] = {image.batches, image.height, image.width, image.channels};
  SizesType sizes[4];
  for (size_t i = 0; i < 4; ++i) sizes[image_dim(layout, i)] = stored[i];
  Image made;
  return check.resize(out, {sizes, 4}) && read_image(check, out, "out", layout, made);
}

// Height and width of a parameter.
struct Pair {
  int32_t height;
  int32_t width;
};

inline bool read_pair(const Check& check, const ArrayRef<int64_t>& list, const char* name,
                      int64_t low, Pair& pair) {
  constexpr int64_t kLimit = 1 << 20;
  if (!check.equal(static_cast<int64_t>(list.size()), name, 2)) return false;
  if (!check.range(list[0], name, low, kLimit) || !check.range(list[1], name, low, kLimit)) {
    return false;
  }
  pair = {static_cast<int32_t>(list[0]), static_cast<int32_t>(list[1])};
  return true;
}

// The number of windows of `axis`; 0 if none fits.
inline int64_t output_size(const ForwardAxis& axis, bool ceil_mode = false) {
  const int64_t reach = int64_t{axis.dilation} * (axis.kernel - 1) + 1;
  return window_count(axis.image, reach, axis.stride, axis.padding, ceil_mode);
}

}  // namespace kernels
