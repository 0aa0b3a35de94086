// cortex_m::quantized_max_pool2d and quantized_max_pool2d_nhwc: maximum of each window, then clamp.
// Padding never wins. Dilation and ceil mode are not part of the operator.

#include "pool_op.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

struct MaxPoolOperands {
  const Tensor& input;
  ArrayRef<int64_t> kernel_size;
  ArrayRef<int64_t> stride;
  ArrayRef<int64_t> padding;
  ArrayRef<int64_t> dilation;
  bool ceil_mode;
  int64_t input_zero_point;
  int64_t output_zero_point;
  int64_t activation_min;
  int64_t activation_max;
  kernels::Layout layout;
};

bool check_values(const kernels::Check& check, const MaxPoolOperands& o) {
  kernels::Pair dilation;
  return kernels::read_pair(check, o.dilation, "dilation", 1, dilation) &&
         check.that(dilation.height == 1 && dilation.width == 1, "dilation is not 1") &&
         check.that(!o.ceil_mode, "ceil_mode is not supported") &&
         check.fits<int8_t>(o.input_zero_point, "input_zero_point") &&
         check.equal(o.output_zero_point, "output_zero_point", o.input_zero_point) &&
         check.bounds<int8_t>(o.activation_min, o.activation_max, "activation_min",
                              "activation_max");
}

Tensor& max_pool2d(const kernels::Check& check, const MaxPoolOperands& o, Tensor& out) {
  kernels::Pool pool;
  if (!check_values(check, o) ||
      !kernels::read_pool(check, o.input, o.kernel_size, o.stride, o.padding, o.layout, pool) ||
      !kernels::prepare_output(check, o.layout, false, pool, out) || out.numel() == 0) {
    return out;
  }
  pool.p.min = static_cast<int32_t>(o.activation_min);
  pool.p.max = static_cast<int32_t>(o.activation_max);
  kernels::isa::max_pool2d_s8(o.input.const_data_ptr<int8_t>(), out.mutable_data_ptr<int8_t>(),
                              pool.p, pool.rows, pool.columns);
  return out;
}

}  // namespace

Tensor& quantized_max_pool2d_out(KernelRuntimeContext& context, const Tensor& input,
                                 const ArrayRef<int64_t>& kernel_size,
                                 const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                                 const ArrayRef<int64_t>& dilation, bool ceil_mode,
                                 int64_t input_zero_point, int64_t output_zero_point,
                                 int64_t activation_min, int64_t activation_max, Tensor& out) {
  return max_pool2d(
      {context, "quantized_max_pool2d"},
      {input, kernel_size, stride, padding, dilation, ceil_mode, input_zero_point,
       output_zero_point, activation_min, activation_max, kernels::Layout::kChannelsLast},
      out);
}

Tensor& quantized_max_pool2d_nhwc_out(KernelRuntimeContext& context, const Tensor& input,
                                      const ArrayRef<int64_t>& kernel_size,
                                      const ArrayRef<int64_t>& stride,
                                      const ArrayRef<int64_t>& padding,
                                      const ArrayRef<int64_t>& dilation, bool ceil_mode,
                                      int64_t input_zero_point, int64_t output_zero_point,
                                      int64_t activation_min, int64_t activation_max, Tensor& out) {
  return max_pool2d({context, "quantized_max_pool2d_nhwc"},
                    {input, kernel_size, stride, padding, dilation, ceil_mode, input_zero_point,
                     output_zero_point, activation_min, activation_max, kernels::Layout::kNhwc},
                    out);
}

}  // namespace cortex_m::native
