// cortex_m::quantized_activation: any function of an int8 value, as a table of its 256 results.

#include "checks.h"
#include "compute/lookup_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

Tensor& quantized_activation_out(KernelRuntimeContext& context, const Tensor& input,
                                 const Tensor& lut, Tensor& out) {
  const kernels::Check check(context, "quantized_activation");
  if (!check.tensor(input, "input", ScalarType::Char) ||
      !check.tensor(lut, "lut", ScalarType::Char) ||
      !check.equal(lut.numel(), "number of entries of lut", kernels::kTableSize) ||
      !check.resize(out, input.sizes()) || !check.tensor(out, "out", ScalarType::Char) ||
      !check.that(kernels::same_layout(input, out), "input and out differ in dim order")) {
    return out;
  }
  kernels::isa::lookup_s8(input.const_data_ptr<int8_t>(), lut.const_data_ptr<int8_t>(),
                          out.mutable_data_ptr<int8_t>(), static_cast<size_t>(input.numel()));
  return out;
}

}  // namespace cortex_m::native
