// driver REQUESTS RESPONSES: calls operators through the registry, one after the other.
// The files are described in tests/kernels/driver.py. Every tensor has a heap block of exactly its
// size, so that the address sanitizer sees each access outside of it.

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "register_operators.h"

using namespace executorch::aten;
using namespace executorch::runtime;

namespace {

struct TensorStorage {
  std::vector<SizesType> sizes;
  std::vector<DimOrderType> order;
  std::vector<StridesType> strides;
  size_t bytes;
  char* data;
  TensorImpl* impl;
};

struct ListStorage {
  std::deque<EValue> elements;
  std::vector<EValue*> pointers;
  std::vector<int64_t> unwrapped;
  BoxedEvalueList<int64_t>* list;
};

class Reader {
 public:
  explicit Reader(FILE* file) : file_(file) {}

  void bytes(void* to, size_t count) {
    if (count != 0 && fread(to, 1, count, file_) != count) {
      fprintf(stderr, "driver: request file ends early\n");
      exit(2);
    }
  }

  template <typename T>
  T number() {
    T value;
    bytes(&value, sizeof(T));
    return value;
  }

  template <typename T>
  std::vector<T> numbers(size_t count) {
    std::vector<T> values(count);
    bytes(values.data(), count * sizeof(T));
    return values;
  }

  std::string text() {
    std::string value(number<uint32_t>(), ' ');
    bytes(value.data(), value.size());
    return value;
  }

 private:
  FILE* file_;
};

struct TensorListStorage {
  std::deque<EValue> elements;
  std::vector<EValue*> pointers;
  std::vector<Tensor> tensors;
  std::vector<std::optional<Tensor>> optionals;
  std::unique_ptr<BoxedEvalueList<Tensor>> list;
  std::unique_ptr<BoxedEvalueList<std::optional<Tensor>>> optional_list;
};

// Storage of one call; deques, since values point to each other. A value touches its list when it
// goes, so the values come last.
struct Call {
  std::deque<TensorStorage> tensors;
  std::deque<ListStorage> lists;
  std::deque<TensorListStorage> tensor_lists;
  std::deque<std::string> texts;
  std::deque<executorch::aten::ArrayRef<char>> text_views;
  std::deque<EValue> values;
};

EValue read_tensor(Reader& in, Call& call) {
  TensorStorage& t = call.tensors.emplace_back();
  const auto type = static_cast<ScalarType>(in.number<int8_t>());
  const bool has_data = in.number<uint8_t>() != 0;
  const auto dynamism = static_cast<TensorShapeDynamism>(in.number<uint8_t>());
  const auto rank = in.number<uint32_t>();
  t.sizes = in.numbers<SizesType>(rank);
  t.order = in.numbers<DimOrderType>(rank);
  t.strides.resize(rank);
  StridesType stride = 1;
  for (size_t i = rank; i-- > 0;) {
    t.strides[t.order[i]] = stride;
    stride *= t.sizes[t.order[i]];
  }
  t.bytes = in.number<uint32_t>();
  t.data = static_cast<char*>(malloc(t.bytes));
  in.bytes(t.data, t.bytes);
  t.impl = new TensorImpl(type, rank, t.sizes.data(), has_data ? t.data : nullptr, t.order.data(),
                          t.strides.data(), dynamism);
  return EValue(Tensor(t.impl));
}

EValue read_list(Reader& in, Call& call) {
  ListStorage& l = call.lists.emplace_back();
  for (int64_t value : in.numbers<int64_t>(in.number<uint32_t>())) l.elements.emplace_back(value);
  for (EValue& element : l.elements) l.pointers.push_back(&element);
  l.pointers.reserve(1);  // an empty list still needs a pointer
  l.unwrapped.resize(l.elements.size() + 1);
  l.list = new BoxedEvalueList<int64_t>(l.pointers.data(), l.unwrapped.data(), l.elements.size());
  return EValue(l.list);
}

// `optional`: elements may be absent.
EValue read_tensor_list(Reader& in, Call& call, bool optional) {
  TensorListStorage& l = call.tensor_lists.emplace_back();
  for (uint32_t left = in.number<uint32_t>(); left > 0; --left) {
    l.elements.push_back(in.number<char>() == 'T' ? read_tensor(in, call) : EValue());
  }
  for (EValue& element : l.elements) l.pointers.push_back(element.isNone() ? nullptr : &element);
  const size_t count = l.elements.size();
  for (EValue& element : l.elements) {
    if (!optional) l.tensors.push_back(element.toTensor());
  }
  l.optionals.resize(count + 1);  // an empty list still needs pointers
  l.tensors.reserve(1);
  l.pointers.reserve(1);
  if (optional) {
    l.optional_list = std::make_unique<BoxedEvalueList<std::optional<Tensor>>>(
        l.pointers.data(), l.optionals.data(), count);
    return EValue(l.optional_list.get());
  }
  l.list = std::make_unique<BoxedEvalueList<Tensor>>(l.pointers.data(), l.tensors.data(), count);
  return EValue(l.list.get());
}

// A tensor in the memory of an argument that was read before.
EValue read_same(Reader& in, Call& call) {
  const auto index = in.number<uint32_t>();
  const auto offset = in.number<uint32_t>();
  const Tensor& other = call.values.at(index).toTensor();
  auto* impl = new TensorImpl(*other.unsafeGetTensorImpl());
  impl->set_data(other.mutable_data_ptr<char>() + offset);
  return EValue(Tensor(impl));
}

EValue read_text(Reader& in, Call& call) {
  const std::string& text = call.texts.emplace_back(in.text());
  return EValue(&call.text_views.emplace_back(text.data(), text.size()));
}

EValue read_value(Reader& in, Call& call) {
  switch (in.number<char>()) {
    case 'X':
      return read_tensor_list(in, call, false);
    case 'O':
      return read_tensor_list(in, call, true);
    case 'S':
      return read_text(in, call);
    case 'T':
      return read_tensor(in, call);
    case 'A':
      return read_same(in, call);
    case 'L':
      return read_list(in, call);
    case 'I':
      return EValue(in.number<int64_t>());
    case 'D':
      return EValue(in.number<double>());
    case 'B':
      return EValue(in.number<uint8_t>() != 0);
    default:
      return EValue();
  }
}

void write_number(FILE* to, uint32_t value) { fwrite(&value, sizeof(value), 1, to); }

void run_call(Reader& in, FILE* responses) {
  const std::string name = in.text();
  const auto output_index = in.number<uint32_t>();
  Call call;
  std::vector<EValue*> stack;
  for (uint32_t left = in.number<uint32_t>(); left > 0; --left) {
    call.values.push_back(read_value(in, call));
    stack.push_back(&call.values.back());
  }
  // The slot of the returned value.
  if (!stack.empty()) stack.push_back(stack.back());
  KernelRuntimeContext context;
  Result<OpFunction> function = get_op_function_from_registry(name.c_str());
  if (!function.ok()) {
    fprintf(stderr, "driver: %s is not registered\n", name.c_str());
    exit(2);
  }
  (*function)(context, {stack.data(), stack.size()});
  write_number(responses, static_cast<uint32_t>(context.failure_state()));
  const bool has_output = output_index < stack.size() && stack[output_index]->isTensor();
  if (has_output) {
    const Tensor& out = stack[output_index]->toTensor();
    write_number(responses, out.dim());
    for (size_t i = 0; i < out.sizes().size(); ++i) write_number(responses, out.sizes()[i]);
    // The driver's own storage: a call may hide it from the kernel behind a null pointer.
    const TensorStorage* storage = nullptr;
    for (const TensorStorage& t : call.tensors) {
      if (t.impl == out.unsafeGetTensorImpl()) storage = &t;
    }
    const size_t bytes = storage == nullptr ? 0 : storage->bytes;
    write_number(responses, bytes);
    if (bytes > 0) fwrite(storage->data, 1, bytes, responses);
  } else {
    write_number(responses, 0);
    write_number(responses, 0);
  }
  for (TensorStorage& t : call.tensors) {
    free(t.data);
    delete t.impl;
  }
  for (ListStorage& l : call.lists) delete l.list;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  runtime_init();
  if (register_operators() != Error::Ok) return 2;
  FILE* requests = fopen(argv[1], "rb");
  FILE* responses = fopen(argv[2], "wb");
  if (requests == nullptr || responses == nullptr) return 2;
  Reader in(requests);
  for (uint32_t left = in.number<uint32_t>(), i = 0; left > 0; --left, ++i) {
    fprintf(stderr, "@call\n");
    run_call(in, responses);
  }
  fclose(requests);
  return fclose(responses);
}
