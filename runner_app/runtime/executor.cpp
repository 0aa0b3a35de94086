#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#include <algorithm>
#include <cinttypes>

#include "chain.h"

namespace executorch::runtime {
namespace {

namespace slot = pte::slot;
bool has_data(const aten::Tensor& tensor) {
  return tensor.const_data_ptr() != nullptr || tensor.nbytes() == 0;
}

/// All tensors of an argument have data. Some never get it in a malformed program, or before the
/// caller set an input.
bool has_data(const EValue& arg) {
  if (arg.isTensor()) return has_data(arg.toTensor());
  if (arg.isTensorList()) {
    const auto list = arg.tryToTensorList();
    return list.ok() && std::all_of(list->begin(), list->end(),
                                    [](const aten::Tensor& t) { return has_data(t); });
  }
  if (arg.isListOptionalTensor()) {
    const auto list = arg.tryToListOptionalTensor();
    return list.ok() &&
           std::all_of(list->begin(), list->end(), [](const std::optional<aten::Tensor>& t) {
             return !t.has_value() || has_data(*t);
           });
  }
  return true;
}

Error check_data(InstructionArgs args) {
  for (size_t i = 0; i < args.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(has_data(*args[i]), InvalidState, "Argument %zu has no data.", i);
  }
  return Error::Ok;
}

/// A condition is a boolean or a tensor of booleans that all have to be true.
Result<bool> is_true(const EValue& value) {
  if (value.isBool()) return value.toBool();
  const Result<aten::Tensor> tensor = value.tryToTensor();
  ET_CHECK_OR_RETURN_ERROR(
      tensor.ok() && tensor->scalar_type() == aten::ScalarType::Bool && has_data(*tensor),
      InvalidType, "Jump on a value that is no condition.");
  const auto* items = tensor->const_data_ptr<uint8_t>();
  return std::all_of(items, items + tensor->numel(), [](uint8_t item) { return item != 0; });
}

}  // namespace

flat::Table Executor::plan(const Method& method) { return flat::Table(method.serialization_plan_); }

OperatorName Executor::operator_name(const Method& method, const Instruction& instruction) {
  return OperatorName(plan(method).tables(slot::kOperators)[instruction.index]);
}

bool Executor::is_program_data(const Method& method, const aten::Tensor& tensor) {
  const auto* data = static_cast<const uint8_t*>(tensor.const_data_ptr());
  const auto is_in = [data](const FreeableBuffer& buffer) {
    const auto* begin = static_cast<const uint8_t*>(buffer.data());
    return begin != nullptr && data >= begin && data < begin + buffer.size();
  };
  return is_in(method.program_->program_data_) || is_in(method.program_->constant_segment_data_);
}

bool Executor::writes_program_data(const Method& method, const Instruction& instruction) {
  const InstructionArgs args = instruction.args;
  const auto is_constant = [&](const EValue* value) {
    return value->isTensor() && is_program_data(method, value->toTensor());
  };
  if (instruction.writes_first) return args.size() > 0 && is_constant(args[0]);
  // The last output, and behind it the slot of what is returned: the same value, if all is well.
  const size_t first = args.size() - std::min<size_t>(args.size(), 2);
  return instruction.needs_data && std::any_of(args.begin() + first, args.end(), is_constant);
}

Error Executor::call_kernel(Method& method, const Instruction& instruction) {
  if (instruction.needs_data) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_data(instruction.args), "Kernel %s was not called.",
                                operator_name(method, instruction).text);
  }
  ET_CHECK_OR_RETURN_ERROR(!writes_program_data(method, instruction), InvalidProgram,
                           "Kernel %s would write to a constant.",
                           operator_name(method, instruction).text);
  KernelRuntimeContext context(method.event_tracer_, method.temp_allocator_);
  instruction.kernel(context, instruction.args);
  method.temp_allocator_->reset();
  const Error error = context.failure_state();
  ET_CHECK_OK_OR_RETURN_ERROR(error, "Kernel %s failed at instruction %zu:%zu with 0x%" PRIx32 ".",
                              operator_name(method, instruction).text, method.step_state_.chain_idx,
                              method.step_state_.instr_idx, static_cast<uint32_t>(error));
  return Error::Ok;
}

Error Executor::call_delegate(Method& method, const Instruction& instruction) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_data(instruction.args), "Delegate %" PRIu32 " was not called.",
                              instruction.index);
  BackendExecutionContext context(method.event_tracer_, method.temp_allocator_,
                                  plan(method).string(slot::kPlanName));
  const Error error = method.delegates_[instruction.index].execute(context, instruction.args);
  method.temp_allocator_->reset();
  ET_CHECK_OK_OR_RETURN_ERROR(
      error, "Delegate %" PRIu32 " failed at instruction %zu:%zu with 0x%" PRIx32 ".",
      instruction.index, method.step_state_.chain_idx, method.step_state_.instr_idx,
      static_cast<uint32_t>(error));
  return Error::Ok;
}

Error Executor::jump_if_false(Chain& chain, const Instruction& instruction, size_t& next) {
  const Result<bool> condition = is_true(*instruction.args[0]);
  if (!condition.ok()) return condition.error();
  if (*condition) return Error::Ok;
  // `next` follows this instruction: a jump to itself or to an earlier one is a loop.
  if (instruction.index < next) {
    ET_CHECK_OR_RETURN_ERROR(chain.backward_jumps < RUNTIME_MAX_BACKWARD_JUMPS, InvalidProgram,
                             "Loop does not end.");
    ++chain.backward_jumps;
  }
  next = instruction.index;
  return Error::Ok;
}

}  // namespace executorch::runtime
