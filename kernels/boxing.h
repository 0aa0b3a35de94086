// Calls a kernel from a program's argument list: every argument is checked before it is unboxed.
#pragma once

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/operator_registry.h>

#include <utility>

#include "types.h"
#include "written.h"

namespace kernels {

namespace types {
using executorch::runtime::EValue;
using executorch::runtime::Kernel;
}  // namespace types

using namespace types;

// Unbox<T>: `accepts` is true if `get` can return the value as a T without aborting.
template <typename T>
struct Unbox;

template <>
struct Unbox<Tensor> {
  static constexpr const char* kName = "Tensor";
  static bool accepts(const EValue& value) {
    return value.isTensor() && value.toTensor().unsafeGetTensorImpl() != nullptr;
  }
  static Tensor& get(EValue& value) { return value.toTensor(); }
};

template <>
struct Unbox<int64_t> {
  static constexpr const char* kName = "int";
  static bool accepts(const EValue& value) { return value.isInt(); }
  static int64_t get(EValue& value) { return value.toInt(); }
};

// A float that was a whole number in Python is serialized as an int.
template <>
struct Unbox<double> {
  static constexpr const char* kName = "float";
  static bool accepts(const EValue& value) { return value.isDouble() || value.isInt(); }
  static double get(EValue& value) {
    return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
  }
};

template <>
struct Unbox<bool> {
  static constexpr const char* kName = "bool";
  static bool accepts(const EValue& value) { return value.isBool(); }
  static bool get(EValue& value) { return value.toBool(); }
};

template <>
struct Unbox<Scalar> {
  static constexpr const char* kName = "Scalar";
  static bool accepts(const EValue& value) { return value.isScalar(); }
  static Scalar get(EValue& value) { return value.toScalar(); }
};

template <>
struct Unbox<ScalarType> {
  static constexpr const char* kName = "ScalarType";
  static bool accepts(const EValue& value) {
    return value.isInt() && value.toInt() >= 0 &&
           value.toInt() < static_cast<int64_t>(ScalarType::NumOptions);
  }
  static ScalarType get(EValue& value) { return value.toScalarType(); }
};

template <>
struct Unbox<std::string_view> {
  static constexpr const char* kName = "str";
  static bool accepts(const EValue& value) { return value.tryToString().ok(); }
  static std::string_view get(EValue& value) { return value.toString(); }
};

// `try…` materializes the elements and reports the first that is null or of another type.
template <typename T>
struct Unbox<ArrayRef<T>> {
  static constexpr const char* kName = "list";
  static bool accepts(const EValue& value) { return value.tryTo<ArrayRef<T>>().ok(); }
  static ArrayRef<T> get(EValue& value) { return value.tryTo<ArrayRef<T>>().get(); }
};

template <typename T>
struct Unbox<std::optional<T>> {
  static constexpr const char* kName = Unbox<T>::kName;
  static bool accepts(const EValue& value) { return value.isNone() || Unbox<T>::accepts(value); }
  static std::optional<T> get(EValue& value) {
    return value.isNone() ? std::nullopt : std::optional<T>(Unbox<T>::get(value));
  }
};

template <typename Parameter>
using Unboxed = Unbox<std::remove_cv_t<std::remove_reference_t<Parameter>>>;

// An operator: its name and those of its arguments, for messages, and the first argument that it
// writes. All behind that one are written too: outputs and scratch.
struct Signature {
  const char* name;
  const char* const* arguments;
  size_t first_written;
};

inline bool check_count(const Signature& signature, KernelRuntimeContext& context, size_t received,
                        size_t expected) {
  if (received == expected) return true;
  ET_LOG(Error, "%s: Expected %d args received %d", signature.name, static_cast<int>(expected),
         static_cast<int>(received));
  context.fail(Error::InvalidProgram);
  return false;
}

template <typename T>
bool check_argument(const Signature& signature, KernelRuntimeContext& context, Span<EValue*> stack,
                    size_t index) {
  if (stack[index] != nullptr && T::accepts(*stack[index])) return true;
  ET_LOG(Error, "%s: argument %d '%s' is no %s (tag %d)", signature.name, static_cast<int>(index),
         signature.arguments[index], T::kName,
         stack[index] == nullptr ? -1 : static_cast<int>(stack[index]->tag));
  context.fail(Error::InvalidType);
  return false;
}

// A kernel reads an argument after it has checked it, so that nothing it writes may change one.
// That an output is larger than its tensor now is not seen: resizing grows it within its planned
// bytes.
inline bool check_written(const Signature& signature, KernelRuntimeContext& context,
                          Span<EValue*> stack, size_t count) {
  for (size_t i = signature.first_written; i < count; ++i) {
    if (!may_write(*stack[i])) {
      ET_LOG(Error, "%s: '%s' lies in the program, which nothing may write to", signature.name,
             signature.arguments[i]);
      context.fail(Error::InvalidProgram);
      return false;
    }
    for (size_t other = 0; other < i; ++other) {
      if (!overlap(*stack[i], *stack[other])) continue;
      ET_LOG(Error, "%s: '%s' shares memory with '%s'", signature.name, signature.arguments[i],
             signature.arguments[other]);
      context.fail(Error::InvalidProgram);
      return false;
    }
  }
  return true;
}

template <typename Result, typename... Parameters, size_t... Index>
void call_unboxed(Result (*kernel)(KernelRuntimeContext&, Parameters...),
                  const Signature& signature, KernelRuntimeContext& context, Span<EValue*> stack,
                  std::index_sequence<Index...>) {
  // The slot behind the arguments names the returned value, which is the output itself.
  if (!check_count(signature, context, stack.size(), sizeof...(Parameters) + 1)) return;
  if (!(check_argument<Unboxed<Parameters>>(signature, context, stack, Index) && ...)) return;
  if (!check_written(signature, context, stack, sizeof...(Parameters))) return;
  kernel(context, Unboxed<Parameters>::get(*stack[Index])...);
}

// Checks number and types of the arguments on `stack`, then calls `kernel`; a failed check logs at
// level E and fails `context`.
template <typename Result, typename... Parameters>
void call(Result (*kernel)(KernelRuntimeContext&, Parameters...), const Signature& signature,
          KernelRuntimeContext& context, Span<EValue*> stack) {
  call_unboxed(kernel, signature, context, stack, std::index_sequence_for<Parameters...>{});
}

}  // namespace kernels
