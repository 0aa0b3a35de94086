#include <executorch/runtime/kernel/operator_registry.h>

#include <algorithm>

#include "primitives.h"

// Kernels that can be registered.
#ifndef RUNTIME_MAX_KERNELS
#define RUNTIME_MAX_KERNELS 128
#endif

namespace executorch::runtime {
namespace {

Kernel registered[RUNTIME_MAX_KERNELS];
size_t n_registered = 0;

bool same_key(const Kernel& a, const Kernel& b) {
  return std::strcmp(a.name_, b.name_) == 0 && a.kernel_key_ == b.kernel_key_;
}

/// Appends text to a buffer of fixed size, which stays terminated.
struct Appender {
  bool put(char c) {
    if (next + 1 >= end) return false;
    *next++ = c;
    *next = 0;
    return true;
  }
  bool put(unsigned number) {
    return (number < 10 || put(number / 10)) && put(static_cast<char>('0' + number % 10));
  }
  char* next;
  char* end;
};

}  // namespace

namespace internal {

Error make_kernel_key_string(Span<const TensorMeta> key, char* buf, size_t buf_size) {
  Appender text{buf, buf + buf_size};
  if (key.empty()) return Error::Ok;
  bool fits = buf_size > 0 && text.put('v') && text.put('1') && text.put('/');
  for (size_t i = 0; fits && i < key.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(static_cast<int>(key[i].dtype_) >= 0, InvalidArgument,
                             "Kernel key with an invalid type.");
    fits = (i == 0 || text.put('|')) && text.put(static_cast<unsigned>(key[i].dtype_)) &&
           text.put(';');
    const auto order = key[i].dim_order_;
    for (size_t d = 0; fits && d < order.size(); ++d) {
      fits = (d == 0 || text.put(',')) && text.put(static_cast<unsigned>(order[d]));
    }
  }
  return fits ? Error::Ok : Error::InvalidArgument;
}

}  // namespace internal

Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list,
                                                 Span<const Kernel> kernel_list) {
  char key[internal::kKernelKeyBufSize];
  key[0] = 0;
  OpFunction fallback = nullptr;
  for (const Kernel& kernel : kernel_list) {
    if (std::strcmp(kernel.name_, name) != 0) continue;
    if (kernel.kernel_key_.is_fallback()) {
      fallback = kernel.op_;
      continue;
    }
    if (key[0] == 0 && !meta_list.empty()) {
      ET_CHECK_OK_OR_RETURN_ERROR(internal::make_kernel_key_string(meta_list, key, sizeof(key)));
    }
    if (std::strcmp(kernel.kernel_key_.data(), key) == 0) return kernel.op_;
  }
  if (fallback == nullptr) return Error::OperatorMissing;
  return fallback;
}

Result<OpFunction> get_op_function_from_registry(const char* name,
                                                 Span<const TensorMeta> meta_list) {
  Result<OpFunction> found =
      get_op_function_from_registry(name, meta_list, get_registered_kernels());
  if (found.error() != Error::OperatorMissing) return found;
  return get_op_function_from_registry(name, meta_list, primitive_kernels());
}

bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list) {
  return get_op_function_from_registry(name, meta_list).ok();
}

Span<const Kernel> get_registered_kernels() { return {registered, n_registered}; }

Error register_kernels(const Span<const Kernel> kernels) {
  ET_CHECK_OR_RETURN_ERROR(kernels.size() <= RUNTIME_MAX_KERNELS - n_registered,
                           RegistrationExceedingMaxKernels,
                           "%zu kernels do not fit beside %zu in a registry of %d.", kernels.size(),
                           n_registered, RUNTIME_MAX_KERNELS);
  for (const Kernel& kernel : kernels) {
    ET_CHECK_OR_RETURN_ERROR(kernel.name_ != nullptr && kernel.op_ != nullptr, InvalidArgument,
                             "Kernel without name or function.");
    ET_CHECK_OR_RETURN_ERROR(
        std::none_of(registered, registered + n_registered,
                     [&](const Kernel& other) { return same_key(other, kernel); }),
        RegistrationAlreadyRegistered, "Kernel '%s' is already registered.", kernel.name_);
    registered[n_registered++] = kernel;
  }
  return Error::Ok;
}

}  // namespace executorch::runtime
