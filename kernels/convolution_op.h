// The checks that the convolution operators share.
#pragma once

#include <optional>

#include "image_op.h"

namespace kernels {

// The arguments that every convolution has.
struct ConvOperands {
  const Tensor& input;
  const Tensor& weight;
  const std::optional<Tensor>& bias;
  int64_t input_offset;
  int64_t output_offset;
  const Tensor& multipliers;
  const Tensor& shifts;
  int64_t activation_min;
  int64_t activation_max;
  Layout layout;
};

struct ConvGeometry {
  Pair stride;
  Pair padding;
  Pair dilation;
};

inline bool read_geometry(const Check& check, const ArrayRef<int64_t>& stride,
                          ArrayRef<int64_t> padding, const ArrayRef<int64_t>& dilation,
                          ConvGeometry& g) {
  return read_pair(check, stride, "stride", 1, g.stride) &&
         read_pair(check, padding, "padding", 0, g.padding) &&
         read_pair(check, dilation, "dilation", 1, g.dilation);
}

// int32 with one entry for each output channel.
inline bool is_per_channel(const Check& check, const Tensor& tensor, const char* name,
                           const char* length_name, int64_t channels) {
  return check.tensor(tensor, name, ScalarType::Int) &&
         check.equal(tensor.numel(), length_name, channels);
}

inline bool are_shifts(const Check& check, const Tensor& tensor) {
  const int32_t* shifts = tensor.const_data_ptr<int32_t>();
  for (ptrdiff_t i = 0; i < tensor.numel(); ++i) {
    if (!check.range(shifts[i], "requantize_shifts", -31, 31)) return false;
  }
  return true;
}

// Checks values, `input`, the type of `weight` and everything per output channel; `weight` has its
// output channels in dimension `channel_dim`. Fills in all of `p` that does not depend on the axes.
inline bool read_convolution(const Check& check, const ConvOperands& o, size_t channel_dim,
                             ConvParameters& p) {
  if (!check.range(o.input_offset, "input_offset", -INT8_MAX, -INT8_MIN) ||
      !check.fits<int8_t>(o.output_offset, "output_offset") ||
      !check.bounds<int8_t>(o.activation_min, o.activation_max, "activation_min",
                            "activation_max") ||
      !read_image(check, o.input, "input", o.layout, p.input) ||
      !check.tensor(o.weight, "weight", ScalarType::Char) ||
      !check.that(o.weight.sizes().size() == 4, "input, weight and out need four dimensions") ||
      !check.that(is_row_major(o.weight), "weight is not in plain dim order")) {
    return false;
  }
  const ArrayRef<SizesType> sizes = o.weight.sizes();
  const int64_t channels = sizes[channel_dim];
  if (!check.range(sizes[1], "height of weight", 1, kImageLimit) ||
      !check.range(sizes[2], "width of weight", 1, kImageLimit) ||
      !is_per_channel(check, o.multipliers, "requantize_multipliers",
                      "length of requantize_multipliers", channels) ||
      !is_per_channel(check, o.shifts, "requantize_shifts", "length of requantize_shifts",
                      channels) ||
      !are_shifts(check, o.shifts) ||
      (o.bias && !is_per_channel(check, *o.bias, "bias", "length of bias", channels))) {
    return false;
  }
  p.output.batches = p.input.batches;
  p.output.channels = static_cast<int32_t>(channels);
  p.kernel_height = sizes[1];
  p.kernel_width = sizes[2];
  p.groups = 1;
  p.depth = p.input.channels;
  p.bias = o.bias ? o.bias->const_data_ptr<int32_t>() : nullptr;
  p.multipliers = o.multipliers.const_data_ptr<int32_t>();
  p.shifts = o.shifts.const_data_ptr<int32_t>();
  p.input_offset = static_cast<int32_t>(o.input_offset);
  p.output_offset = static_cast<int32_t>(o.output_offset);
  p.min = static_cast<int32_t>(o.activation_min);
  p.max = static_cast<int32_t>(o.activation_max);
  return true;
}

struct ForwardAxes {
  ForwardAxes(const ConvParameters& p, const ConvGeometry& g)
      : rows{p.input.height, p.kernel_height, g.stride.height, g.padding.height, g.dilation.height},
        columns{p.input.width, p.kernel_width, g.stride.width, g.padding.width, g.dilation.width} {}

  ForwardAxis rows;
  ForwardAxis columns;
};

// The size of the result and room for it in `out`.
inline bool prepare_output(const Check& check, const ForwardAxes& axes, Layout layout,
                           ConvParameters& p, Tensor& out) {
  const int64_t height = output_size(axes.rows);
  const int64_t width = output_size(axes.columns);
  if (!check.that(height > 0 && width > 0, "the kernel is larger than the padded input") ||
      !check.range(std::max(height, width), "size of the result", 1, kImageLimit)) {
    return false;
  }
  p.output.height = static_cast<int32_t>(height);
  p.output.width = static_cast<int32_t>(width);
  return prepare_image(check, p.output, layout, out);
}

}  // namespace kernels
