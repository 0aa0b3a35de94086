// What quantized_add and quantized_mul share: preparation and the walk over the elements.
#pragma once

#include "broadcast.h"
#include "compute/binary_s8.h"

namespace kernels {

// Checks two int8 operands of equal shape, or of which one is [1, C, 1, 1] and both are
// channels-last, and gives `out` the shape of the result.
inline bool prepare_channel_binary(const Check& check, const Tensor& a, const Tensor& b,
                                   Tensor& out) {
  Shape shape;
  return check.tensor(a, "self", ScalarType::Char) && check.tensor(b, "other", ScalarType::Char) &&
         check.that(a.sizes() == b.sizes() || is_channel_broadcast(a, b),
                    "shapes are neither equal nor a channel broadcast [1, C, 1, 1]") &&
         check.that(broadcast_shape(a, b, shape), "shapes cannot be broadcast") &&
         check.resize(out, shape.sizes()) && check.tensor(out, "out", ScalarType::Char);
}

// out = op(a, b) elementwise, broadcast to the shape of `out`.
template <typename Op>
void run_binary_s8(const Tensor& a, const Tensor& b, Tensor& out, const Op& op) {
  if (out.numel() == 0) return;
  const int8_t* data_a = a.const_data_ptr<int8_t>();
  const int8_t* data_b = b.const_data_ptr<int8_t>();
  int8_t* data_out = out.mutable_data_ptr<int8_t>();
  BroadcastLoops(a, b, out).for_each_run([&](const Run& run) {
    isa::binary_s8(Operand{data_a + run.offset_a, run.step_a},
                   Operand{data_b + run.offset_b, run.step_b}, data_out + run.offset_out, run.count,
                   op);
  });
}

}  // namespace kernels
