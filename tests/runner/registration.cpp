// Operators of the runner's tests. Only add does what its name says; the others misbehave in one
// way each, so that the runner's reports can be tested on unmodified production code.
#include "register_operators.h"

#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

namespace {

void add(KernelRuntimeContext&, Span<EValue*> arguments) {
  const auto a = arguments[0]->toTensor();
  const auto b = arguments[1]->toTensor();
  const auto out = arguments[3]->toTensor();
  for (ssize_t i = 0; i < out.numel(); i++) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
  }
}

void leave_output_unwritten(KernelRuntimeContext&, Span<EValue*>) {}

void ask_for_too_much_scratch(KernelRuntimeContext& context, Span<EValue*>) {
  constexpr size_t kMoreThanThePool = 256U << 20;
  const auto scratch = context.allocate_temp(kMoreThanThePool);
  if (!scratch.ok()) context.fail(scratch.error());
}

void read_where_nothing_is(KernelRuntimeContext&, Span<EValue*>) {
  const auto address = static_cast<uintptr_t>(0x50000000);
  static_cast<void>(*reinterpret_cast<volatile int*>(address));
}

void write_through_null_pointer(KernelRuntimeContext&, Span<EValue*>) {
  volatile uintptr_t null = 0;
  *reinterpret_cast<volatile int*>(null) = 1;
}

// Not a tail call, and the frame is used after the call.
uint32_t recurse(volatile uint32_t depth) {
  volatile uint8_t frame[256] = {};
  frame[depth % sizeof(frame)] = 1;
  return depth == UINT32_MAX ? 0 : recurse(depth + 1) + frame[0];
}

void exhaust_the_stack(KernelRuntimeContext& context, Span<EValue*>) {
  if (recurse(0) == 1) context.fail(Error::Internal);
}

void divide_by_zero(KernelRuntimeContext& context, Span<EValue*>) {
  volatile int zero = 0;
  volatile int dividend = 7;
  if (dividend / zero == 1) context.fail(Error::Internal);
}

}  // namespace

Error register_operators() {
  static const Kernel kernels[] = {
      Kernel("aten::add.out", add),
      Kernel("aten::exp.out", leave_output_unwritten),
      Kernel("aten::sigmoid.out", ask_for_too_much_scratch),
      Kernel("aten::neg.out", read_where_nothing_is),
      Kernel("aten::abs.out", exhaust_the_stack),
      Kernel("aten::ceil.out", divide_by_zero),
      Kernel("aten::floor.out", write_through_null_pointer),
  };
  return executorch::runtime::register_kernels({kernels, sizeof(kernels) / sizeof(kernels[0])});
}
