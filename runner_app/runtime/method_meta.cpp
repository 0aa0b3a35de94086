#include <executorch/runtime/executor/method_meta.h>

#include <cinttypes>

#include "program_schema.h"
#include "tensor_spec.h"

namespace executorch::runtime {
namespace {

namespace slot = pte::slot;

flat::Table table(const executorch_flatbuffer::ExecutionPlan* plan) { return flat::Table(plan); }

/// The value that entry `index` of the inputs or outputs stands for.
Result<flat::Table> listed_value(flat::Table plan, size_t list_slot, size_t index) {
  const auto list = plan.vector<int32_t>(list_slot);
  const auto values = plan.tables(slot::kValues);
  ET_CHECK_OR_RETURN_ERROR(index < list.size(), InvalidArgument,
                           "Input or output %zu of %zu does not exist.", index, list.size());
  ET_CHECK_OR_RETURN_ERROR(list[index] >= 0 && static_cast<size_t>(list[index]) < values.size(),
                           InvalidProgram, "Input or output %zu is value %" PRId32 " of %zu.",
                           index, list[index], values.size());
  return values[list[index]];
}

Result<Tag> listed_tag(flat::Table plan, size_t list_slot, size_t index) {
  Result<flat::Table> value = listed_value(plan, list_slot, index);
  if (!value.ok()) return value.error();
  return pte::tag_of(*value);
}

bool is_attribute(flat::Table value) {
  return pte::type_of(value) == pte::ValueType::kTensor &&
         pte::full_name(value.table(slot::kValue)) != nullptr;
}

}  // namespace

TensorInfo::TensorInfo(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                       aten::ScalarType scalar_type, const bool is_memory_planned,
                       std::string_view name, size_t nbytes)
    : sizes_(sizes),
      dim_order_(dim_order),
      name_(name),
      scalar_type_(scalar_type),
      is_memory_planned_(is_memory_planned),
      nbytes_(nbytes) {}

Result<TensorInfo> TensorInfo::create(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                                      aten::ScalarType scalar_type, const bool is_memory_planned,
                                      std::string_view name) {
  TensorSpec spec{sizes, dim_order, scalar_type};
  ET_CHECK_OK_OR_RETURN_ERROR(check_spec(spec));
  return TensorInfo(sizes, dim_order, scalar_type, is_memory_planned, name, spec.nbytes);
}

Span<const int32_t> TensorInfo::sizes() const { return sizes_; }
Span<const uint8_t> TensorInfo::dim_order() const { return dim_order_; }
aten::ScalarType TensorInfo::scalar_type() const { return scalar_type_; }
bool TensorInfo::is_memory_planned() const { return is_memory_planned_; }
size_t TensorInfo::nbytes() const { return nbytes_; }
std::string_view TensorInfo::name() const { return name_; }

namespace {

/// Calls `create` (TensorInfo's constructor is private to MethodMeta) with a tensor's fields.
template <typename Create>
Result<TensorInfo> tensor_info(const Result<flat::Table>& value, Create create) {
  if (!value.ok()) return value.error();
  ET_CHECK_OR_RETURN_ERROR(pte::type_of(*value) == pte::ValueType::kTensor, InvalidArgument,
                           "Value is not a tensor.");
  const flat::Table tensor = value->table(slot::kValue);
  // A constant that is returned has its memory as well.
  const bool planned =
      tensor.has(slot::kAllocation) || tensor.get<uint32_t>(slot::kDataBuffer) != 0;
  const char* name = pte::full_name(tensor);
  return create(tensor.vector<int32_t>(slot::kSizes), tensor.vector<uint8_t>(slot::kDimOrder),
                static_cast<aten::ScalarType>(tensor.get<int8_t>(slot::kScalarType)), planned,
                name == nullptr ? std::string_view() : std::string_view(name));
}

}  // namespace

MethodMeta::MethodMeta(const executorch_flatbuffer::ExecutionPlan* s_plan) : s_plan_(s_plan) {}

const char* MethodMeta::name() const { return table(s_plan_).string(slot::kPlanName); }

size_t MethodMeta::num_inputs() const {
  return table(s_plan_).vector<int32_t>(slot::kInputs).size();
}

Result<Tag> MethodMeta::input_tag(size_t index) const {
  return listed_tag(table(s_plan_), slot::kInputs, index);
}

Result<TensorInfo> MethodMeta::input_tensor_meta(size_t index) const {
  return tensor_info(listed_value(table(s_plan_), slot::kInputs, index), TensorInfo::create);
}

size_t MethodMeta::num_outputs() const {
  return table(s_plan_).vector<int32_t>(slot::kOutputs).size();
}

Result<Tag> MethodMeta::output_tag(size_t index) const {
  return listed_tag(table(s_plan_), slot::kOutputs, index);
}

Result<TensorInfo> MethodMeta::output_tensor_meta(size_t index) const {
  return tensor_info(listed_value(table(s_plan_), slot::kOutputs, index), TensorInfo::create);
}

size_t MethodMeta::num_attributes() const {
  size_t count = 0;
  for (const flat::Table value : table(s_plan_).tables(slot::kValues)) count += is_attribute(value);
  return count;
}

Result<TensorInfo> MethodMeta::attribute_tensor_meta(size_t index) const {
  size_t left = index;
  for (const flat::Table value : table(s_plan_).tables(slot::kValues)) {
    if (is_attribute(value) && left-- == 0) return tensor_info(value, TensorInfo::create);
  }
  ET_LOG(Error, "Attribute %zu does not exist.", index);
  return Error::InvalidArgument;
}

size_t MethodMeta::num_memory_planned_buffers() const {
  // Buffer 0 stands for the constants.
  const size_t count = table(s_plan_).vector<int64_t>(slot::kBufferSizes).size();
  return count == 0 ? 0 : count - 1;
}

Result<int64_t> MethodMeta::memory_planned_buffer_size(size_t index) const {
  const size_t count = num_memory_planned_buffers();
  ET_CHECK_OR_RETURN_ERROR(index < count, InvalidArgument,
                           "Planned buffer %zu of %zu does not exist.", index, count);
  const int64_t size = table(s_plan_).vector<int64_t>(slot::kBufferSizes)[index + 1];
  ET_CHECK_OR_RETURN_ERROR(size >= 0, InvalidProgram, "Planned buffer %zu has size %" PRId64 ".",
                           index, size);
  return size;
}

Result<etensor::Device> MethodMeta::memory_planned_buffer_device(size_t index) const {
  const size_t count = num_memory_planned_buffers();
  ET_CHECK_OR_RETURN_ERROR(index < count, InvalidArgument,
                           "Planned buffer %zu of %zu does not exist.", index, count);
  for (const flat::Table entry : table(s_plan_).tables(slot::kBufferDevices)) {
    if (entry.get<int32_t>(slot::kBufferIndex) != static_cast<int64_t>(index) + 1) continue;
    const auto type = entry.get<uint8_t>(slot::kBufferDeviceType);
    ET_CHECK_OR_RETURN_ERROR(type < etensor::kNumDeviceTypes, InvalidProgram,
                             "Planned buffer %zu is on an unknown device.", index);
    return etensor::Device(static_cast<etensor::DeviceType>(type),
                           entry.get<int8_t>(slot::kBufferDeviceIndex));
  }
  return etensor::Device(etensor::DeviceType::CPU);
}

bool MethodMeta::uses_backend(const char* backend_name) const {
  ET_CHECK_MSG(backend_name != nullptr, "No backend name.");
  for (const flat::Table delegate : table(s_plan_).tables(slot::kDelegates)) {
    const char* id = delegate.string(slot::kBackendId);
    if (id != nullptr && std::strcmp(id, backend_name) == 0) return true;
  }
  return false;
}

size_t MethodMeta::num_backends() const { return table(s_plan_).tables(slot::kDelegates).size(); }

Result<const char*> MethodMeta::get_backend_name(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_backends(), InvalidArgument,
                           "Backend %zu of %zu does not exist.", index, num_backends());
  const char* id = table(s_plan_).tables(slot::kDelegates)[index].string(slot::kBackendId);
  ET_CHECK_OR_RETURN_ERROR(id != nullptr, InvalidProgram, "Backend %zu has no name.", index);
  return id;
}

size_t MethodMeta::num_instructions() const {
  size_t count = 0;
  for (const flat::Table chain : table(s_plan_).tables(slot::kChains)) {
    count += chain.tables(slot::kInstructions).size();
  }
  return count;
}

}  // namespace executorch::runtime
