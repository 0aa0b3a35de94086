// quantized_decomposed::quantize_per_tensor and dequantize_per_tensor: the operators of cortex_m
// for more types, as programs have them at the borders of a delegate.

#include "checks.h"
#include "compute/quantize.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

// Calls `body(T{})` for the types that quantized values have; false for any other.
template <typename Body>
bool with_quantized_type(ScalarType type, const Body& body) {
  switch (type) {
    case ScalarType::Char:
      return body(int8_t{}), true;
    case ScalarType::Byte:
      return body(uint8_t{}), true;
    case ScalarType::Short:
      return body(int16_t{}), true;
    case ScalarType::UInt16:
      return body(uint16_t{}), true;
    case ScalarType::Int:
      return body(int32_t{}), true;
    default:
      return false;
  }
}

// The types that have vector kernels.
template <typename T>
constexpr bool kHasVectors = std::is_same_v<T, int8_t> || std::is_same_v<T, int16_t>;

template <typename T>
void quantize(const Tensor& input, Tensor& out, float reciprocal, const kernels::Quantization& q) {
  const float* from = input.const_data_ptr<float>();
  auto* to = static_cast<T*>(out.mutable_data_ptr());
  const auto count = static_cast<size_t>(input.numel());
  if constexpr (kHasVectors<T>) {
    kernels::isa::quantize(from, to, count, reciprocal, q);
  } else {
    kernels::scalar::quantize(from, to, count, reciprocal, q);
  }
}

template <typename T>
void dequantize(const Tensor& input, Tensor& out, float scale, int32_t zero_point) {
  const auto* from = static_cast<const T*>(input.const_data_ptr());
  float* to = out.mutable_data_ptr<float>();
  const auto count = static_cast<size_t>(input.numel());
  if constexpr (std::is_same_v<T, int32_t>) {
    for (size_t i = 0; i < count; ++i) {
      to[i] = static_cast<float>(static_cast<int64_t>(from[i]) - zero_point) * scale;
    }
  } else if constexpr (kHasVectors<T>) {
    kernels::isa::dequantize(from, to, count, scale, zero_point);
  } else {
    kernels::scalar::dequantize(from, to, count, scale, zero_point);
  }
}

bool check_scale(const Check& check, float scale) {
  return check.that(scale >= kernels::kMinScale && scale <= kernels::kMaxScale,
                    "scale is not within 2^-125...2^126");
}

bool check_layout(const Check& check, const Tensor& input, const Tensor& out) {
  return check.that(kernels::same_layout(input, out), "input and out differ in dim order");
}

}  // namespace

Tensor& quantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& input, double scale,
                                int64_t zero_point, int64_t quant_min, int64_t quant_max,
                                ScalarType dtype, Tensor& out) {
  const Check check(context, "quantize_per_tensor");
  const float divisor = static_cast<float>(scale);
  const bool known = with_quantized_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (!check_scale(check, divisor) || !check.fits<T>(zero_point, "zero_point") ||
        !check.bounds<T>(quant_min, quant_max, "quant_min", "quant_max") ||
        !check.tensor(input, "input", ScalarType::Float) || !check.resize(out, input.sizes()) ||
        !check.tensor(out, "out", dtype) || !check_layout(check, input, out)) {
      return;
    }
    quantize<T>(input, out, 1.0f / divisor,
                {static_cast<int32_t>(zero_point), static_cast<int32_t>(quant_min),
                 static_cast<int32_t>(quant_max)});
  });
  check.that(known, "dtype is no type of quantized values");
  return out;
}

Tensor& dequantize_per_tensor_out(KernelRuntimeContext& context, const Tensor& input, double scale,
                                  int64_t zero_point, int64_t, int64_t, ScalarType dtype,
                                  const std::optional<ScalarType>& out_dtype, Tensor& out) {
  const Check check(context, "dequantize_per_tensor");
  const float factor = static_cast<float>(scale);
  const bool known = with_quantized_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if (!check_scale(check, factor) || !check.fits<T>(zero_point, "zero_point") ||
        !check.that(out_dtype.value_or(ScalarType::Float) == ScalarType::Float,
                    "out_dtype is not float32") ||
        !check.tensor(input, "input", dtype) || !check.resize(out, input.sizes()) ||
        !check.tensor(out, "out", ScalarType::Float) || !check_layout(check, input, out)) {
      return;
    }
    dequantize<T>(input, out, factor, static_cast<int32_t>(zero_point));
  });
  check.that(known, "dtype is no type of quantized values");
  return out;
}

}  // namespace portable::native
