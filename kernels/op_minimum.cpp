// cortex_m::minimum: int8 or int32 with broadcasting; the operands share scale and zero point.

#include "extremum_op.h"

namespace cortex_m::native {

using namespace kernels::types;

Tensor& minimum_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                    Tensor& out) {
  return kernels::extremum_out<kernels::Minimum>(context, "minimum", self, other, out);
}

}  // namespace cortex_m::native
