// cortex_m::dequantize_per_tensor: int8 or int16 to float32, element by element in storage order.

#include "checks.h"
#include "compute/quantize.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

template <typename T>
void dequantize(const kernels::Check& check, const Tensor& input, float scale, int64_t zero_point,
                int64_t min, int64_t max, Tensor& out) {
  if (!check.bounds<T>(min, max, "quant_min", "quant_max")) return;
  if (!check.range(zero_point, "zero_point", min, max)) return;
  kernels::isa::dequantize(input.const_data_ptr<T>(), out.mutable_data_ptr<float>(),
                           static_cast<size_t>(input.numel()), scale,
                           static_cast<int32_t>(zero_point));
}

}  // namespace

Tensor& dequantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& input, double scale,
                                  int64_t zero_point, int64_t quant_min, int64_t quant_max,
                                  ScalarType dtype, Tensor& out) {
  const kernels::Check check(context, "dequantize_per_tensor");
  const float factor = static_cast<float>(scale);
  if (!check.that(dtype == ScalarType::Char || dtype == ScalarType::Short,
                  "dtype is neither int8 nor int16") ||
      !check.that(factor >= kernels::kMinScale && factor <= kernels::kMaxScale,
                  "scale is not within 2^-125...2^126") ||
      !check.tensor(input, "input", dtype) || !check.resize(out, input.sizes()) ||
      !check.tensor(out, "out", ScalarType::Float) ||
      !check.that(kernels::same_layout(input, out), "input and out differ in dim order")) {
    return out;
  }
  if (dtype == ScalarType::Char) {
    dequantize<int8_t>(check, input, factor, zero_point, quant_min, quant_max, out);
  } else {
    dequantize<int16_t>(check, input, factor, zero_point, quant_min, quant_max, out);
  }
  return out;
}

}  // namespace cortex_m::native
