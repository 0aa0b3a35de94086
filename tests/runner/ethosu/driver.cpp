// driver run FAULT BLOB…: loads each blob as a delegate, then runs all of them twice.
// driver mutate SEED BLOB: loads and runs every truncation of a blob, and damaged copies of it.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "ethosu/backend.h"
#include "model.h"

using namespace executorch::runtime;
using executorch::aten::ScalarType;
using executorch::aten::SizesType;
using executorch::aten::TensorImpl;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes read_file(const char* name) {
  std::ifstream file(name, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// A tensor of 8 elements of int8.
struct Vector {
  Vector()
      : impl(ScalarType::Char, 1, &size, data, &order, &stride),
        value(executorch::aten::Tensor(&impl)) {}
  int8_t data[8] = {};
  SizesType size = 8;
  executorch::aten::DimOrderType order = 0;
  executorch::aten::StridesType stride = 1;
  TensorImpl impl;
  EValue value;
};

// A loaded delegate; the blob is in a heap block of exactly its size.
struct Delegate {
  explicit Delegate(const Bytes& blob)
      : bytes(new (std::align_val_t(16)) uint8_t[blob.size()]), allocator(sizeof(memory), memory) {
    std::copy(blob.begin(), blob.end(), bytes);
    FreeableBuffer processed(bytes, blob.size(), nullptr);
    BackendInitContext context(&allocator);
    const auto made = backend()->init(context, &processed, {});
    error = made.error();
    if (made.ok()) handle = *made;
  }
  ~Delegate() {
    if (handle != nullptr) backend()->destroy(handle);
    operator delete[](bytes, std::align_val_t(16));
  }
  Delegate(const Delegate&) = delete;
  Delegate& operator=(const Delegate&) = delete;

  static BackendInterface* backend() { return get_backend_class(ethosu::kBackendName); }

  Error run(Vector& in, Vector& out) {
    EValue* arguments[] = {&in.value, &out.value};
    BackendExecutionContext context;
    return backend()->execute(context, handle, {arguments, 2});
  }

  uint8_t* bytes;
  alignas(16) uint8_t memory[1024];
  MemoryAllocator allocator;
  Error error = Error::Ok;
  DelegateHandle* handle = nullptr;
};

int run(const std::string& fault, char** names, int count) {
  model.break_as(fault);
  std::vector<std::unique_ptr<Delegate>> delegates;
  for (int i = 0; i < count; ++i) {
    delegates.push_back(std::make_unique<Delegate>(read_file(names[i])));
    printf("load %s\n", to_string(delegates.back()->error));
    if (delegates.back()->error != Error::Ok) return 1;
  }
  for (int i = 0; i < 2 * count; ++i) {
    Vector in;
    Vector out;
    for (int k = 0; k < 8; ++k) in.data[k] = static_cast<int8_t>(10 * i + k);
    const Error error = delegates[i % count]->run(in, out);
    printf("run %s", to_string(error));
    for (int8_t element : out.data) printf(" %d", element);
    printf("\n");
  }
  printf("jobs %d armed %d\n", model.jobs, model.armed);
  return 0;
}

bool survives(const Bytes& blob) {
  Delegate delegate(blob);
  if (delegate.error != Error::Ok) return false;
  Vector in;
  Vector out;
  return delegate.run(in, out) == Error::Ok;
}

int mutate(unsigned seed, const Bytes& blob) {
  int accepted = 0;
  for (size_t size = 0; size < blob.size(); ++size) {
    accepted += survives(Bytes(blob.begin(), blob.begin() + static_cast<ptrdiff_t>(size)));
  }
  printf("truncations accepted %d of %zu\n", accepted, blob.size());
  std::mt19937 random(seed);
  accepted = 0;
  constexpr int kCopies = 4000;
  for (int i = 0; i < kCopies; ++i) {
    Bytes damaged = blob;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const uint8_t special[] = {0, 1, 0x7F, 0x80, 0xFF, static_cast<uint8_t>(random())};
      damaged[random() % damaged.size()] = special[random() % 6];
    }
    accepted += survives(damaged);
  }
  printf("damaged copies accepted %d of %d\n", accepted, kCopies);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  runtime_init();
  if (argc < 4 || ethosu::register_backend() != Error::Ok) return 2;
  if (argv[1] == std::string("run")) return run(argv[2], argv + 3, argc - 3);
  return mutate(static_cast<unsigned>(atoi(argv[2])), read_file(argv[3]));
}
