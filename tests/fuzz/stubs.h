#pragma once

#include <executorch/runtime/core/error.h>

// Once a process, beside the operators of `kernels/`.
executorch::runtime::Error register_stubs();
