#include <executorch/runtime/core/evalue.h>

#include <algorithm>
#include <cstring>

namespace executorch::runtime {

using OptionalTensor = std::optional<aten::Tensor>;

// An element without value stands for "no tensor", as does one whose value is None.

template <>
Result<aten::ArrayRef<OptionalTensor>> BoxedEvalueList<OptionalTensor>::tryGet() const {
  for (size_t i = 0; i < wrapped_vals_.size(); ++i) {
    if (wrapped_vals_[i] == nullptr || wrapped_vals_[i]->isNone()) {
      unwrapped_vals_[i] = std::nullopt;
      continue;
    }
    const Result<aten::Tensor> tensor = wrapped_vals_[i]->tryToTensor();
    if (!tensor.ok()) return tensor.error();
    unwrapped_vals_[i] = *tensor;
  }
  return aten::ArrayRef<OptionalTensor>(unwrapped_vals_, wrapped_vals_.size());
}

template <>
aten::ArrayRef<OptionalTensor> BoxedEvalueList<OptionalTensor>::get() const {
  const auto list = tryGet();
  ET_CHECK_MSG(list.ok(), "List of optional tensors has another element.");
  return *list;
}

size_t tag_to_string(Tag tag, char* buffer, size_t buffer_size) {
  static constexpr const char* kNames[] = {
#define NAME_OF(tag) #tag,
      EXECUTORCH_FORALL_TAGS(NAME_OF)
#undef NAME_OF
  };
  const auto index = static_cast<size_t>(tag);
  const char* name = index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "Unknown";
  const size_t length = std::strlen(name);
  if (buffer_size > 0) {
    const size_t copied = std::min(length, buffer_size - 1);
    std::memcpy(buffer, name, copied);
    buffer[copied] = 0;
  }
  return length + 1;
}

}  // namespace executorch::runtime
