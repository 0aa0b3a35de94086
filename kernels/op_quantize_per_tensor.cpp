// cortex_m::quantize_per_tensor: float32 to int8 or int16, element by element in storage order.

#include "checks.h"
#include "compute/quantize.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

template <typename T>
void quantize(const kernels::Check& check, const Tensor& input, float reciprocal,
              int64_t zero_point, int64_t min, int64_t max, Tensor& out) {
  if (!check.fits<T>(zero_point, "zero_point")) return;
  if (!check.bounds<T>(min, max, "quant_min", "quant_max")) return;
  const kernels::Quantization q{static_cast<int32_t>(zero_point), static_cast<int32_t>(min),
                                static_cast<int32_t>(max)};
  kernels::isa::quantize(input.const_data_ptr<float>(), out.mutable_data_ptr<T>(),
                         static_cast<size_t>(input.numel()), reciprocal, q);
}

}  // namespace

Tensor& quantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& input, double scale,
                                int64_t zero_point, int64_t quant_min, int64_t quant_max,
                                ScalarType dtype, Tensor& out) {
  const kernels::Check check(context, "quantize_per_tensor");
  const float divisor = static_cast<float>(scale);
  if (!check.that(dtype == ScalarType::Char || dtype == ScalarType::Short,
                  "dtype is neither int8 nor int16") ||
      !check.that(divisor >= kernels::kMinScale && divisor <= kernels::kMaxScale,
                  "scale is not within 2^-125...2^126") ||
      !check.tensor(input, "input", ScalarType::Float) || !check.resize(out, input.sizes()) ||
      !check.tensor(out, "out", dtype) ||
      !check.that(kernels::same_layout(input, out), "input and out differ in dim order")) {
    return out;
  }
  const float reciprocal = 1.0f / divisor;
  if (dtype == ScalarType::Char) {
    quantize<int8_t>(check, input, reciprocal, zero_point, quant_min, quant_max, out);
  } else {
    quantize<int16_t>(check, input, reciprocal, zero_point, quant_min, quant_max, out);
  }
  return out;
}

}  // namespace cortex_m::native
