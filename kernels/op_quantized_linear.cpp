// cortex_m::quantized_linear: int8 fully connected layer over the last dimension. A kernel sum,
// which programs for vector cores carry, takes the place of the bias.

#include "checks.h"
#include "compute/linear_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

// An absent operand, or int32 with one entry per output.
bool check_per_output(const kernels::Check& check, const std::optional<Tensor>& tensor,
                      const char* name, const char* length_name, int64_t outputs) {
  return !tensor.has_value() || (check.tensor(*tensor, name, ScalarType::Int) &&
                                 check.equal(tensor->numel(), length_name, outputs));
}

bool check_operands(const kernels::Check& check, const Tensor& input, const Tensor& weights,
                    const std::optional<Tensor>& bias, const std::optional<Tensor>& kernel_sum) {
  return check.tensor(input, "input", ScalarType::Char) &&
         check.tensor(weights, "weights", ScalarType::Char) &&
         check.that(input.dim() >= 1, "input has no dimension") &&
         check.that(weights.dim() == 2, "weights are not [outputs, depth]") &&
         check.equal(weights.size(1), "depth of weights", input.size(input.dim() - 1)) &&
         check.that(kernels::is_row_major(input) && kernels::is_row_major(weights),
                    "input or weights are not in plain dim order") &&
         check_per_output(check, bias, "bias", "length of bias", weights.size(0)) &&
         check_per_output(check, kernel_sum, "kernel_sum", "length of kernel_sum", weights.size(0));
}

// Gives `out` the shape [..., outputs].
bool prepare_output(const kernels::Check& check, const Tensor& input, SizesType outputs,
                    Tensor& out) {
  const size_t rank = input.sizes().size();
  SizesType sizes[executorch::runtime::kTensorDimensionLimit];
  std::copy(input.sizes().begin(), input.sizes().end(), sizes);
  sizes[rank - 1] = outputs;
  return check.resize(out, {sizes, rank}) && check.tensor(out, "out", ScalarType::Char) &&
         check.that(kernels::is_row_major(out), "out is not in plain dim order");
}

const int32_t* data_or_null(const std::optional<Tensor>& tensor) {
  return tensor.has_value() ? tensor->const_data_ptr<int32_t>() : nullptr;
}

}  // namespace

Tensor& quantized_linear_out(KernelRuntimeContext& context, const Tensor& input,
                             const Tensor& weights, const std::optional<Tensor>& bias,
                             const std::optional<Tensor>& kernel_sum, int64_t input_offset,
                             int64_t filter_offset, int64_t output_offset,
                             const ArrayRef<int64_t>& requantize_multipliers,
                             const ArrayRef<int64_t>& requantize_shifts, int64_t activation_max,
                             int64_t activation_min, Tensor& out) {
  const kernels::Check check(context, "quantized_linear");
  if (!check.range(input_offset, "input_offset", -INT8_MAX, -INT8_MIN) ||
      !check.range(filter_offset, "filter_offset", -INT8_MAX, -INT8_MIN) ||
      !check.fits<int8_t>(output_offset, "output_offset") ||
      !check.that(requantize_multipliers.size() == 1 && requantize_shifts.size() == 1,
                  "requantize_multipliers and requantize_shifts need one element each") ||
      !check.rescale(requantize_multipliers[0], requantize_shifts[0], "requantize_multipliers",
                     "requantize_shifts") ||
      !check.bounds<int8_t>(activation_min, activation_max, "activation_min", "activation_max") ||
      !check_operands(check, input, weights, bias, kernel_sum) ||
      !prepare_output(check, input, weights.sizes()[0], out)) {
    return out;
  }
  const size_t outputs = static_cast<size_t>(weights.size(0));
  const kernels::LinearParameters p{
      outputs == 0 ? 0 : static_cast<size_t>(out.numel()) / outputs,
      static_cast<size_t>(weights.size(1)),
      outputs,
      data_or_null(kernel_sum),
      data_or_null(bias),
      static_cast<int32_t>(input_offset),
      static_cast<int32_t>(filter_offset),
      static_cast<int32_t>(output_offset),
      kernels::Rescale(static_cast<int32_t>(requantize_multipliers[0]),
                       static_cast<int32_t>(requantize_shifts[0])),
      static_cast<int32_t>(activation_min),
      static_cast<int32_t>(activation_max)};
  kernels::isa::linear_s8(input.const_data_ptr<int8_t>(), weights.const_data_ptr<int8_t>(),
                          out.mutable_data_ptr<int8_t>(), p);
  return out;
}

}  // namespace cortex_m::native
