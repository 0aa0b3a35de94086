// cortex_m::quantized_mul: int8, equal shapes or channel broadcast.

#include "binary_op.h"
#include "compute/mul_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

Tensor& quantized_mul_out(KernelRuntimeContext& context, const Tensor& self,
                          int64_t self_zero_point, const Tensor& other, int64_t other_zero_point,
                          int64_t output_zero_point, int64_t output_multiplier,
                          int64_t output_shift, Tensor& out) {
  const kernels::Check check(context, "quantized_mul");
  // A hardswish that was taken apart has a zero point outside of int8; with 16 bits no product
  // overflows.
  if (!check.fits<int16_t>(self_zero_point, "self_zero_point") ||
      !check.fits<int16_t>(other_zero_point, "other_zero_point") ||
      !check.fits<int8_t>(output_zero_point, "output_zero_point") ||
      !check.rescale(output_multiplier, output_shift, "output_multiplier", "output_shift") ||
      !kernels::prepare_channel_broadcast(check, self, other, out)) {
    return out;
  }
  const kernels::MulParameters p{static_cast<int32_t>(self_zero_point),
                                 static_cast<int32_t>(other_zero_point),
                                 static_cast<int32_t>(output_zero_point),
                                 kernels::Rescale(static_cast<int32_t>(output_multiplier),
                                                  static_cast<int32_t>(output_shift))};
  kernels::for_each_run<int8_t>(self, other, out, [&p](auto a, auto b, int8_t* to, size_t count) {
    kernels::isa::binary_s8(a, b, to, count, kernels::isa::Mul{p});
  });
  return out;
}

}  // namespace cortex_m::native
