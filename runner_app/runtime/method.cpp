#include <executorch/runtime/executor/method.h>

#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/platform_memory_allocator.h>
#include <executorch/runtime/executor/program.h>

#include <algorithm>
#include <cinttypes>

#include "chain.h"
#include "value_parser.h"

namespace executorch::runtime {
namespace {

namespace slot = pte::slot;
using deserialization::TensorParser;
using deserialization::ValueParser;
using internal::MergedDataMap;
using internal::PlatformMemoryAllocator;

/// Every entry of the plan's inputs or outputs is a value.
Error check_indices(flat::Table plan, size_t list_slot, size_t n_values) {
  for (const int32_t index : plan.vector<int32_t>(list_slot)) {
    ET_CHECK_OR_RETURN_ERROR(index >= 0 && static_cast<size_t>(index) < n_values, InvalidProgram,
                             "Input or output is value %" PRId32 " of %zu.", index, n_values);
  }
  return Error::Ok;
}

/// The tensor of a value whose data is a constant outside of the program, else no table.
flat::Table external_constant(flat::Table value) {
  if (pte::type_of(value) != pte::ValueType::kTensor) return {};
  const flat::Table tensor = value.table(slot::kValue);
  const bool found = deserialization::is_external(tensor) && !tensor.has(slot::kAllocation);
  return found ? tensor : flat::Table();
}

}  // namespace

Result<Method> Method::load(executorch_flatbuffer::ExecutionPlan* s_plan, const Program* program,
                            MemoryManager* memory_manager, EventTracer* event_tracer,
                            const NamedDataMap* named_data_map,
                            const LoadBackendOptionsMap* backend_options,
                            Span<const Kernel> kernel_registry) {
  MemoryAllocator* temp_allocator = memory_manager->temp_allocator();
  if (temp_allocator == nullptr) {
    auto* platform =
        memory_manager->method_allocator()->allocateInstance<PlatformMemoryAllocator>();
    if (platform == nullptr) return Error::MemoryAllocationFailed;
    temp_allocator = new (platform) PlatformMemoryAllocator();
  }
  Method method(program, memory_manager, event_tracer, temp_allocator, kernel_registry);
  ET_CHECK_OK_OR_RETURN_ERROR(method.init(s_plan, named_data_map, backend_options));
  return method;
}

Error Method::init(executorch_flatbuffer::ExecutionPlan* s_plan, const NamedDataMap* named_data_map,
                   const LoadBackendOptionsMap* backend_options) {
  ET_CHECK_OR_RETURN_ERROR(init_state_ == InitializationState::Uninitialized, InvalidState,
                           "Method is already initialized.");
  init_state_ = InitializationState::InitializationFailed;
  serialization_plan_ = s_plan;

  const NamedDataMap* named_data = named_data_map;
  const Result<const NamedDataMap*> own = program_->get_named_data_map();
  if (own.ok() && named_data_map == nullptr) {
    named_data = *own;
  } else if (own.ok()) {
    Result<MergedDataMap> merged = MergedDataMap::load(*own, named_data_map);
    if (!merged.ok()) return merged.error();
    auto* place = memory_manager_->method_allocator()->allocateInstance<MergedDataMap>();
    if (place == nullptr) return Error::MemoryAllocationFailed;
    named_data = merged_data_map_ = new (place) MergedDataMap(std::move(*merged));
  }

  ET_CHECK_OK_OR_RETURN_ERROR(Executor::check_operators(*this));
  ET_CHECK_OK_OR_RETURN_ERROR(parse_external_constants(named_data));
  ET_CHECK_OK_OR_RETURN_ERROR(parse_values(named_data));
  ET_CHECK_OK_OR_RETURN_ERROR(Executor::load_delegates(*this, named_data, backend_options));
  ET_CHECK_OK_OR_RETURN_ERROR(Executor::load_chains(*this));
  step_state_ = {};
  init_state_ = InitializationState::Initialized;
  return Error::Ok;
}

Result<size_t> Method::get_num_external_constants() {
  size_t count = 0;
  for (const flat::Table value : flat::Table(serialization_plan_).tables(slot::kValues)) {
    if (external_constant(value)) ++count;
  }
  return count;
}

Error Method::parse_external_constants(const NamedDataMap* named_data_map) {
  const Result<size_t> count = get_num_external_constants();
  if (*count == 0) return Error::Ok;
  external_constants_ = memory_manager_->method_allocator()->allocateList<NamedData>(*count);
  if (external_constants_ == nullptr) return Error::MemoryAllocationFailed;
  for (const flat::Table value : flat::Table(serialization_plan_).tables(slot::kValues)) {
    const flat::Table tensor = external_constant(value);
    if (!tensor) continue;
    TensorSpec spec;
    ET_CHECK_OK_OR_RETURN_ERROR(read_spec(tensor, spec));
    const char* key = pte::full_name(tensor);
    ET_CHECK_OK_OR_RETURN_ERROR(deserialization::check_layout(named_data_map, key, spec));
    Result<FreeableBuffer> data = named_data_map->get_data(key);
    ET_CHECK_OR_RETURN_ERROR(data.ok(), InvalidExternalData, "No external data for '%s'.", key);
    new (&external_constants_[n_external_constants_++]) NamedData{key, std::move(*data)};
  }
  return Error::Ok;
}

Error Method::parse_values(const NamedDataMap* named_data_map) {
  const flat::Table plan(serialization_plan_);
  const auto serialized = plan.tables(slot::kValues);
  const size_t n_inputs = plan.vector<int32_t>(slot::kInputs).size();
  MemoryAllocator* allocator = memory_manager_->method_allocator();
  ET_CHECK_OK_OR_RETURN_ERROR(check_indices(plan, slot::kInputs, serialized.size()));
  ET_CHECK_OK_OR_RETURN_ERROR(check_indices(plan, slot::kOutputs, serialized.size()));
  values_ = allocator->allocateList<EValue>(serialized.size());
  input_set_ = allocator->allocateList<bool>(n_inputs);
  if (values_ == nullptr || input_set_ == nullptr) return Error::MemoryAllocationFailed;
  std::fill_n(input_set_, n_inputs, false);

  const TensorParser tensors(program_, memory_manager_, named_data_map,
                             {external_constants_, n_external_constants_});
  ValueParser parser(serialized, values_, allocator, tensors);
  // The count of constructed values is what the destructor goes by.
  for (; n_value_ < serialized.size(); ++n_value_) {
    ET_CHECK_OK_OR_RETURN_ERROR(parser.parse(n_value_), "Value %zu of %zu cannot be loaded.",
                                n_value_, serialized.size());
  }
  return Error::Ok;
}

Method::~Method() {
  for (size_t i = 0; i < n_value_; ++i) values_[i].~EValue();
  for (size_t i = 0; i < n_delegate_; ++i) delegates_[i].~BackendDelegate();
  for (size_t i = 0; i < n_external_constants_; ++i) external_constants_[i].~NamedData();
  if (merged_data_map_ != nullptr) merged_data_map_->~MergedDataMap();
}

// ---------------------------------------------------------------------------------------------
// Execution
// ---------------------------------------------------------------------------------------------

Error Method::execute_instruction() {
  using pte::InstructionType;
  Chain& chain = chains_[step_state_.chain_idx];
  const Instruction& instruction = chain.instructions[step_state_.instr_idx];
  size_t next = step_state_.instr_idx + 1;
  Error error = Error::Ok;
  switch (instruction.type) {
    case InstructionType::kKernel:
      error = Executor::call_kernel(*this, instruction);
      break;
    case InstructionType::kDelegate:
      error = Executor::call_delegate(*this, instruction);
      break;
    case InstructionType::kMove:
      *instruction.args[1] = *instruction.args[0];
      break;
    case InstructionType::kJumpFalse:
      error = Executor::jump_if_false(chain, instruction, next);
      break;
    default:  // kFree; loading rejected everything else
      internal::reset_data_ptr(instruction.args[0]->toTensor());
      break;
  }
  if (error == Error::Ok) step_state_.instr_idx = next;
  return error;
}

void Executor::skip_finished_chains(Method& method) {
  Method::StepState& state = method.step_state_;
  while (state.chain_idx < method.n_chains_ &&
         state.instr_idx >= method.chains_[state.chain_idx].instructions.size()) {
    state = {state.chain_idx + 1, 0};
  }
}

Error Executor::step(Method& method) {
  ET_CHECK_OR_RETURN_ERROR(method.initialized(), InvalidState, "Method is not initialized.");
  skip_finished_chains(method);
  if (method.step_state_.chain_idx == method.n_chains_) return Error::EndOfMethod;
  const Error error = method.execute_instruction();
  if (error == Error::Ok) skip_finished_chains(method);
  return error;
}

void Executor::rewind(Method& method) {
  method.step_state_ = {};
  for (size_t i = 0; i < method.n_chains_; ++i) method.chains_[i].backward_jumps = 0;
}

Error Method::step() { return Executor::step(*this); }

Error Method::execute() {
  ET_CHECK_OR_RETURN_ERROR(initialized(), InvalidState, "Method is not initialized.");
  for (size_t i = 0; i < inputs_size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(input_set_[i], InvalidArgument, "Input %zu has not been set.", i);
  }
  Error error = Error::Ok;
  while (error == Error::Ok) error = Executor::step(*this);
  Executor::rewind(*this);
  return error == Error::EndOfMethod ? Error::Ok : error;
}

Error Method::reset_execution() {
  ET_CHECK_OR_RETURN_ERROR(step_state_.chain_idx == n_chains_, InvalidState,
                           "Execution has not reached its end.");
  Executor::rewind(*this);
  return Error::Ok;
}

bool Method::in_progress() const {
  return step_state_.chain_idx != 0 || step_state_.instr_idx != 0;
}

Error Method::experimental_step() { return step(); }

Error Method::experimental_reset_execution() { return reset_execution(); }

MethodMeta Method::method_meta() const {
  return *program_->method_meta(flat::Table(serialization_plan_).string(slot::kPlanName));
}

EventTracer* Method::get_event_tracer() { return event_tracer_; }

}  // namespace executorch::runtime
