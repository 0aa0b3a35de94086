// Programs and bundles, from the first byte that is read to the last output that is written.
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include <cstdlib>

#include "input.h"
#include "memory_loader.h"
#include "model.h"
#include "register_operators.h"
#include "stubs.h"

using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::Tag;

namespace {

// Inputs of the kinds and shapes that the program wants, all zero.
class Zeros final : public InputSource {
 public:
  explicit Zeros(size_t count) : count_(count) {}
  size_t count() const override { return count_; }

  Result<EValue> value(const MethodMeta& meta, size_t index, Pools& pools) const override {
    const auto tag = meta.input_tag(index);
    if (!tag.ok()) return tag.error();
    switch (*tag) {
      case Tag::Int:
        return EValue(int64_t{0});
      case Tag::Double:
        return EValue(0.0);
      case Tag::Bool:
        return EValue(false);
      case Tag::Tensor:
        return tensor(meta, index, pools);
      default:
        return EValue();
    }
  }

 private:
  static Result<EValue> tensor(const MethodMeta& meta, size_t index, Pools& pools) {
    const auto info = meta.input_tensor_meta(index);
    if (!info.ok()) return info.error();
    const TensorDescription description{info->scalar_type(), info->sizes(), info->dim_order()};
    const auto bytes = tensor_bytes(description);
    if (!bytes.ok()) return bytes.error();
    void* data = pools.files.allocate(*bytes, 16);
    if (data == nullptr) return Error::MemoryAllocationFailed;
    memset(data, 0, *bytes);
    return make_tensor(description, data, pools.method);
  }

  size_t count_;
};

size_t input_count(Span<const uint8_t> file) {
  MemoryLoader loader(file);
  const auto program = Program::load(&loader);
  if (!program.ok()) return 0;
  const auto name = program->get_method_name(0);
  if (!name.ok()) return 0;
  const auto meta = program->method_meta(*name);
  return meta.ok() ? meta->num_inputs() : 0;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  executorch::runtime::runtime_init();
  if (register_operators() != Error::Ok || register_stubs() != Error::Ok) abort();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Input input(data, size);
  static Pools pools;
  pools.files.reset();
  size_t written = 0;
  run_model({"input", input.bytes()}, Zeros(input_count(input.bytes())), "out", pools, &written);
  return 0;
}
