// What the elementwise operators of two tensors share: preparation and the walk over the runs.
#pragma once

#include "broadcast.h"
#include "compute/operand.h"

namespace kernels {

// Checks two operands and gives `out` their broadcast shape; all three have the type `type`.
inline bool prepare_broadcast(const Check& check, const Tensor& a, const Tensor& b, ScalarType type,
                              Tensor& out) {
  Shape shape;
  return check.tensor(a, "self", type) && check.tensor(b, "other", type) &&
         check.that(broadcast_shape(a, b, shape), "shapes cannot be broadcast") &&
         check.resize(out, shape.sizes()) && check.tensor(out, "out", type);
}

// As prepare_broadcast for int8, but shapes are equal, or one operand is [1, C, 1, 1] and both are
// channels-last.
inline bool prepare_channel_broadcast(const Check& check, const Tensor& a, const Tensor& b,
                                      Tensor& out) {
  return check.that(a.sizes() == b.sizes() || is_channel_broadcast(a, b),
                    "shapes are neither equal nor a channel broadcast [1, C, 1, 1]") &&
         prepare_broadcast(check, a, b, ScalarType::Char, out);
}

// Calls `body(a, b, out, count)` for every run of the output; `a` and `b` are Operands.
template <typename T, typename Body>
void for_each_run(const Tensor& a, const Tensor& b, Tensor& out, const Body& body) {
  if (out.numel() == 0) return;
  const T* data_a = a.const_data_ptr<T>();
  const T* data_b = b.const_data_ptr<T>();
  T* data_out = out.mutable_data_ptr<T>();
  BroadcastLoops(a, b, out).for_each_run([&](const Run& run) {
    body(Operand<T>{data_a + run.offset_a, run.step_a},
         Operand<T>{data_b + run.offset_b, run.step_b}, data_out + run.offset_out, run.count);
  });
}

}  // namespace kernels
