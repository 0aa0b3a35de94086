#include "ethosu/backend.h"

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/log.h>

#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "ethosu/blob.h"
#include "ethosu/driver.h"
#include "ethosu/memory.h"
#include "written.h"

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
using executorch::runtime::NamedDataMap;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace ethosu {

namespace {

constexpr uint8_t kPoison = 0xA5;  // an output that the NPU did not write stays recognisable

// One loaded delegate. It points into the program, which outlives it.
struct Job {
  Identity npu;
  Bytes commands;
  Bytes weights;
  Placements inputs;
  Placements outputs;
  std::optional<FreeableBuffer> external_actions;
  std::optional<FreeableBuffer> external_weights;
};

// The bytes of a block; `owner` keeps them if they are named data.
Result<Bytes> resolve(const Block& block, const NamedDataMap* named_data,
                      std::optional<FreeableBuffer>& owner) {
  if (!block.is_key) return block.data;
  const std::string_view key(reinterpret_cast<const char*>(block.data.data()), block.data.size());
  auto data =
      named_data == nullptr ? Result<FreeableBuffer>(Error::NotFound) : named_data->get_data(key);
  if (!data.ok()) {
    ET_LOG(Error, "NPU program refers to data %.*s, which is not there",
           static_cast<int>(key.size()), key.data());
    return data.error();
  }
  owner.emplace(std::move(*data));
  return Bytes(static_cast<const uint8_t*>(owner->data()), owner->size());
}

Error check_alignment(const Bytes& bytes, const char* what) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment == 0) return Error::Ok;
  ET_LOG(Error, "NPU program is malformed: its %s at %p is not aligned to %zu bytes", what,
         static_cast<const void*>(bytes.data()), kAlignment);
  return Error::InvalidProgram;
}

Error check_scratch(size_t size) {
  if (size <= scratch_memory().size()) return Error::Ok;
  ET_LOG(Error,
         "Memory allocation failed: %zuB requested (adjusted for alignment), %zuB available in "
         "pool npu_scratch",
         size, scratch_memory().size());
  return Error::MemoryAllocationFailed;
}

Error load(const Blob& blob, const NamedDataMap* named_data, Job& job) {
  const auto actions = resolve(blob.driver_actions, named_data, job.external_actions);
  if (!actions.ok()) return actions.error();
  const auto weights = resolve(blob.weights, named_data, job.external_weights);
  if (!weights.ok()) return weights.error();
  const auto stream = parse_driver_actions(*actions);
  if (!stream.ok()) return stream.error();
  const auto npu = probe();
  if (!npu.ok()) return npu.error();
  if (!matches(stream->compiled_for, *npu)) return Error::DelegateInvalidCompatibility;
  job.npu = *npu;
  job.commands = stream->commands;
  job.weights = *weights;
  job.inputs = blob.inputs;
  job.outputs = blob.outputs;
  Error error = check_scratch(blob.scratch_size);
  if (error == Error::Ok) error = check_alignment(job.commands, "command stream");
  if (error == Error::Ok) error = check_alignment(job.weights, "weights");
  return error;
}

// The tensor that argument `index` is, if it is what the NPU expects at `placement`.
Result<Tensor> tensor_for(const Placement& placement, Span<EValue*> arguments, size_t index) {
  if (arguments[index] == nullptr || !arguments[index]->isTensor()) {
    ET_LOG(Error, "Argument %zu of the NPU is no tensor", index);
    return Error::InvalidProgram;
  }
  const Tensor& tensor = arguments[index]->toTensor();
  const auto type = tensor.scalar_type();
  const bool whole = executorch::runtime::isIntegralType(type, /*includeBool=*/true);
  if (!whole || executorch::runtime::elementSize(type) != placement.element_size ||
      tensor.nbytes() != placement.bytes) {
    ET_LOG(Error,
           "Argument %zu of the NPU is %s with %zu bytes, the program has %zu bytes with %zu an "
           "element there",
           index, executorch::runtime::toString(type), tensor.nbytes(), placement.bytes,
           placement.element_size);
    return Error::InvalidProgram;
  }
  if (tensor.nbytes() > 0 && tensor.const_data_ptr() == nullptr) {
    ET_LOG(Error, "Argument %zu of the NPU has no data", index);
    return Error::InvalidProgram;
  }
  return tensor;
}

Error copy_inputs(const Placements& inputs, Span<EValue*> arguments, uint8_t* scratch) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Placement place = inputs[i];
    const auto tensor = tensor_for(place, arguments, i);
    if (!tensor.ok()) return tensor.error();
    if (place.bytes > 0) memcpy(scratch + place.offset, tensor->const_data_ptr(), place.bytes);
  }
  return Error::Ok;
}

// Outputs are the arguments from `first` on.
Error copy_outputs(const Placements& outputs, Span<EValue*> arguments, size_t first,
                   const uint8_t* scratch) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Placement place = outputs[i];
    const auto tensor = tensor_for(place, arguments, first + i);
    if (!tensor.ok()) return tensor.error();
    if (!kernels::may_write(*tensor)) {
      ET_LOG(Error, "Output %zu of the NPU lies in the program, which nothing may write to", i);
      return Error::InvalidProgram;
    }
    if (place.bytes > 0) memcpy(tensor->mutable_data_ptr(), scratch + place.offset, place.bytes);
  }
  return Error::Ok;
}

class EthosUBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    const auto blob =
        parse_blob(Bytes(static_cast<const uint8_t*>(processed->data()), processed->size()));
    if (!blob.ok()) return blob.error();
    void* memory = context.get_runtime_allocator()->allocate(sizeof(Job), alignof(Job));
    if (memory == nullptr) return Error::MemoryAllocationFailed;
    auto* job = new (memory) Job();
    const Error error = load(*blob, context.get_named_data_map(), *job);
    if (error == Error::Ok) return job;
    job->~Job();
    return error;
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle,
                Span<EValue*> arguments) const override {
    const auto& job = *static_cast<const Job*>(handle);
    const size_t inputs = job.inputs.size();
    if (arguments.size() != inputs + job.outputs.size()) {
      ET_LOG(Error, "The NPU takes %zu inputs and %zu outputs, the program passes %zu arguments",
             inputs, job.outputs.size(), arguments.size());
      return Error::InvalidProgram;
    }
    uint8_t* scratch = scratch_memory().data();
    for (size_t i = 0; i < job.outputs.size(); ++i) {
      memset(scratch + job.outputs[i].offset, kPoison, job.outputs[i].bytes);
    }
    Error error = copy_inputs(job.inputs, arguments, scratch);
    if (error == Error::Ok) {
      error =
          run(job.npu, job.commands, {job.weights.data(), scratch, fast_scratch_memory().data()});
    }
    if (error != Error::Ok) return error;
    return copy_outputs(job.outputs, arguments, inputs, scratch);
  }

  void destroy(DelegateHandle* handle) const override { static_cast<Job*>(handle)->~Job(); }
};

}  // namespace

Error register_backend() {
  static EthosUBackend backend;
  return executorch::runtime::register_backend(Backend{kBackendName, &backend});
}

}  // namespace ethosu
