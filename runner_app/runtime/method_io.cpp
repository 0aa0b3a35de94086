// Inputs, outputs and attributes of a loaded method.
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/method.h>

#include <cinttypes>
#include <cmath>

#include "chain.h"

namespace executorch::runtime {
namespace {

namespace slot = pte::slot;

Span<const int32_t> indices(const executorch_flatbuffer::ExecutionPlan* plan, size_t list_slot) {
  return flat::Table(plan).vector<int32_t>(list_slot);
}

/// Values other than tensors are part of the program: an input may only repeat them.
bool same_primitive(const EValue& own, const EValue& other) {
  switch (own.tag) {
    case Tag::Int:
      return own.toInt() == other.toInt();
    case Tag::Bool:
      return own.toBool() == other.toBool();
    case Tag::Double: {
      const double a = own.toDouble();
      const double b = other.toDouble();
      return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-4;
    }
    case Tag::String:
      return own.toString() == other.toString();
    default:
      return own.tag == Tag::None;
  }
}

}  // namespace

size_t Method::inputs_size() const { return indices(serialization_plan_, slot::kInputs).size(); }

size_t Method::outputs_size() const { return indices(serialization_plan_, slot::kOutputs).size(); }

size_t Method::get_input_index(size_t i) const {
  ET_CHECK_MSG(i < inputs_size(), "Input %zu of %zu does not exist.", i, inputs_size());
  return static_cast<size_t>(indices(serialization_plan_, slot::kInputs)[i]);
}

size_t Method::get_output_index(size_t i) const {
  ET_CHECK_MSG(i < outputs_size(), "Output %zu of %zu does not exist.", i, outputs_size());
  return static_cast<size_t>(indices(serialization_plan_, slot::kOutputs)[i]);
}

const EValue& Method::get_value(size_t i) const {
  ET_CHECK_MSG(i < n_value_, "Value %zu of %zu does not exist.", i, n_value_);
  return values_[i];
}

EValue& Method::mutable_value(size_t i) {
  ET_CHECK_MSG(i < n_value_, "Value %zu of %zu does not exist.", i, n_value_);
  return values_[i];
}

const EValue& Method::get_input(size_t i) const { return get_value(get_input_index(i)); }
EValue& Method::mutable_input(size_t i) { return mutable_value(get_input_index(i)); }
const EValue& Method::get_output(size_t i) const { return get_value(get_output_index(i)); }
EValue& Method::mutable_output(size_t i) { return mutable_value(get_output_index(i)); }

Error Method::set_input(const EValue& input_evalue, size_t input_idx) {
  ET_CHECK_OR_RETURN_ERROR(
      initialized() && step_state_.chain_idx == 0 && step_state_.instr_idx == 0, InvalidState,
      "Inputs cannot be set before loading or during execution.");
  ET_CHECK_OR_RETURN_ERROR(input_idx < inputs_size(), InvalidArgument,
                           "Input %zu of %zu does not exist.", input_idx, inputs_size());
  EValue& own = mutable_value(get_input_index(input_idx));
  ET_CHECK_OR_RETURN_ERROR(own.tag == input_evalue.tag, InvalidArgument,
                           "Input %zu has type %" PRIu32 " instead of %" PRIu32 ".", input_idx,
                           static_cast<uint32_t>(input_evalue.tag), static_cast<uint32_t>(own.tag));
  if (!own.isTensor()) {
    ET_CHECK_OR_RETURN_ERROR(same_primitive(own, input_evalue), InvalidArgument,
                             "Input %zu is not the value that the program was exported with.",
                             input_idx);
    input_set_[input_idx] = true;
    return Error::Ok;
  }
  const aten::Tensor& to = own.toTensor();
  const aten::Tensor& from = input_evalue.toTensor();
  ET_CHECK_OR_RETURN_ERROR(to.scalar_type() == from.scalar_type(), InvalidArgument,
                           "Input %zu has scalar type %d instead of %d.", input_idx,
                           static_cast<int>(from.scalar_type()),
                           static_cast<int>(to.scalar_type()));
  ET_CHECK_OR_RETURN_ERROR(tensors_have_same_dim_order(to, from), InvalidArgument,
                           "Input %zu has another dim order than the program's.", input_idx);
  ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(to, from.sizes()),
                              "Input %zu has another shape than the program allows.", input_idx);
  const Result<TensorInfo> meta = method_meta().input_tensor_meta(input_idx);
  if (!meta.ok()) return meta.error();
  ET_CHECK_OR_RETURN_ERROR(!Executor::is_program_data(*this, to), InvalidProgram,
                           "Input %zu is a constant.", input_idx);
  ET_CHECK_OK_OR_RETURN_ERROR(meta->is_memory_planned() ? internal::copy_tensor_data(to, from)
                                                        : internal::share_tensor_data(to, from));
  input_set_[input_idx] = true;
  return Error::Ok;
}

Error Method::set_inputs(const aten::ArrayRef<EValue>& input_evalues) {
  ET_CHECK_OR_RETURN_ERROR(initialized() && input_evalues.size() == inputs_size(), InvalidArgument,
                           "%zu inputs instead of %zu.", input_evalues.size(), inputs_size());
  for (size_t i = 0; i < input_evalues.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_input(input_evalues[i], i));
  }
  return Error::Ok;
}

Error Method::set_output_data_ptr(void* buffer, size_t size, size_t output_idx) {
  ET_CHECK_OR_RETURN_ERROR(initialized(), InvalidState, "Method is not initialized.");
  ET_CHECK_OR_RETURN_ERROR(output_idx < outputs_size(), InvalidArgument,
                           "Output %zu of %zu does not exist.", output_idx, outputs_size());
  EValue& output = mutable_value(get_output_index(output_idx));
  ET_CHECK_OR_RETURN_ERROR(output.isTensor(), InvalidArgument, "Output %zu is no tensor.",
                           output_idx);
  const Result<TensorInfo> meta = method_meta().output_tensor_meta(output_idx);
  if (!meta.ok()) return meta.error();
  ET_CHECK_OR_RETURN_ERROR(!meta->is_memory_planned(), InvalidState,
                           "Output %zu has its memory from the program.", output_idx);
  ET_CHECK_OR_RETURN_ERROR(meta->nbytes() <= size, InvalidArgument,
                           "Output %zu of %zu bytes does not fit a buffer of %zu.", output_idx,
                           meta->nbytes(), size);
  return internal::set_tensor_data(output.toTensor(), buffer, size);
}

Error Method::get_outputs(EValue* output_evalues, size_t length) {
  ET_CHECK_OR_RETURN_ERROR(initialized(), InvalidState, "Method is not initialized.");
  ET_CHECK_OR_RETURN_ERROR(length >= outputs_size(), InvalidArgument,
                           "Room for %zu of %zu outputs.", length, outputs_size());
  for (size_t i = 0; i < length; ++i) {
    output_evalues[i] = i < outputs_size() ? get_output(i) : EValue();
  }
  return Error::Ok;
}

Error Method::get_inputs(EValue* input_evalues, size_t length) {
  ET_CHECK_OR_RETURN_ERROR(initialized(), InvalidState, "Method is not initialized.");
  ET_CHECK_OR_RETURN_ERROR(length >= inputs_size(), InvalidArgument, "Room for %zu of %zu inputs.",
                           length, inputs_size());
  for (size_t i = 0; i < length; ++i) {
    input_evalues[i] = i < inputs_size() ? get_value(get_input_index(i)) : EValue();
  }
  return Error::Ok;
}

Result<aten::Tensor> Method::get_attribute(std::string_view name) {
  const auto serialized = flat::Table(serialization_plan_).tables(slot::kValues);
  for (size_t i = 0; i < n_value_; ++i) {
    if (pte::type_of(serialized[i]) != pte::ValueType::kTensor) continue;
    const char* own = pte::full_name(serialized[i].table(slot::kValue));
    if (own != nullptr && name == own) return values_[i].tryToTensor();
  }
  return Error::NotFound;
}

}  // namespace executorch::runtime
