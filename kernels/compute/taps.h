// Which positions of a kernel and of an image meet, along one axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace kernels {

// Kernel position k + i * k_step meets image position at + i * at_step, for i < count.
struct Taps {
  int32_t k;
  int32_t k_step;
  int32_t at;
  int32_t at_step;
  int32_t count;

  // One run in kernel and image.
  bool adjacent() const { return k_step == 1 && at_step == 1; }
  bool same_kernel_positions(const Taps& other) const {
    return k == other.k && count == other.count && k_step == other.k_step;
  }
};

// Output position o reads image positions o * stride - padding + k * dilation.
struct ForwardAxis {
  int32_t image;
  int32_t kernel;
  int32_t stride;
  int32_t padding;
  int32_t dilation;

  // Outputs this far apart meet the same kernel positions, except near the borders, at image
  // positions that lie `advance` apart.
  int32_t period() const { return 1; }
  int32_t advance() const { return stride; }

  // True unless a border cuts positions off.
  bool complete(const Taps& taps) const { return taps.count == kernel; }

  Taps taps(int32_t o) const {
    const int32_t at = o * stride - padding;
    const int32_t skipped = at < 0 ? (dilation - 1 - at) / dilation : 0;
    int32_t end = kernel;
    if (at + (kernel - 1) * dilation >= image) {
      end = at < image ? (image - 1 - at) / dilation + 1 : 0;
    }
    return {skipped, 1, at + skipped * dilation, dilation, std::max<int32_t>(end - skipped, 0)};
  }
};

// Image position i reaches output positions i * stride - padding + k * dilation.
class TransposedAxis {
 public:
  TransposedAxis(int32_t image, int32_t kernel, int32_t stride, int32_t padding, int32_t dilation)
      : image(image), kernel(kernel), stride_(stride), padding_(padding), dilation_(dilation) {
    const int32_t common = std::gcd(stride, dilation);
    k_step_ = stride / common;
    at_step_ = dilation / common;
  }

  int32_t period() const { return stride_; }
  int32_t advance() const { return 1; }

  bool complete(const Taps& taps) const {
    return taps.count > 0 && taps.k < k_step_ && taps.k + taps.count * k_step_ >= kernel;
  }

  Taps taps(int32_t o) const {
    const int32_t target = o + padding_;
    for (int32_t k = 0; k < std::min(k_step_, kernel); ++k) {
      const int32_t distance = target - k * dilation_;
      if (distance % stride_ == 0) return clip(k, distance / stride_);
    }
    return {0, k_step_, 0, -at_step_, 0};
  }

  const int32_t image;
  const int32_t kernel;

 private:
  // From kernel position `k` at image position `at` on, which falls: the part inside of the image.
  Taps clip(int32_t k, int32_t at) const {
    const int32_t skipped = at < image ? 0 : (at - image) / at_step_ + 1;
    const int32_t first = k + skipped * k_step_;
    const int32_t begin = at - skipped * at_step_;
    if (first >= kernel || begin < 0) return {0, k_step_, 0, -at_step_, 0};
    const int32_t count = std::min((kernel - 1 - first) / k_step_, begin / at_step_) + 1;
    return {first, k_step_, begin, -at_step_, count};
  }

  int32_t stride_;
  int32_t padding_;
  int32_t dilation_;
  int32_t k_step_;
  int32_t at_step_;
};

// Outputs `axis.period()` apart that meet the same kernel positions; `taps` is that of the first.
struct Stretch {
  Taps taps;
  int32_t outputs;
};

// The span from output `o` on, of at most `left` outputs.
template <typename Axis>
Stretch span_from(const Axis& axis, int32_t o, int32_t left) {
  const Taps taps = axis.taps(o);
  if (!axis.complete(taps)) return {taps, 1};
  const int32_t last = std::max(taps.at, taps.at + (taps.count - 1) * taps.at_step);
  return {taps, std::min((axis.image - 1 - last) / axis.advance() + 1, left)};
}

}  // namespace kernels
