// aten::mul: self * other with broadcasting; all tensors have one type, integers wrap.

#include "portable/binary.h"

namespace portable::native {

using namespace kernels::types;

Tensor& mul_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& other,
                Tensor& out) {
  const kernels::Check check(context, "mul");
  if (!kernels::prepare_broadcast(check, self, other, self.scalar_type(), out)) return out;
  const bool known = kernels::with_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    kernels::run_binary<T>(self, other, out, [](T a, T b) {
      if constexpr (std::is_floating_point_v<T>) return a * b;
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace portable::native
