// Which variant of the compute functions kernels call. Every compute header defines the scalar
// reference in `scalar` and, on a core with vector instructions, the same functions in `mve`; both
// give the same bytes. KERNELS_SCALAR_ONLY leaves the vector variants out.
#pragma once

#if defined(__ARM_FEATURE_MVE) && !defined(KERNELS_SCALAR_ONLY)
#define KERNELS_MVE 1
#include <arm_mve.h>
#else
#define KERNELS_MVE 0
#endif

namespace kernels {
namespace scalar {}
#if KERNELS_MVE
namespace mve {}
namespace isa = mve;
#else
namespace isa = scalar;
#endif
}  // namespace kernels
