// aten::sub: self - alpha * other with broadcasting; all tensors have one type.

#include "portable/binary.h"

namespace portable::native {

using namespace kernels::types;

Tensor& sub_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                const Scalar& alpha, Tensor& out) {
  return kernels::add_scaled_out(context, "sub", self, other, alpha, -1, out);
}

}  // namespace portable::native
