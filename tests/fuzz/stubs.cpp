// Operators and a backend that the seeds name and `kernels/` need not be built for: each reads
// every argument to its last byte and writes the last tensor, so that wrong memory is seen.
#include "stubs.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <cstring>

using executorch::aten::Tensor;
using executorch::runtime::ArrayRef;
using executorch::runtime::Backend;
using executorch::runtime::BackendExecutionContext;
using executorch::runtime::BackendInitContext;
using executorch::runtime::BackendInterface;
using executorch::runtime::CompileSpec;
using executorch::runtime::DelegateHandle;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Kernel;
using executorch::runtime::KernelRuntimeContext;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

volatile uint8_t sink;

void read(const void* data, size_t size) {
  for (size_t i = 0; i < size; i++) sink = static_cast<const uint8_t*>(data)[i];
}

void read(const Tensor& tensor) { read(tensor.const_data_ptr(), tensor.nbytes()); }

void read(const EValue& value) {
  if (value.isTensor()) {
    read(value.toTensor());
  } else if (value.isString()) {
    read(value.toString().data(), value.toString().size());
  } else if (value.isIntList()) {
    for (const int64_t item : value.toIntList()) sink = static_cast<uint8_t>(item);
  } else if (const auto list = value.tryToTensorList(); list.ok()) {
    for (const Tensor& tensor : *list) read(tensor);
  }
}

void touch(Span<EValue*> arguments) {
  for (const EValue* argument : arguments) read(*argument);
  for (size_t i = arguments.size(); i-- > 0;) {
    if (!arguments[i]->isTensor()) continue;
    const Tensor& tensor = arguments[i]->toTensor();
    if (tensor.nbytes() > 0) memset(tensor.mutable_data_ptr(), 1, tensor.nbytes());
    return;
  }
}

void stub(KernelRuntimeContext&, Span<EValue*> arguments) { touch(arguments); }

class StubBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> specs) const override {
    read(processed->data(), processed->size());
    for (const CompileSpec& spec : specs) read(spec.value.buffer, spec.value.nbytes);
    const auto* named = context.get_named_data_map();
    if (named != nullptr) {
      const auto weights = named->get_data("weights");
      if (weights.ok()) read(weights->data(), weights->size());
    }
    return nullptr;
  }

  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*> arguments) const override {
    touch(arguments);
    return Error::Ok;
  }
};

}  // namespace

Error register_stubs() {
  static const Kernel kernels[] = {
      Kernel("aten::add.out", stub),
      Kernel("aten::addmm.out", stub),
      Kernel("aten::cat.out", stub),
      Kernel("aten::copy_", stub),
      Kernel("aten::index.Tensor_out", stub),
      Kernel("aten::mul.out", stub),
      Kernel("aten::permute_copy.out", stub),
      Kernel("aten::relu.out", stub),
      Kernel("aten::select_copy.int_out", stub),
      Kernel("aten::sum.IntList_out", stub),
      Kernel("dim_order_ops::_clone_dim_order.out", stub),
      Kernel("dim_order_ops::_to_dim_order_copy.out", stub),
  };
  static StubBackend backend;
  const Error error = executorch::runtime::register_kernels(kernels);
  if (error != Error::Ok) return error;
  return executorch::runtime::register_backend(Backend{"TraceBackend", &backend});
}
