#include "chain.h"

#include <executorch/runtime/executor/program.h>

#include <algorithm>
#include <cinttypes>

#include "primitives.h"

namespace executorch::runtime {
namespace {

namespace slot = pte::slot;
using pte::InstructionType;

constexpr size_t kMaxTensorArgs = 16;
constexpr const char* kCopyIndex = "executorch_prim::et_copy_index.tensor";

/// Data type and dim order of the tensors among `args`, by which kernels may be specialized.
struct TensorMetas {
  explicit TensorMetas(InstructionArgs args) {
    for (const EValue* arg : args) {
      if (!arg->isTensor() || count == kMaxTensorArgs) continue;
      const auto order = arg->toTensor().dim_order();
      metas[count++] = {arg->toTensor().scalar_type(),
                        {const_cast<uint8_t*>(order.data()), order.size()}};
    }
  }
  Span<const TensorMeta> span() const { return {metas, count}; }
  TensorMeta metas[kMaxTensorArgs];
  size_t count = 0;
};

}  // namespace

OperatorName::OperatorName(flat::Table op) {
  text[0] = 0;
  const char* name = op.string(slot::kOperatorName);
  const char* overload = op.string(slot::kOverload);
  if (name == nullptr) return;
  if (overload == nullptr) overload = "";
  const size_t name_length = std::strlen(name);
  const size_t overload_length = std::strlen(overload);
  if (name_length + 1 + overload_length >= sizeof(text)) return;
  std::memcpy(text, name, name_length + 1);
  if (overload_length == 0) return;
  text[name_length] = '.';
  std::memcpy(text + name_length + 1, overload, overload_length + 1);
}

Error Executor::load_delegates(Method& method, const NamedDataMap* named_data,
                               const LoadBackendOptionsMap* backend_options) {
  const auto serialized = plan(method).tables(slot::kDelegates);
  MemoryAllocator* allocator = method.memory_manager_->method_allocator();
  method.delegates_ = allocator->allocateList<BackendDelegate>(serialized.size());
  if (method.delegates_ == nullptr) return Error::MemoryAllocationFailed;
  for (const flat::Table delegate : serialized) {
    const char* id = delegate.string(slot::kBackendId);
    Span<const BackendOption> options;
    if (backend_options != nullptr) options = backend_options->get_options(id);
    BackendInitContext context(allocator, method.event_tracer_,
                               plan(method).string(slot::kPlanName), named_data, options);
    bool constructed = false;
    const Error error = BackendDelegate::load(delegate, method.program_, context,
                                              &method.delegates_[method.n_delegate_], &constructed);
    method.n_delegate_ += constructed;
    ET_CHECK_OK_OR_RETURN_ERROR(error);
  }
  return Error::Ok;
}

Error Executor::check_operators(const Method& method) {
  const auto operators = plan(method).tables(slot::kOperators);
  Error result = Error::Ok;
  for (size_t i = 0; i < operators.size(); ++i) {
    const OperatorName name(operators[i]);
    ET_CHECK_OR_RETURN_ERROR(name.text[0] != 0, InvalidProgram,
                             "Operator %zu has no name or a too long one.", i);
    const auto is_in = [&](Span<const Kernel> kernels) {
      return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
        return std::strcmp(kernel.name_, name.text) == 0;
      });
    };
    if (is_in(get_registered_kernels()) || is_in(method.kernel_registry_) ||
        is_in(primitive_kernels())) {
      continue;
    }
    ET_LOG(Error, "kernel '%s' not found.", name.text);
    ET_LOG(Error, "Missing operator: [%zu] %s", i, name.text);
    result = Error::OperatorMissing;
  }
  return result;
}

Error Executor::load_chains(Method& method) {
  const auto serialized = plan(method).tables(slot::kChains);
  MemoryAllocator* allocator = method.memory_manager_->method_allocator();
  method.chains_ = allocator->allocateList<Chain>(serialized.size());
  if (method.chains_ == nullptr) return Error::MemoryAllocationFailed;
  ET_CHECK_OR_RETURN_ERROR(serialized.size() > 0, InvalidProgram, "Method without instructions.");
  for (const flat::Table chain : serialized) {
    const auto list = chain.tables(slot::kInstructions);
    auto* instructions = allocator->allocateList<Instruction>(list.size());
    if (instructions == nullptr) return Error::MemoryAllocationFailed;
    for (size_t i = 0; i < list.size(); ++i) {
      new (&instructions[i]) Instruction();
      ET_CHECK_OK_OR_RETURN_ERROR(load_instruction(method, list[i], list.size(), instructions[i]),
                                  "Instruction %zu:%zu cannot be loaded.", method.n_chains_, i);
    }
    new (&method.chains_[method.n_chains_++]) Chain{{instructions, list.size()}};
  }
  return Error::Ok;
}

Error Executor::load_args(Method& method, Span<const int32_t> indices, InstructionArgs& args) {
  auto** list = method.memory_manager_->method_allocator()->allocateList<EValue*>(indices.size());
  if (list == nullptr) return Error::MemoryAllocationFailed;
  for (size_t i = 0; i < indices.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(indices[i] >= 0 && static_cast<size_t>(indices[i]) < method.n_value_,
                             InvalidProgram, "Argument %zu is value %" PRId32 " of %zu.", i,
                             indices[i], method.n_value_);
    list[i] = &method.values_[indices[i]];
  }
  args = {list, indices.size()};
  return Error::Ok;
}

Error Executor::load_call(Method& method, flat::Table call, Instruction& instruction) {
  ET_CHECK_OK_OR_RETURN_ERROR(
      load_args(method, call.vector<int32_t>(slot::kCallArgs), instruction.args));
  const auto callee = call.get<int32_t>(slot::kCallee);
  instruction.index = static_cast<uint32_t>(callee);
  if (instruction.type == InstructionType::kDelegate) {
    ET_CHECK_OR_RETURN_ERROR(instruction.index < method.n_delegate_, InvalidProgram,
                             "Delegate %" PRId32 " of %zu.", callee, method.n_delegate_);
    return Error::Ok;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(method.resolve_operator(callee, &instruction.kernel, 0,
                                                      instruction.args, instruction.args.size()));
  // Primitive operators look at sizes and give tensors their data.
  const Span<const Kernel> primitives = primitive_kernels();
  instruction.needs_data =
      std::none_of(primitives.begin(), primitives.end(),
                   [&](const Kernel& primitive) { return primitive.op_ == instruction.kernel; });
  instruction.writes_first = std::strcmp(operator_name(method, instruction).text, kCopyIndex) == 0;
  return Error::Ok;
}

Error Executor::load_jump(Method& method, flat::Table jump, size_t n_instructions,
                          Instruction& instruction) {
  const auto condition = jump.get<int32_t>(slot::kCondition);
  const auto destination = jump.get<int32_t>(slot::kDestination);
  ET_CHECK_OK_OR_RETURN_ERROR(load_args(method, {&condition, 1}, instruction.args));
  instruction.index = static_cast<uint32_t>(destination);
  ET_CHECK_OR_RETURN_ERROR(instruction.index <= n_instructions, InvalidProgram,
                           "Jump to instruction %" PRId32 " of %zu.", destination, n_instructions);
  const EValue& value = *instruction.args[0];
  ET_CHECK_OR_RETURN_ERROR(value.isBool() || value.isTensor(), InvalidProgram,
                           "Jump on a value that is no condition.");
  return Error::Ok;
}

Error Executor::load_instruction(Method& method, flat::Table serialized, size_t n_instructions,
                                 Instruction& instruction) {
  const flat::Table arguments = serialized.table(slot::kArguments);
  instruction.type = static_cast<InstructionType>(serialized.get<uint8_t>(slot::kArgumentsType));
  switch (instruction.type) {
    case InstructionType::kKernel:
    case InstructionType::kDelegate:
      return load_call(method, arguments, instruction);
    case InstructionType::kMove: {
      const int32_t indices[] = {arguments.get<int32_t>(slot::kMoveFrom),
                                 arguments.get<int32_t>(slot::kMoveTo)};
      ET_CHECK_OK_OR_RETURN_ERROR(load_args(method, indices, instruction.args));
      // Lists and other instructions rely on the types that values have at load.
      ET_CHECK_OR_RETURN_ERROR(instruction.args[0]->tag == instruction.args[1]->tag, InvalidProgram,
                               "Move between values of different types.");
      return Error::Ok;
    }
    case InstructionType::kJumpFalse:
      return load_jump(method, arguments, n_instructions, instruction);
    case InstructionType::kFree: {
      const auto index = arguments.get<int32_t>(slot::kFreedValue);
      ET_CHECK_OK_OR_RETURN_ERROR(load_args(method, {&index, 1}, instruction.args));
      ET_CHECK_OR_RETURN_ERROR(instruction.args[0]->isTensor(), InvalidProgram,
                               "Free of a value that is no tensor.");
      return Error::Ok;
    }
    default:
      ET_LOG(Error, "Instruction of unknown kind.");
      return Error::InvalidProgram;
  }
}

Error Method::resolve_operator(int32_t op_index, OpFunction* kernels, size_t kernel_index,
                               InstructionArgs args, size_t n_args) {
  const auto operators = flat::Table(serialization_plan_).tables(slot::kOperators);
  ET_CHECK_OR_RETURN_ERROR(op_index >= 0 && static_cast<size_t>(op_index) < operators.size(),
                           InvalidProgram, "Operator %" PRId32 " of %zu.", op_index,
                           operators.size());
  const OperatorName name(operators[op_index]);
  const TensorMetas metas({args.data(), n_args});
  Result<OpFunction> kernel =
      get_op_function_from_registry(name.text, metas.span(), kernel_registry_);
  if (kernel.error() == Error::OperatorMissing) {
    kernels[kernel_index] = nullptr;
    const Result<OpFunction> global = get_op_function_from_registry(name.text, metas.span());
    ET_CHECK_OR_RETURN_ERROR(global.ok(), OperatorMissing,
                             "kernel '%s' not found for these types and dim orders.", name.text);
    kernels[kernel_index] = *global;
    return Error::Ok;
  }
  if (!kernel.ok()) return kernel.error();
  kernels[kernel_index] = *kernel;
  return Error::Ok;
}

}  // namespace executorch::runtime
