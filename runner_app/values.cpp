#include "values.h"

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/platform/log.h>

#include <cstring>
#include <new>

#include "file_io.h"

using executorch::aten::ScalarType;
using executorch::aten::TensorImpl;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::MethodMeta;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::Tag;

namespace {

bool is_permutation(Span<const uint8_t> order) {
  uint32_t seen = 0;
  for (const uint8_t dim : order) {
    if (dim >= order.size() || seen >> dim & 1U) return false;
    seen |= 1U << dim;
  }
  return true;
}

// Elements of a copy in `pool`, null if it is exhausted.
template <typename T>
T* copied(Span<const T> values, Pool& pool) {
  T* copy = pool.allocateList<T>(values.size());
  if (copy != nullptr && !values.empty()) memcpy(copy, values.data(), values.size() * sizeof(T));
  return copy;
}

// The innermost dimension of `order` has stride 1, each further one spans those inside it.
void fill_strides(const TensorDescription& description, int32_t* strides) {
  uint32_t stride = 1;  // wraps only where the tensor is empty
  for (size_t i = description.dim_order.size(); i-- > 0;) {
    const uint8_t dim = description.dim_order[i];
    strides[dim] = static_cast<int32_t>(stride);
    if (description.sizes[dim] > 1) stride *= static_cast<uint32_t>(description.sizes[dim]);
  }
}

const char* kind_of(Tag tag) {
  switch (tag) {
    case Tag::Tensor:
      return "tensor";
    case Tag::Int:
      return "int, as int64";
    case Tag::Double:
      return "float, as float64";
    case Tag::Bool:
      return "bool, as one byte";
    default:
      return "value of a kind that no file can hold";
  }
}

// Reads a file that must have exactly `size` bytes.
Error read_exactly(size_t index, Tag tag, const char* name, InputFile& file, void* data,
                   size_t size) {
  if (file.size() != size) {
    ET_LOG(Error, "Input %zu: file %s has %zu bytes, the program expects %zu (%s).", index, name,
           file.size(), size, kind_of(tag));
    return Error::InvalidArgument;
  }
  if (!file.read(data, size)) {
    ET_LOG(Error, "Input %zu: could not read %zu bytes from %s.", index, size, name);
    return Error::AccessFailed;
  }
  return Error::Ok;
}

template <typename T>
Result<EValue> read_scalar(size_t index, Tag tag, const char* name, InputFile& file) {
  T value;
  const Error error = read_exactly(index, tag, name, file, &value, sizeof(value));
  if (error != Error::Ok) return error;
  return EValue(value);
}

Result<EValue> read_bool(size_t index, const char* name, InputFile& file) {
  uint8_t value;
  const Error error = read_exactly(index, Tag::Bool, name, file, &value, sizeof(value));
  if (error != Error::Ok) return error;
  if (value > 1) {
    ET_LOG(Error, "Input %zu: %s holds %u, a bool is 0 or 1.", index, name, value);
    return Error::InvalidArgument;
  }
  return EValue(value == 1);
}

Result<EValue> read_tensor(const MethodMeta& meta, size_t index, const char* name, InputFile& file,
                           Pools& pools) {
  const auto info = meta.input_tensor_meta(index);
  if (!info.ok()) return info.error();
  const TensorDescription description{info->scalar_type(), info->sizes(), info->dim_order()};
  const auto bytes = tensor_bytes(description);
  if (!bytes.ok()) return bytes.error();
  constexpr size_t kDataAlignment = 16;
  // Checked before it is allocated: a wrong size is the likelier mistake than a small pool.
  void* data = file.size() == *bytes ? pools.files.allocate(*bytes, kDataAlignment) : nullptr;
  if (data == nullptr && file.size() == *bytes) return Error::MemoryAllocationFailed;
  const Error error = read_exactly(index, Tag::Tensor, name, file, data, *bytes);
  if (error != Error::Ok) return error;
  return make_tensor(description, data, pools.method);
}

}  // namespace

Result<size_t> tensor_bytes(const TensorDescription& description) {
  const auto& [type, sizes, dim_order] = description;
  ET_CHECK_OR_RETURN_ERROR(executorch::runtime::isValid(type), InvalidArgument,
                           "Tensor of unknown scalar type %d.", static_cast<int>(type));
  ET_CHECK_OR_RETURN_ERROR(sizes.size() <= executorch::runtime::kTensorDimensionLimit &&
                               dim_order.size() == sizes.size() && is_permutation(dim_order),
                           InvalidArgument, "Tensor of %zu dimensions with a bad dim order.",
                           sizes.size());
  uint64_t bytes = executorch::runtime::elementSize(type);
  for (const int32_t size : sizes) {
    ET_CHECK_OR_RETURN_ERROR(size >= 0, InvalidArgument, "Tensor of negative size.");
    bytes *= static_cast<uint32_t>(size);
    ET_CHECK_OR_RETURN_ERROR(bytes <= INT32_MAX, InvalidArgument, "Tensor of 2 GiB or more.");
  }
  return static_cast<size_t>(bytes);
}

Result<EValue> make_tensor(const TensorDescription& description, const void* data, Pool& pool) {
  const auto rank = description.sizes.size();
  auto* sizes = copied(description.sizes, pool);
  auto* dim_order = copied(description.dim_order, pool);
  auto* strides = pool.allocateList<int32_t>(rank);
  auto* tensor = pool.allocateInstance<TensorImpl>();
  if (sizes == nullptr || dim_order == nullptr || strides == nullptr || tensor == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  fill_strides(description, strides);
  // The runtime takes inputs by mutable pointer; it copies from them.
  new (tensor) TensorImpl(description.type, static_cast<ssize_t>(rank), sizes,
                          const_cast<void*>(data), dim_order, strides);
  return EValue(executorch::aten::Tensor(tensor));
}

Result<EValue> FileInputs::value(const MethodMeta& meta, size_t index, Pools& pools) const {
  const auto tag = meta.input_tag(index);
  if (!tag.ok()) return tag.error();
  const char* name = names_[index];
  InputFile file(name);
  if (!file.is_open() || !file.has_size()) {
    ET_LOG(Error, "Input %zu: could not open file %s.", index, name);
    return Error::AccessFailed;
  }
  switch (*tag) {
    case Tag::Tensor:
      return read_tensor(meta, index, name, file, pools);
    case Tag::Int:
      return read_scalar<int64_t>(index, *tag, name, file);
    case Tag::Double:
      return read_scalar<double>(index, *tag, name, file);
    case Tag::Bool:
      return read_bool(index, name, file);
    case Tag::None:
      return EValue();
    default:
      ET_LOG(Error, "Input %zu: the program expects a %s.", index, kind_of(*tag));
      return Error::NotSupported;
  }
}
