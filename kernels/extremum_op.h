// What minimum and maximum share.
#pragma once

#include "binary_op.h"
#include "compute/extremum.h"

namespace kernels {

constexpr int64_t kMaxExtremumRank = 4;

// out = op(self, other) on int8 or int32, broadcast, up to four dimensions.
template <typename Op>
Tensor& extremum_out(KernelRuntimeContext& context, const char* name, const Tensor& self,
                     const Tensor& other, Tensor& out) {
  const Check check(context, name);
  const ScalarType type = self.scalar_type();
  if (!check.that(type == ScalarType::Char || type == ScalarType::Int,
                  "self is neither int8 nor int32") ||
      !check.range(self.dim(), "rank of self", 0, kMaxExtremumRank) ||
      !check.range(other.dim(), "rank of other", 0, kMaxExtremumRank) ||
      !prepare_broadcast(check, self, other, type, out)) {
    return out;
  }
  const auto body = [](auto a, auto b, auto* to, size_t count) {
    isa::extremum(a, b, to, count, Op{});
  };
  if (type == ScalarType::Char) {
    for_each_run<int8_t>(self, other, out, body);
  } else {
    for_each_run<int32_t>(self, other, out, body);
  }
  return out;
}

}  // namespace kernels
