// cortex_m::quantized_transpose_conv2d and quantized_transpose_conv2d_nhwc: int8 transposed
// convolution with weights [outputs, height, width, inputs]. The kernel needs no scratch.

#include "compute/conv2d_s8.h"
#include "convolution_op.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

// Size of the result along one axis; not positive if the padding leaves nothing.
int64_t output_size(int32_t image, int32_t kernel, int32_t stride, int32_t padding,
                    int32_t dilation, int32_t output_padding) {
  return (int64_t{image} - 1) * stride - 2 * int64_t{padding} + int64_t{dilation} * (kernel - 1) +
         output_padding + 1;
}

bool prepare_output(const kernels::Check& check, const kernels::ConvGeometry& g,
                    const kernels::Pair& output_padding, kernels::Layout layout,
                    kernels::ConvParameters& p, Tensor& out) {
  const int64_t height = output_size(p.input.height, p.kernel_height, g.stride.height,
                                     g.padding.height, g.dilation.height, output_padding.height);
  const int64_t width = output_size(p.input.width, p.kernel_width, g.stride.width, g.padding.width,
                                    g.dilation.width, output_padding.width);
  if (!check.range(height, "height of the result", 1, kernels::kImageLimit) ||
      !check.range(width, "width of the result", 1, kernels::kImageLimit)) {
    return false;
  }
  p.output.height = static_cast<int32_t>(height);
  p.output.width = static_cast<int32_t>(width);
  return kernels::prepare_image(check, p.output, layout, out);
}

bool check_output_padding(const kernels::Check& check, const kernels::Pair& output_padding,
                          const kernels::ConvGeometry& g) {
  return check.range(output_padding.height, "output_padding", 0,
                     std::max(g.stride.height, g.dilation.height) - 1) &&
         check.range(output_padding.width, "output_padding", 0,
                     std::max(g.stride.width, g.dilation.width) - 1);
}

Tensor& transpose_conv2d(const kernels::Check& check, const kernels::ConvOperands& operands,
                         const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                         const ArrayRef<int64_t>& output_padding, const ArrayRef<int64_t>& dilation,
                         Tensor& out) {
  kernels::ConvGeometry g;
  kernels::Pair extra;
  kernels::ConvParameters p;
  if (!kernels::read_geometry(check, stride, padding, dilation, g) ||
      !kernels::read_pair(check, output_padding, "output_padding", 0, extra) ||
      !check_output_padding(check, extra, g) || !kernels::read_convolution(check, operands, 0, p) ||
      !check.equal(operands.weight.sizes()[3], "depth of weight", p.input.channels) ||
      !prepare_output(check, g, extra, operands.layout, p, out) || out.numel() == 0) {
    return out;
  }
  const kernels::TransposedAxis rows(p.input.height, p.kernel_height, g.stride.height,
                                     g.padding.height, g.dilation.height);
  const kernels::TransposedAxis columns(p.input.width, p.kernel_width, g.stride.width,
                                        g.padding.width, g.dilation.width);
  kernels::isa::conv2d_s8(operands.input.const_data_ptr<int8_t>(),
                          operands.weight.const_data_ptr<int8_t>(), out.mutable_data_ptr<int8_t>(),
                          p, rows, columns);
  return out;
}

}  // namespace

Tensor& quantized_transpose_conv2d_out(
    KernelRuntimeContext& context, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const ArrayRef<int64_t>& stride,
    const ArrayRef<int64_t>& padding, const ArrayRef<int64_t>& output_padding,
    const ArrayRef<int64_t>& dilation, int64_t input_offset, int64_t output_offset,
    const Tensor& requantize_multipliers, const Tensor& requantize_shifts, int64_t activation_min,
    int64_t activation_max, const Tensor&, const Tensor&, Tensor& out) {
  return transpose_conv2d(
      {context, "quantized_transpose_conv2d"},
      {input, weight, bias, input_offset, output_offset, requantize_multipliers, requantize_shifts,
       activation_min, activation_max, kernels::Layout::kChannelsLast},
      stride, padding, output_padding, dilation, out);
}

Tensor& quantized_transpose_conv2d_nhwc_out(
    KernelRuntimeContext& context, const Tensor& input, const Tensor& weight,
    const std::optional<Tensor>& bias, const ArrayRef<int64_t>& stride,
    const ArrayRef<int64_t>& padding, const ArrayRef<int64_t>& output_padding,
    const ArrayRef<int64_t>& dilation, int64_t input_offset, int64_t output_offset,
    const Tensor& requantize_multipliers, const Tensor& requantize_shifts, int64_t activation_min,
    int64_t activation_max, const Tensor&, const Tensor&, Tensor& out) {
  return transpose_conv2d(
      {context, "quantized_transpose_conv2d_nhwc"},
      {input, weight, bias, input_offset, output_offset, requantize_multipliers, requantize_shifts,
       activation_min, activation_max, kernels::Layout::kNhwc},
      stride, padding, output_padding, dilation, out);
}

}  // namespace cortex_m::native
