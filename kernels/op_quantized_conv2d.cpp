// cortex_m::quantized_conv2d and quantized_conv2d_nhwc: int8 convolution with weights
// [outputs, height, width, inputs / groups]. The vector kernel is faster with scratch of the size
// that programs carry, and correct with any.

#include "compute/conv2d_columns_s8.h"
#include "convolution_op.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

// The groups follow from the depth of the weights.
bool read_groups(const kernels::Check& check, int64_t depth, kernels::ConvParameters& p) {
  if (!check.range(depth, "depth of weight", 1, p.input.channels) ||
      !check.equal(p.input.channels % depth, "input channels modulo depth of weight", 0)) {
    return false;
  }
  p.depth = static_cast<int32_t>(depth);
  p.groups = p.input.channels / p.depth;
  return check.equal(p.output.channels % p.groups, "output channels modulo groups", 0);
}

Tensor& conv2d(const kernels::Check& check, const kernels::ConvOperands& operands,
               const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
               const ArrayRef<int64_t>& dilation, const Tensor& scratch, Tensor& out) {
  kernels::ConvGeometry geometry;
  kernels::ConvParameters p;
  if (!kernels::read_geometry(check, stride, padding, dilation, geometry) ||
      !kernels::read_convolution(check, operands, 0, p) ||
      !read_groups(check, operands.weight.sizes()[3], p) ||
      !check.tensor(scratch, "scratch", ScalarType::Byte)) {
    return out;
  }
  const kernels::ForwardAxes axes(p, geometry);
  if (!kernels::prepare_output(check, axes, operands.layout, p, out) || out.numel() == 0)
    return out;
  kernels::isa::conv2d_s8(operands.input.const_data_ptr<int8_t>(),
                          operands.weight.const_data_ptr<int8_t>(), out.mutable_data_ptr<int8_t>(),
                          p, axes.rows, axes.columns,
                          {scratch.mutable_data_ptr(), static_cast<size_t>(scratch.numel())});
  return out;
}

}  // namespace

Tensor& quantized_conv2d_out(KernelRuntimeContext& context, const Tensor& input,
                             const Tensor& weight, const std::optional<Tensor>& bias,
                             const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                             const ArrayRef<int64_t>& dilation, int64_t input_offset,
                             int64_t output_offset, const Tensor& requantize_multipliers,
                             const Tensor& requantize_shifts, int64_t activation_min,
                             int64_t activation_max, const Tensor& scratch, Tensor& out) {
  return conv2d({context, "quantized_conv2d"},
                {input, weight, bias, input_offset, output_offset, requantize_multipliers,
                 requantize_shifts, activation_min, activation_max, kernels::Layout::kChannelsLast},
                stride, padding, dilation, scratch, out);
}

Tensor& quantized_conv2d_nhwc_out(KernelRuntimeContext& context, const Tensor& input,
                                  const Tensor& weight, const std::optional<Tensor>& bias,
                                  const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                                  const ArrayRef<int64_t>& dilation, int64_t input_offset,
                                  int64_t output_offset, const Tensor& requantize_multipliers,
                                  const Tensor& requantize_shifts, int64_t activation_min,
                                  int64_t activation_max, const Tensor& scratch, Tensor& out) {
  return conv2d({context, "quantized_conv2d_nhwc"},
                {input, weight, bias, input_offset, output_offset, requantize_multipliers,
                 requantize_shifts, activation_min, activation_max, kernels::Layout::kNhwc},
                stride, padding, dilation, scratch, out);
}

}  // namespace cortex_m::native
