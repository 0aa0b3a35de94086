// cortex_m::quantized_avg_pool2d and quantized_avg_pool2d_nhwc: mean of the elements of each window
// that lie inside of the image. Input and output share scale and zero point, so neither enters the
// computation; the kernel needs no scratch.

#include "pool_op.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

Tensor& avg_pool2d(const kernels::Check& check, const Tensor& input,
                   const ArrayRef<int64_t>& kernel_size, const ArrayRef<int64_t>& stride,
                   const ArrayRef<int64_t>& padding, bool ceil_mode, int64_t zero_point,
                   kernels::Layout layout, Tensor& out) {
  kernels::Pool pool;
  if (!check.fits<int8_t>(zero_point, "zero_point") ||
      !kernels::read_pool(check, input, kernel_size, stride, padding, layout, pool) ||
      !kernels::prepare_output(check, layout, ceil_mode, pool, out) || out.numel() == 0) {
    return out;
  }
  kernels::isa::avg_pool2d_s8(input.const_data_ptr<int8_t>(), out.mutable_data_ptr<int8_t>(),
                              pool.p, pool.rows, pool.columns);
  return out;
}

}  // namespace

Tensor& quantized_avg_pool2d_out(KernelRuntimeContext& context, const Tensor& input,
                                 const ArrayRef<int64_t>& kernel_size,
                                 const ArrayRef<int64_t>& stride, const ArrayRef<int64_t>& padding,
                                 bool ceil_mode, int64_t zero_point, int64_t, int64_t,
                                 const Tensor&, Tensor& out) {
  return avg_pool2d({context, "quantized_avg_pool2d"}, input, kernel_size, stride, padding,
                    ceil_mode, zero_point, kernels::Layout::kChannelsLast, out);
}

Tensor& quantized_avg_pool2d_nhwc_out(KernelRuntimeContext& context, const Tensor& input,
                                      const ArrayRef<int64_t>& kernel_size,
                                      const ArrayRef<int64_t>& stride,
                                      const ArrayRef<int64_t>& padding, bool ceil_mode,
                                      int64_t zero_point, int64_t, int64_t, const Tensor&,
                                      Tensor& out) {
  return avg_pool2d({context, "quantized_avg_pool2d_nhwc"}, input, kernel_size, stride, padding,
                    ceil_mode, zero_point, kernels::Layout::kNhwc, out);
}

}  // namespace cortex_m::native
