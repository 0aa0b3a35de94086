// Names of ExecuTorch's public headers that kernels and generated code use.
#pragma once

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_includes.h>

#include <optional>
#include <string_view>
#include <tuple>

namespace kernels::types {

using executorch::aten::ArrayRef;
using executorch::aten::Scalar;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Span;

}  // namespace kernels::types
