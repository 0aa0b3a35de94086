#include "value_parser.h"

#include <cinttypes>

#include "program_schema.h"

namespace executorch::runtime::deserialization {
namespace {

namespace slot = pte::slot;
using aten::ArrayRef;
using aten::Tensor;
using pte::ValueType;

constexpr int64_t kNoTensor = -1;  // an absent element of a list of optional tensors

}  // namespace

/// Element `item` of a list of T is a value of the table of that type.
template <typename T>
bool ValueParser::accepts(int64_t item) const {
  constexpr bool kOptional = std::is_same_v<T, std::optional<Tensor>>;
  if (kOptional && item == kNoTensor) return true;
  if (item < 0 || static_cast<uint64_t>(item) >= serialized_.size()) return false;
  const ValueType type = pte::type_of(serialized_[static_cast<size_t>(item)]);
  if (std::is_same_v<T, int64_t>) return type == ValueType::kInt;
  return type == ValueType::kTensor || (kOptional && type == ValueType::kNull);
}

/// A list whose elements are stored in the program.
template <typename T>
Error ValueParser::flat_list(EValue* value, Span<const T> items) {
  auto* list = allocator_->allocateInstance<ArrayRef<T>>();
  if (list == nullptr) return Error::MemoryAllocationFailed;
  new (list) ArrayRef<T>(items.data(), items.size());
  new (value) EValue(list);
  return Error::Ok;
}

/// A list whose elements are other values.
template <typename T, typename Index>
Error ValueParser::boxed_list(EValue* value, Span<const Index> items) {
  auto* list = allocator_->allocateInstance<BoxedEvalueList<T>>();
  auto** wrapped = allocator_->allocateList<EValue*>(items.size());
  auto* unwrapped = allocator_->allocateList<T>(items.size());
  if (list == nullptr || wrapped == nullptr || unwrapped == nullptr) {
    return Error::MemoryAllocationFailed;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t item = items[i];
    ET_CHECK_OR_RETURN_ERROR(accepts<T>(item), InvalidProgram,
                             "Element %zu of a list is value %" PRId64
                             ": no such value or not of the list's type.",
                             i, item);
    wrapped[i] = item == kNoTensor ? nullptr : &values_[item];
    std::memset(static_cast<void*>(&unwrapped[i]), 0, sizeof(T));
  }
  new (list) BoxedEvalueList<T>(wrapped, unwrapped, static_cast<int>(items.size()));
  new (value) EValue(list);
  return Error::Ok;
}

Error ValueParser::parse(size_t index) {
  EValue* value = &values_[index];
  const flat::Table content = serialized_[index].table(slot::kValue);
  switch (pte::type_of(serialized_[index])) {
    case ValueType::kNull:
      new (value) EValue();
      return Error::Ok;
    case ValueType::kInt:
      new (value) EValue(content.get<int64_t>(slot::kPrimitive));
      return Error::Ok;
    case ValueType::kBool:
      new (value) EValue(content.get<uint8_t>(slot::kPrimitive) != 0);
      return Error::Ok;
    case ValueType::kDouble:
      new (value) EValue(content.get<double>(slot::kPrimitive));
      return Error::Ok;
    case ValueType::kTensor: {
      Result<Tensor> tensor = tensors_.parse(content);
      if (!tensor.ok()) return tensor.error();
      new (value) EValue(*tensor);
      return Error::Ok;
    }
    case ValueType::kString: {
      ET_CHECK_OR_RETURN_ERROR(content.has(slot::kPrimitive), InvalidProgram,
                               "String without characters.");
      return flat_list(value, content.vector<char>(slot::kPrimitive));
    }
    case ValueType::kDoubleList:
      return flat_list(value, content.vector<double>(slot::kPrimitive));
    case ValueType::kBoolList: {
      // Other values than 0 and 1 are no booleans.
      for (const uint8_t item : content.vector<uint8_t>(slot::kPrimitive)) {
        ET_CHECK_OR_RETURN_ERROR(item <= 1, InvalidProgram, "Boolean list with a value of %u.",
                                 static_cast<unsigned>(item));
      }
      return flat_list(value, content.vector<bool>(slot::kPrimitive));
    }
    case ValueType::kIntList:
      return boxed_list<int64_t>(value, content.vector<int64_t>(slot::kPrimitive));
    case ValueType::kTensorList:
      return boxed_list<Tensor>(value, content.vector<int32_t>(slot::kPrimitive));
    case ValueType::kOptionalTensorList:
      return boxed_list<std::optional<Tensor>>(value, content.vector<int32_t>(slot::kPrimitive));
    default:
      ET_LOG(Error, "Value without type.");
      return Error::InvalidProgram;
  }
}

}  // namespace executorch::runtime::deserialization
