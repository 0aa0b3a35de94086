// Convolutions and pools: `count` is the number of channels of the output, everything else is
// drawn.

#include "compute/conv2d_columns_s8.h"
#include "compute/depthwise_conv2d_s8.h"
#include "compute/pool2d_s8.h"
#include "selftest.h"

using namespace kernels;
using selftest::kMaxCount;
using selftest::rng;

namespace {

constexpr int32_t kMaxSide = 7;
constexpr int32_t kMaxDepth = 35;
constexpr int32_t kMaxKernel = 3;
constexpr size_t kInput = 2 * kMaxSide * kMaxSide * kMaxCount;
constexpr size_t kWeights = kMaxKernel * kMaxKernel * kMaxDepth * kMaxCount;
constexpr size_t kOutput = 12 * 12 * kMaxCount;

alignas(4) int8_t input[kInput];
alignas(4) int8_t weights[kWeights];
int32_t bias[kMaxCount];
int32_t multipliers[kMaxCount];
int32_t shifts[kMaxCount];

// Draws four bytes at a time.
void fill(int8_t* to, size_t count) {
  for (size_t i = 0; i < count; i += sizeof(uint32_t)) {
    const uint32_t word = rng.next();
    std::memcpy(to + i, &word, sizeof(word));
  }
}

void draw_operands() {
  fill(input, kInput);
  fill(weights, kWeights);
  for (size_t i = 0; i < kMaxCount; ++i) {
    const Rescale by = rng.rescale();
    bias[i] = rng.next() % 16 == 0 ? INT32_MAX : rng.between(-50000, 50000);
    multipliers[i] = by.multiplier;
    shifts[i] = by.left - by.right;
  }
}

ForwardAxis draw_axis(int32_t kernel) {
  return {rng.between(1, kMaxSide), kernel, rng.between(1, 3), rng.between(0, kernel),
          rng.between(1, 2)};
}

int32_t outputs(const ForwardAxis& axis) {
  const int32_t room = axis.image + 2 * axis.padding - axis.dilation * (axis.kernel - 1) - 1;
  return room < 0 ? 0 : room / axis.stride + 1;
}

// Everything but the axes.
ConvParameters draw_parameters(int32_t channels, int32_t groups, int32_t count) {
  const int32_t low = rng.between(INT8_MIN, INT8_MAX);
  ConvParameters p{};
  p.input.batches = p.output.batches = rng.between(1, 2);
  p.input.channels = channels;
  p.output.channels = count;
  p.groups = groups;
  p.depth = channels / groups;
  p.bias = rng.next() % 4 == 0 ? nullptr : bias;
  p.multipliers = multipliers;
  p.shifts = shifts;
  p.input_offset = rng.next() % 4 == 0 ? 0 : -rng.zero_point();
  p.output_offset = rng.zero_point();
  p.min = low;
  p.max = rng.between(low, INT8_MAX);
  return p;
}

// Sets the sides of the images.
void place(const ForwardAxis& rows, const ForwardAxis& columns, int32_t height, int32_t width,
           Image& in, Image& out) {
  in.height = rows.image;
  in.width = columns.image;
  out.height = height;
  out.width = width;
  if (static_cast<size_t>(out.batches) * out.plane() > kOutput) out.batches = in.batches = 1;
}

bool test_conv2d(size_t count) {
  draw_operands();
  const int32_t groups = count % 3 == 0 && rng.next() % 2 == 0 ? 3 : 1;
  const int32_t depth = rng.between(1, kMaxDepth / groups);
  ConvParameters p = draw_parameters(groups * depth, groups, static_cast<int32_t>(count));
  p.kernel_height = rng.between(1, kMaxKernel);
  p.kernel_width = rng.between(1, kMaxKernel);
  const ForwardAxis rows = draw_axis(p.kernel_height), columns = draw_axis(p.kernel_width);
  place(rows, columns, outputs(rows), outputs(columns), p.input, p.output);
  // None, too little, misaligned, or as much as programs carry.
  alignas(4) static uint8_t memory[4 * kMaxKernel * kMaxKernel * kMaxDepth + 4 * kMaxCount];
  const size_t size = rng.next() % 2 == 0 ? rng.next() % sizeof(memory) : sizeof(memory) - 1;
  const Scratch scratch{memory + (rng.next() % 8 == 0 ? 1 : 0), size};
  return selftest::same<int8_t, kOutput>([&](int8_t* out, bool vectors) {
    vectors ? mve::conv2d_s8(input, weights, out, p, rows, columns, scratch)
            : scalar::conv2d_s8(input, weights, out, p, rows, columns, scratch);
  });
}

bool test_transpose_conv2d(size_t count) {
  draw_operands();
  ConvParameters p = draw_parameters(rng.between(1, kMaxDepth), 1, static_cast<int32_t>(count));
  p.kernel_height = rng.between(1, kMaxKernel);
  p.kernel_width = rng.between(1, kMaxKernel);
  const ForwardAxis y{rng.between(1, 3), p.kernel_height, rng.between(1, 3), rng.between(0, 1),
                      rng.between(1, 2)};
  const ForwardAxis x{rng.between(1, 3), p.kernel_width, rng.between(1, 3), rng.between(0, 1),
                      rng.between(1, 2)};
  const TransposedAxis rows(y.image, y.kernel, y.stride, y.padding, y.dilation);
  const TransposedAxis columns(x.image, x.kernel, x.stride, x.padding, x.dilation);
  // Also smaller and larger ones than the operator makes: every size is well defined.
  place(y, x, rng.between(1, 6), rng.between(1, 8), p.input, p.output);
  return selftest::same<int8_t, kOutput>([&](int8_t* out, bool vectors) {
    vectors ? mve::conv2d_s8(input, weights, out, p, rows, columns)
            : scalar::conv2d_s8(input, weights, out, p, rows, columns);
  });
}

bool test_depthwise_conv2d(size_t count) {
  draw_operands();
  int32_t multiplier = rng.next() % 2 == 0 ? 1 : rng.between(2, 20);
  if (count == 0 || count % static_cast<size_t>(multiplier) != 0) multiplier = 1;
  if (count > 0 && rng.next() % 8 == 0) multiplier = static_cast<int32_t>(count);
  const int32_t channels = std::max<int32_t>(static_cast<int32_t>(count) / multiplier, 1);
  ConvParameters p = draw_parameters(channels, channels, static_cast<int32_t>(count));
  p.kernel_height = rng.between(1, kMaxKernel);
  p.kernel_width = rng.between(1, kMaxKernel);
  const ForwardAxis rows = draw_axis(p.kernel_height), columns = draw_axis(p.kernel_width);
  place(rows, columns, outputs(rows), outputs(columns), p.input, p.output);
  return selftest::same<int8_t, kOutput>([&](int8_t* out, bool vectors) {
    vectors ? mve::depthwise_conv2d_s8(input, weights, out, p, rows, columns)
            : scalar::depthwise_conv2d_s8(input, weights, out, p, rows, columns);
  });
}

// Windows of at most 7 x 7, or flat ones that fill 16 bits and more of sums.
bool test_pool(size_t count, bool average) {
  PoolParameters p;
  const bool flat = average && rng.next() % 4 == 0;
  const int32_t high = flat ? rng.between(1, 4) : rng.between(1, kMaxSide);
  const int32_t wide = flat ? rng.between(100, 600) : rng.between(1, kMaxSide);
  const auto channels = static_cast<int32_t>(flat ? count % 17 : count);
  p.input.batches = p.output.batches = flat ? 1 : rng.between(1, 2);
  p.input.channels = p.output.channels = channels;
  p.min = rng.between(INT8_MIN, INT8_MAX);
  p.max = rng.between(p.min, INT8_MAX);
  alignas(4) static int8_t pixels[600 * 4 * 17];
  static_assert(sizeof(pixels) >= kInput);
  fill(pixels, sizeof(pixels));
  // Equal values reach the bounds of 16-bit sums.
  if (flat && rng.next() % 2 == 0)
    std::memset(pixels, rng.next() % 2 == 0 ? 0x80 : 0x7F, sizeof(pixels));
  const auto axis = [](int32_t side) {
    const int32_t kernel = rng.between(std::max<int32_t>(side - 3, 1), side);
    return ForwardAxis{side, kernel, rng.between(1, 3),
                       rng.between(0, std::min<int32_t>(kernel / 2, 2)), 1};
  };
  const ForwardAxis rows = axis(high), columns = axis(wide);
  place(rows, columns, outputs(rows), outputs(columns), p.input, p.output);
  return selftest::same<int8_t, kOutput>([&](int8_t* out, bool vectors) {
    if (average) {
      vectors ? mve::avg_pool2d_s8(pixels, out, p, rows, columns)
              : scalar::avg_pool2d_s8(pixels, out, p, rows, columns);
    } else {
      vectors ? mve::max_pool2d_s8(pixels, out, p, rows, columns)
              : scalar::max_pool2d_s8(pixels, out, p, rows, columns);
    }
  });
}

}  // namespace

void report_images() {
  selftest::report("conv2d", test_conv2d);
  selftest::report("transpose_conv2d", test_transpose_conv2d);
  selftest::report("depthwise_conv2d", test_depthwise_conv2d);
  selftest::report("avg_pool2d", [](size_t count) { return test_pool(count, true); });
  selftest::report("max_pool2d", [](size_t count) { return test_pool(count, false); });
}
