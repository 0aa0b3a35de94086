// A kernel, a backend and external data that stand for any other. What kernel and backend write is
// a hash of all they are given, so that equal outputs mean that everything they see is equal.
#pragma once

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/named_data_map.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#include <cstdint>
#include <cstring>

using namespace executorch::runtime;  // NOLINT: a test program
using executorch::aten::ScalarType;
using executorch::aten::Tensor;

struct Hash {
  void bytes(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    for (size_t i = 0; i < size; ++i) value = (value ^ p[i]) * 1099511628211u;
  }
  template <typename T>
  void number(T n) {
    bytes(&n, sizeof(n));
  }
  void shape(const Tensor& t) {
    number(static_cast<int>(t.scalar_type()));
    for (int32_t size : t.sizes()) number(size);
    for (uint8_t dim : t.dim_order()) number(dim);
    for (int32_t stride : t.strides()) number(stride);
  }
  void tensor(const Tensor& t) {
    shape(t);
    bytes(t.const_data_ptr(), t.nbytes());
  }
  void arg(const EValue& v) {
    number(static_cast<uint32_t>(v.tag));
    if (v.isInt()) number(v.toInt());
    if (v.isDouble()) number(v.toDouble());
    if (v.isBool()) number(v.toBool());
    if (v.isString()) bytes(v.toString().data(), v.toString().size());
    if (v.isTensor()) tensor(v.toTensor());
    if (v.isIntList()) {
      for (int64_t n : v.toIntList()) number(n);
    }
    if (v.isDoubleList()) {
      for (double n : v.toDoubleList()) number(n);
    }
    if (v.isBoolList()) {
      for (bool n : v.toBoolList()) number(n);
    }
    if (v.isTensorList()) {
      for (const Tensor& t : v.toTensorList()) tensor(t);
    }
    if (v.isListOptionalTensor()) {
      for (const auto& t : v.toListOptionalTensor()) {
        number(t.has_value());
        if (t.has_value()) tensor(*t);
      }
    }
  }
  uint64_t value = 14695981039346656037u;
};

inline void fill(const Tensor& t, uint64_t seed) {
  auto* out = static_cast<uint8_t*>(t.mutable_data_ptr());
  for (size_t i = 0; i < t.nbytes(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    out[i] = static_cast<uint8_t>(seed >> 56);
    if (t.scalar_type() == ScalarType::Bool) out[i] &= 1;
  }
}

inline void fill_from(Span<EValue*> args, size_t n_inputs) {
  Hash hash;
  for (size_t i = 0; i < n_inputs; ++i) hash.arg(*args[i]);
  for (size_t i = n_inputs; i < args.size(); ++i) {
    if (!args[i]->isTensor()) continue;
    hash.shape(args[i]->toTensor());
    fill(args[i]->toTensor(), hash.value + i);
  }
}

inline void trace_kernel(KernelRuntimeContext& context, Span<EValue*> args) {
  if (args.empty() || !args[args.size() - 1]->isTensor()) return context.fail(Error::InvalidType);
  const Result<void*> temporary = context.allocate_temp(64);
  if (!temporary.ok()) return context.fail(temporary.error());
  const Tensor& out = args[args.size() - 1]->toTensor();
  if (out.shape_dynamism() != executorch::aten::TensorShapeDynamism::STATIC &&
      args[0]->isTensor()) {
    const Error error = resize_tensor(out, args[0]->toTensor().sizes());
    if (error != Error::Ok) return context.fail(error);
  }
  // Out variants pass their output twice: as the last argument and as the returned value.
  fill_from(args, args.size() > 1 ? args.size() - 2 : 0);
}

class TraceBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec> specs) const override {
    auto* hash = context.get_runtime_allocator()->allocateInstance<Hash>();
    if (hash == nullptr) return Error::MemoryAllocationFailed;
    new (hash) Hash();
    hash->bytes(processed->data(), processed->size());
    for (const CompileSpec& spec : specs) {
      hash->bytes(spec.key, std::strlen(spec.key));
      hash->bytes(spec.value.buffer, spec.value.nbytes);
    }
    const NamedDataMap* map = context.get_named_data_map();
    const uint32_t n_keys = map == nullptr ? 0 : *map->get_num_keys();
    for (uint32_t i = 0; i < n_keys; ++i) {
      const char* key = *map->get_key(i);
      auto data = map->get_data(key);
      if (!data.ok()) return data.error();
      hash->bytes(key, std::strlen(key));
      hash->bytes(data->data(), data->size());
    }
    return static_cast<DelegateHandle*>(hash);
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle,
                Span<EValue*> args) const override {
    if (args.empty() || !args[args.size() - 1]->isTensor()) return Error::InvalidType;
    Hash hash = *static_cast<Hash*>(handle);
    for (size_t i = 0; i + 1 < args.size(); ++i) hash.arg(*args[i]);
    fill(args[args.size() - 1]->toTensor(), hash.value);
    return Error::Ok;
  }

  void destroy(DelegateHandle*) const override { ++destroyed; }
  static inline int destroyed = 0;
};

/// Has data for every attribute of a method: bytes made from its name.
class TraceData final : public NamedDataMap {
 public:
  explicit TraceData(const MethodMeta& meta) : meta_(meta) {}

  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override {
    const Result<TensorInfo> info = find(key);
    if (!info.ok()) return info.error();
    return TensorLayout::create(info->sizes(), info->dim_order(), info->scalar_type());
  }
  Result<FreeableBuffer> get_data(std::string_view key) const override {
    const Result<TensorInfo> info = find(key);
    if (!info.ok()) return info.error();
    auto* data = new uint8_t[info->nbytes() + 1];
    std::memset(data, static_cast<int>(key.size() + key.back()), info->nbytes());
    return FreeableBuffer(data, info->nbytes(), [](void*, void* memory, size_t) {
      delete[] static_cast<uint8_t*>(memory);
    });
  }
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override {
    std::memset(buffer, static_cast<int>(key.size()), size);
    return Error::Ok;
  }
  Result<uint32_t> get_num_keys() const override { return 0u; }
  Result<const char*> get_key(uint32_t) const override { return Error::NotFound; }

 private:
  Result<TensorInfo> find(std::string_view key) const {
    for (size_t i = 0; i < meta_.num_attributes(); ++i) {
      const Result<TensorInfo> info = meta_.attribute_tensor_meta(i);
      if (info.ok() && info->name() == key) return *info;
    }
    return Error::NotFound;
  }
  MethodMeta meta_;
};
