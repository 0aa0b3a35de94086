// cortex_m::quantized_add: int8, equal shapes or channel broadcast. A negative multiplier of an
// operand makes it a subtraction.

#include "binary_op.h"
#include "compute/add_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

Tensor& quantized_add_out(KernelRuntimeContext& context, const Tensor& self,
                          int64_t self_zero_point, int64_t self_multiplier, int64_t self_shift,
                          const Tensor& other, int64_t other_zero_point, int64_t other_multiplier,
                          int64_t other_shift, int64_t output_zero_point, int64_t output_multiplier,
                          int64_t output_shift, int64_t activation_min, int64_t activation_max,
                          Tensor& out) {
  const kernels::Check check(context, "quantized_add");
  if (!check.fits<int8_t>(self_zero_point, "self_zero_point") ||
      !check.fits<int8_t>(other_zero_point, "other_zero_point") ||
      !check.fits<int8_t>(output_zero_point, "output_zero_point") ||
      !check.rescale(self_multiplier, self_shift, "self_multiplier", "self_shift") ||
      !check.rescale(other_multiplier, other_shift, "other_multiplier", "other_shift") ||
      !check.rescale(output_multiplier, output_shift, "output_multiplier", "output_shift") ||
      !check.bounds<int8_t>(activation_min, activation_max, "activation_min", "activation_max") ||
      !kernels::prepare_channel_broadcast(check, self, other, out)) {
    return out;
  }
  const kernels::AddParameters p{
      static_cast<int32_t>(self_zero_point),
      kernels::Rescale(static_cast<int32_t>(self_multiplier), static_cast<int32_t>(self_shift)),
      static_cast<int32_t>(other_zero_point),
      kernels::Rescale(static_cast<int32_t>(other_multiplier), static_cast<int32_t>(other_shift)),
      static_cast<int32_t>(output_zero_point),
      kernels::Rescale(static_cast<int32_t>(output_multiplier), static_cast<int32_t>(output_shift)),
      static_cast<int32_t>(activation_min),
      static_cast<int32_t>(activation_max)};
  kernels::for_each_run<int8_t>(self, other, out, [&p](auto a, auto b, int8_t* to, size_t count) {
    kernels::isa::binary_s8(a, b, to, count, kernels::isa::Add{p});
  });
  return out;
}

}  // namespace cortex_m::native
