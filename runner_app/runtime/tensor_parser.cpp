#include "tensor_parser.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

#include <algorithm>
#include <cinttypes>

#include "program_schema.h"

namespace executorch::runtime::deserialization {
namespace {

namespace slot = pte::slot;

constexpr uint8_t kExternalLocation = 1;

template <typename T>
bool equal(Span<const T> a, Span<const T> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

}  // namespace

bool is_external(flat::Table tensor) {
  return tensor.table(slot::kExtraInfo).get<uint8_t>(slot::kLocation) == kExternalLocation;
}

Error check_layout(const NamedDataMap* map, const char* key, const TensorSpec& spec) {
  ET_CHECK_OR_RETURN_ERROR(key != nullptr, InvalidExternalData, "External tensor without name.");
  ET_CHECK_OR_RETURN_ERROR(map != nullptr, InvalidExternalData,
                           "Not supported: data outside of the program, here of '%s'.", key);
  const Result<const TensorLayout> layout = map->get_tensor_layout(key);
  if (layout.error() == Error::NotImplemented) return Error::Ok;  // a map of plain bytes
  ET_CHECK_OR_RETURN_ERROR(layout.ok(), InvalidExternalData, "No external data for '%s'.", key);
  ET_CHECK_OR_RETURN_ERROR(layout->scalar_type() == spec.scalar_type &&
                               equal(layout->sizes(), spec.sizes) &&
                               equal(layout->dim_order(), spec.dim_order),
                           InvalidExternalData, "External data of '%s' has another layout.", key);
  return Error::Ok;
}

Result<void*> TensorParser::planned_memory(flat::Table allocation, const TensorSpec& spec) const {
  const auto id = allocation.get<uint32_t>(slot::kMemoryId);
  const uint64_t offset = static_cast<uint64_t>(allocation.get<uint32_t>(slot::kOffsetHigh)) << 32 |
                          allocation.get<uint32_t>(slot::kOffsetLow);
  // Buffer 0 stands for the constants.
  ET_CHECK_OR_RETURN_ERROR(
      memory_->planned_memory() != nullptr && id > 0 && offset <= SIZE_MAX, InvalidProgram,
      "Tensor in planned buffer %" PRIu32 " at offset %" PRIu64 ".", id, offset);
  return memory_->planned_memory()->get_offset_address(id - 1, static_cast<size_t>(offset),
                                                       spec.nbytes);
}

Error TensorParser::load_initial_value(flat::Table tensor, const TensorSpec& spec,
                                       void* buffer) const {
  if (is_external(tensor)) {
    const char* key = pte::full_name(tensor);
    ET_CHECK_OK_OR_RETURN_ERROR(check_layout(named_data_, key, spec));
    return named_data_->load_data_into(key, buffer, spec.nbytes);
  }
  const auto index = tensor.get<uint32_t>(slot::kDataBuffer);
  if (index == 0) return Error::Ok;
  const auto list = tensor.table(slot::kExtraInfo).get<uint64_t>(slot::kMutableSegment);
  ET_CHECK_OR_RETURN_ERROR(list <= SIZE_MAX, InvalidProgram,
                           "Mutable data %" PRIu64 " does not exist.", list);
  return program_->load_mutable_subsegment_into(static_cast<size_t>(list), index, spec.nbytes,
                                                buffer);
}

Result<const void*> TensorParser::external_constant(flat::Table tensor,
                                                    const TensorSpec& spec) const {
  const char* key = pte::full_name(tensor);
  ET_CHECK_OR_RETURN_ERROR(key != nullptr, InvalidProgram, "External tensor without name.");
  for (const NamedData& constant : external_constants_) {
    if (std::strcmp(constant.key, key) != 0) continue;
    ET_CHECK_OR_RETURN_ERROR(constant.buffer.size() >= spec.nbytes, InvalidExternalData,
                             "External data of '%s' has %zu of %zu bytes.", key,
                             constant.buffer.size(), spec.nbytes);
    return constant.buffer.data_safe();
  }
  return Error::InvalidExternalData;
}

Result<void*> TensorParser::data(flat::Table tensor, const TensorSpec& spec) const {
  if (tensor.has(slot::kAllocation)) {
    Result<void*> memory = planned_memory(tensor.table(slot::kAllocation), spec);
    if (memory.ok()) {
      ET_CHECK_OK_OR_RETURN_ERROR(load_initial_value(tensor, spec, *memory));
    }
    return memory;
  }
  const auto index = tensor.get<uint32_t>(slot::kDataBuffer);
  if (index == 0 && !is_external(tensor)) return static_cast<void*>(nullptr);
  Result<const void*> constant = is_external(tensor)
                                     ? external_constant(tensor, spec)
                                     : program_->get_constant_buffer_data(index, spec.nbytes);
  if (!constant.ok()) return constant.error();
  return const_cast<void*>(*constant);
}

Result<aten::Tensor> TensorParser::parse(flat::Table tensor) const {
  TensorSpec spec;
  ET_CHECK_OK_OR_RETURN_ERROR(read_spec(tensor, spec));
  const auto dynamism = tensor.get<uint8_t>(slot::kDynamism);
  const flat::Table extra = tensor.table(slot::kExtraInfo);
  ET_CHECK_OR_RETURN_ERROR(tensor.get<int32_t>(slot::kStorageOffset) == 0, NotSupported,
                           "Not supported: tensor with a storage offset.");
  ET_CHECK_OR_RETURN_ERROR(dynamism <= static_cast<uint8_t>(TensorShapeDynamism::DYNAMIC_BOUND),
                           NotSupported,
                           "Not supported: tensor of unbounded or unknown shape dynamism %u.",
                           static_cast<unsigned>(dynamism));
  ET_CHECK_OR_RETURN_ERROR(extra.get<uint8_t>(slot::kDeviceType) == 0, NotSupported,
                           "Not supported: tensor on another device than the CPU.");

  const Result<void*> memory = data(tensor, spec);
  if (!memory.ok()) return memory.error();
  const size_t alignment = std::min<size_t>(element_size(spec.scalar_type), alignof(int64_t));
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(*memory) % alignment == 0, InvalidProgram,
                           "Data of a tensor is not aligned to %zu bytes.", alignment);

  MemoryAllocator* allocator = memory_->method_allocator();
  const size_t rank = spec.sizes.size();
  auto* impl = allocator->allocateInstance<aten::TensorImpl>();
  auto* strides = allocator->allocateList<aten::StridesType>(rank);
  // Sizes are only written to when a dynamic tensor is resized, the dim order never.
  const bool is_static = dynamism == static_cast<uint8_t>(TensorShapeDynamism::STATIC);
  auto* sizes = is_static ? const_cast<int32_t*>(spec.sizes.data())
                          : allocator->allocateList<aten::SizesType>(rank);
  if (impl == nullptr || strides == nullptr || (sizes == nullptr && !is_static)) {
    return Error::MemoryAllocationFailed;
  }
  if (!is_static) std::copy(spec.sizes.begin(), spec.sizes.end(), sizes);
  dim_order_to_stride_nocheck(spec.sizes.data(), spec.dim_order.data(), rank, strides);
  new (impl) aten::TensorImpl(spec.scalar_type, static_cast<ssize_t>(rank), sizes, *memory,
                              const_cast<uint8_t*>(spec.dim_order.data()), strides,
                              static_cast<TensorShapeDynamism>(dynamism));
  return aten::Tensor(impl);
}

}  // namespace executorch::runtime::deserialization
