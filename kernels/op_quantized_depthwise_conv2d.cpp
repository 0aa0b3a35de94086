// cortex_m::quantized_depthwise_conv2d and quantized_depthwise_conv2d_nhwc: int8 convolution of
// every channel by itself, weights [1, height, width, outputs]. The kernel needs no scratch.

#include "compute/depthwise_conv2d_s8.h"
#include "convolution_op.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

bool check_channels(const kernels::Check& check, const Tensor& weight, int64_t depth_multiplier,
                    const kernels::ConvParameters& p) {
  return check.equal(weight.sizes()[0], "first dimension of weight", 1) &&
         check.range(depth_multiplier, "depth_multiplier", 1, kernels::kImageLimit) &&
         check.range(p.input.channels, "channels of input", 1, kernels::kImageLimit) &&
         check.equal(p.output.channels, "output channels of weight",
                     depth_multiplier * p.input.channels);
}

Tensor& depthwise_conv2d(const kernels::Check& check, const kernels::ConvOperands& operands,
                         const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                         const ArrayRef<int64_t>& dilation, int64_t depth_multiplier, Tensor& out) {
  kernels::ConvGeometry geometry;
  kernels::ConvParameters p;
  if (!kernels::read_geometry(check, stride, padding, dilation, geometry) ||
      !kernels::read_convolution(check, operands, 3, p) ||
      !check_channels(check, operands.weight, depth_multiplier, p)) {
    return out;
  }
  p.groups = p.input.channels;
  p.depth = 1;
  const kernels::ForwardAxes axes(p, geometry);
  if (!kernels::prepare_output(check, axes, operands.layout, p, out) || out.numel() == 0)
    return out;
  kernels::isa::depthwise_conv2d_s8(operands.input.const_data_ptr<int8_t>(),
                                    operands.weight.const_data_ptr<int8_t>(),
                                    out.mutable_data_ptr<int8_t>(), p, axes.rows, axes.columns);
  return out;
}

}  // namespace

Tensor& quantized_depthwise_conv2d_out(KernelRuntimeContext& context, const Tensor& input,
                                       const Tensor& weight, const std::optional<Tensor>& bias,
                                       const ArrayRef<int64_t>& stride,
                                       const ArrayRef<int64_t>& padding,
                                       const ArrayRef<int64_t>& dilation, int64_t depth_multiplier,
                                       int64_t input_offset, int64_t output_offset,
                                       const Tensor& requantize_multipliers,
                                       const Tensor& requantize_shifts, int64_t activation_min,
                                       int64_t activation_max, const Tensor&, Tensor& out) {
  return depthwise_conv2d(
      {context, "quantized_depthwise_conv2d"},
      {input, weight, bias, input_offset, output_offset, requantize_multipliers, requantize_shifts,
       activation_min, activation_max, kernels::Layout::kChannelsLast},
      stride, padding, dilation, depth_multiplier, out);
}

Tensor& quantized_depthwise_conv2d_nhwc_out(
    KernelRuntimeContext& context, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const ArrayRef<int64_t>& stride,
    const ArrayRef<int64_t>& padding, const ArrayRef<int64_t>& dilation, int64_t depth_multiplier,
    int64_t input_offset, int64_t output_offset, const Tensor& requantize_multipliers,
    const Tensor& requantize_shifts, int64_t activation_min, int64_t activation_max, const Tensor&,
    Tensor& out) {
  return depthwise_conv2d(
      {context, "quantized_depthwise_conv2d_nhwc"},
      {input, weight, bias, input_offset, output_offset, requantize_multipliers, requantize_shifts,
       activation_min, activation_max, kernels::Layout::kNhwc},
      stride, padding, dilation, depth_multiplier, out);
}

}  // namespace cortex_m::native
