// Operators of the runtime itself: symbolic sizes, scalar arithmetic, loops and views.
#pragma once

#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <initializer_list>

namespace executorch::runtime {

/// Kernels that need no registration.
Span<const Kernel> primitive_kernels();

namespace primitives {

using Args = Span<EValue*>;

/// Ends a kernel with an error.
void refuse(KernelRuntimeContext& context, Error error, const char* why);
/// Sets a result. Its type is part of the program: lists and other instructions rely on it.
void set(KernelRuntimeContext& context, EValue& out, const EValue& result);
/// Checks number and types of arguments.
bool has_tags(KernelRuntimeContext& context, Args args, std::initializer_list<Tag> tags);

void sym_size(KernelRuntimeContext& context, Args args);
void sym_numel(KernelRuntimeContext& context, Args args);
/// The element of a tensor of one element.
void local_scalar(KernelRuntimeContext& context, Args args);
/// Appends a slice to a tensor along its first dimension.
void copy_index(KernelRuntimeContext& context, Args args);
/// Gives a tensor the data of another one under other sizes.
void view(KernelRuntimeContext& context, Args args);

}  // namespace primitives
}  // namespace executorch::runtime
