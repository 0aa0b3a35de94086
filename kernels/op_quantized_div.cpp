// cortex_m::quantized_div: int8 or int16, equal shapes; computed in float32.

#include "binary_op.h"
#include "compute/divide.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

template <typename T>
void divide(const kernels::Check& check, const Tensor& self, int64_t self_zero_point,
            const Tensor& other, int64_t other_zero_point, int64_t output_zero_point, float factor,
            Tensor& out) {
  if (!check.fits<T>(self_zero_point, "self_zero_point") ||
      !check.fits<T>(other_zero_point, "other_zero_point") ||
      !check.fits<T>(output_zero_point, "output_zero_point")) {
    return;
  }
  const kernels::DivideParameters p{static_cast<int32_t>(self_zero_point),
                                    static_cast<int32_t>(other_zero_point),
                                    static_cast<int32_t>(output_zero_point), factor};
  kernels::for_each_run<T>(self, other, out, [&p](auto a, auto b, T* to, size_t count) {
    kernels::isa::divide(a, b, to, count, p);
  });
}

}  // namespace

// `output_scale` is the factor from a quotient of integers to the output, not the output's scale.
Tensor& quantized_div_out(KernelRuntimeContext& context, const Tensor& self,
                          int64_t self_zero_point, const Tensor& other, int64_t other_zero_point,
                          int64_t output_zero_point, double output_scale, Tensor& out) {
  const kernels::Check check(context, "quantized_div");
  const ScalarType type = self.scalar_type();
  const auto factor = static_cast<float>(output_scale);
  if (!check.that(type == ScalarType::Char || type == ScalarType::Short,
                  "self is neither int8 nor int16") ||
      !check.that(std::isfinite(factor), "output_scale is no finite float") ||
      !check.that(self.sizes() == other.sizes(), "shapes of self and other differ") ||
      !kernels::prepare_broadcast(check, self, other, type, out)) {
    return out;
  }
  if (type == ScalarType::Char) {
    divide<int8_t>(check, self, self_zero_point, other, other_zero_point, output_zero_point, factor,
                   out);
  } else {
    divide<int16_t>(check, self, self_zero_point, other, other_zero_point, output_zero_point,
                    factor, out);
  }
  return out;
}

}  // namespace cortex_m::native
