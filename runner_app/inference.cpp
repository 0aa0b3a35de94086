#include "inference.h"

#include <executorch/runtime/platform/log.h>

#include <cstring>

#include "file_io.h"
#include "text_buffer.h"

using executorch::runtime::Error;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Span;

Inference::Inference(const Program& program, Pools& pools) : program_(program), pools_(pools) {
  pools_.method.reset();
  pools_.planned.reset();
  pools_.temporary.reset();
}

uint8_t* Inference::allocate_poisoned(size_t size) {
  constexpr size_t kAlignment = 16;  // of every planned buffer; what vector loads like best
  auto* memory = static_cast<uint8_t*>(pools_.planned.allocate(size, kAlignment));
  if (memory != nullptr) memset(memory, kPoison, size);
  return memory;
}

Error Inference::plan_memory(const MethodMeta& meta) {
  const size_t count = meta.num_memory_planned_buffers();
  auto* buffers = pools_.method.allocateList<Span<uint8_t>>(count);
  if (buffers == nullptr) return Error::MemoryAllocationFailed;
  for (size_t i = 0; i < count; i++) {
    const auto size = meta.memory_planned_buffer_size(i);
    if (!size.ok()) return size.error();
    ET_CHECK_OR_RETURN_ERROR(*size >= 0 && *size <= UINT32_MAX, InvalidProgram,
                             "Planned buffer %zu has an impossible size.", i);
    uint8_t* memory = allocate_poisoned(static_cast<size_t>(*size));
    if (memory == nullptr) return Error::MemoryAllocationFailed;
    new (&buffers[i]) Span<uint8_t>(memory, static_cast<size_t>(*size));
  }
  planned_.emplace(Span<Span<uint8_t>>(buffers, count));
  memory_.emplace(&pools_.method, &*planned_, &pools_.temporary);
  return Error::Ok;
}

// A program may leave the memory of its outputs to the caller.
Error Inference::place_unplanned_outputs() {
  const MethodMeta meta = method_->method_meta();
  for (size_t i = 0; i < method_->outputs_size(); i++) {
    const auto& output = method_->get_output(i);
    if (!output.isTensor() || output.toTensor().const_data_ptr() != nullptr) continue;
    const auto info = meta.output_tensor_meta(i);
    if (!info.ok()) return info.error();
    if (info->is_memory_planned()) continue;  // an empty one
    uint8_t* memory = allocate_poisoned(info->nbytes());
    if (memory == nullptr) return Error::MemoryAllocationFailed;
    const Error error = method_->set_output_data_ptr(memory, info->nbytes(), i);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

Error Inference::load(const char* method_name) {
  const auto meta = program_.method_meta(method_name);
  Error error = meta.ok() ? plan_memory(*meta) : meta.error();
  if (error == Error::Ok) {
    auto loaded = program_.load_method(method_name, &*memory_);
    error = loaded.error();
    if (loaded.ok()) method_.emplace(std::move(*loaded));
  }
  if (error == Error::Ok) error = place_unplanned_outputs();
  if (error != Error::Ok) {
    ET_LOG(Error, "Loading of method %s failed with status 0x%02x (%s)", method_name,
           static_cast<unsigned>(error), to_string(error));
    return error;
  }
  ET_LOG(Info, "Method '%s' loaded.", method_name);
  return Error::Ok;
}

Error Inference::set_inputs(const InputSource& source) {
  const size_t expected = method_->inputs_size();
  if (source.count() != expected) {
    ET_LOG(Error, "The program takes %zu inputs, %zu were given.", expected, source.count());
    return Error::InvalidArgument;
  }
  for (size_t i = 0; i < expected; i++) {
    const auto value = source.value(method_->method_meta(), i, pools_);
    const Error error = value.ok() ? method_->set_input(*value, i) : value.error();
    if (error != Error::Ok) {
      ET_LOG(Error, "Input %zu was not accepted (%s).", i, to_string(error));
      return error;
    }
  }
  ET_LOG(Info, "Input prepared.");
  return Error::Ok;
}

Error Inference::execute() {
  ET_LOG(Info, "Starting running 1 inferences...");
  const Error error = method_->execute();
  if (error != Error::Ok) {
    ET_LOG(Error, "Execution of the method failed with status 0x%02x (%s)",
           static_cast<unsigned>(error), to_string(error));
    return error;
  }
  ET_LOG(Info, "1 inferences finished");
  return Error::Ok;
}

Error Inference::write_outputs(const char* base, size_t test_case, size_t* written) {
  for (size_t i = 0; i < method_->outputs_size(); i++) {
    const auto& output = method_->get_output(i);
    if (!output.isTensor()) {
      ET_LOG(Info, "Output[%zu]: Not Tensor", i);
      continue;
    }
    TextBuffer<256> name;
    name << base << '-';
    if (test_case > 0) name.decimal(test_case) << '-';
    name.decimal(i) << ".bin";
    ET_CHECK_OR_RETURN_ERROR(!name.cut(), InvalidArgument, "Output name is too long: %s...",
                             name.text());
    const auto tensor = output.toTensor();
    ET_LOG(Info, "Writing output to file: %s", name.text());
    ET_CHECK_OR_RETURN_ERROR(write_file(name.text(), tensor.const_data_ptr(), tensor.nbytes()),
                             AccessFailed, "Could not write output file %s.", name.text());
    (*written)++;
  }
  return Error::Ok;
}
