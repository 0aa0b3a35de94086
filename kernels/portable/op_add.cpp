// aten::add: self + alpha * other with broadcasting; all tensors have one type.

#include "portable/binary.h"

namespace portable::native {

using namespace kernels::types;

Tensor& add_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                const Scalar& alpha, Tensor& out) {
  return kernels::add_scaled_out(context, "add", self, other, alpha, 1, out);
}

}  // namespace portable::native
