// Operators of the runtime itself: symbolic sizes, scalar arithmetic, loops and views.
#pragma once

#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::runtime {

/// Kernels that need no registration.
Span<const Kernel> primitive_kernels();

}  // namespace executorch::runtime
