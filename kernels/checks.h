// Preconditions of kernels. A check that fails logs one line at level E that names the operator and
// the argument, fails the context with InvalidArgument and returns false; the kernel then returns.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <limits>

#include "types.h"

namespace kernels {

using namespace types;

// The storage order of `tensor`: dimension `i` from outside to inside.
inline size_t storage_dim(const Tensor& tensor, size_t i) {
  return tensor.dim_order().data() == nullptr ? i : tensor.dim_order()[i];
}

// True if equal logical indices are equal storage positions: same sizes, and the dimensions longer
// than 1 in the same storage order.
inline bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  const size_t rank = a.sizes().size();
  size_t j = 0;
  for (size_t i = 0; i < rank; ++i) {
    const size_t dim = storage_dim(a, i);
    if (a.sizes()[dim] == 1) continue;
    while (j < rank && b.sizes()[storage_dim(b, j)] == 1) ++j;
    if (j == rank || storage_dim(b, j) != dim) return false;
    ++j;
  }
  return true;
}

// True if logical order is storage order, apart from dimensions of size 1.
inline bool is_row_major(const Tensor& tensor) {
  size_t previous = 0;
  for (size_t i = 0; i < tensor.sizes().size(); ++i) {
    const size_t dim = storage_dim(tensor, i);
    if (tensor.sizes()[dim] == 1) continue;
    if (dim < previous) return false;
    previous = dim;
  }
  return true;
}

class Check {
 public:
  Check(KernelRuntimeContext& context, const char* op) : context_(context), op_(op) {}

  // Rank within ExecuTorch's limit, and data behind a tensor that has elements.
  bool usable(const Tensor& tensor, const char* name) const {
    if (tensor.sizes().size() > executorch::runtime::kTensorDimensionLimit) {
      ET_LOG(Error, "%s: %s has %d dimensions", op_, name, static_cast<int>(tensor.dim()));
      return fail();
    }
    if (tensor.numel() != 0 && tensor.const_data_ptr() == nullptr) {
      ET_LOG(Error, "%s: %s has no data", op_, name);
      return fail();
    }
    return true;
  }

  bool tensor(const Tensor& tensor, const char* name, ScalarType type) const {
    if (tensor.scalar_type() != type) {
      ET_LOG(Error, "%s: %s is %s, expected %s", op_, name,
             executorch::runtime::toString(tensor.scalar_type()),
             executorch::runtime::toString(type));
      return fail();
    }
    return usable(tensor, name);
  }

  bool range(int64_t value, const char* name, int64_t low, int64_t high) const {
    if (value >= low && value <= high) return true;
    ET_LOG(Error, "%s: %s is %" PRId64 ", expected %" PRId64 "...%" PRId64, op_, name, value, low,
           high);
    return fail();
  }

  bool equal(int64_t value, const char* name, int64_t expected) const {
    if (value == expected) return true;
    ET_LOG(Error, "%s: %s is %" PRId64 ", expected %" PRId64, op_, name, value, expected);
    return fail();
  }

  template <typename T>
  bool fits(int64_t value, const char* name) const {
    return range(value, name, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  }

  // Both bounds fit T and are in order.
  template <typename T>
  bool bounds(int64_t low, int64_t high, const char* low_name, const char* high_name) const {
    return fits<T>(low, low_name) && fits<T>(high, high_name) && range(high, high_name, low, high);
  }

  bool rescale(int64_t multiplier, int64_t shift, const char* multiplier_name,
               const char* shift_name) const {
    return fits<int32_t>(multiplier, multiplier_name) && range(shift, shift_name, -31, 31);
  }

  // `what` is the whole message behind the operator's name.
  bool that(bool condition, const char* what) const {
    if (condition) return true;
    ET_LOG(Error, "%s: %s", op_, what);
    return fail();
  }

  // Gives `out` the shape `sizes`.
  bool resize(Tensor& out, ArrayRef<SizesType> sizes) const {
    if (out.sizes() == sizes) return true;
    if (executorch::runtime::resize_tensor(out, sizes) == Error::Ok) return true;
    ET_LOG(Error, "%s: out cannot take the shape of the result", op_);
    return fail();
  }

 private:
  bool fail() const {
    context_.fail(Error::InvalidArgument);
    return false;
  }

  KernelRuntimeContext& context_;
  const char* op_;
};

}  // namespace kernels
