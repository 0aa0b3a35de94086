// aten mean, sum, amax and amin over dimensions. Floats are summed in double.

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;
using kernels::kMaxRank;

namespace {

// The reduced dimensions as bits; an empty list means all.
bool reduced_dims(const Check& check, const Tensor& self, ArrayRef<int64_t> dims, uint32_t& mask) {
  const size_t rank = self.sizes().size();
  mask = dims.empty() ? (1U << rank) - 1 : 0;
  for (int64_t dim : dims) {
    if (!kernels::normalize_dim(check, dim, rank)) return false;
    if (rank > 0) mask |= 1U << dim;
  }
  return true;
}

class Reduction {
 public:
  Reduction(const Tensor& self, uint32_t mask, bool keepdim) {
    int64_t strides[kMaxRank];
    kernels::element_strides(self, strides);
    shape_.rank = 0;
    for (size_t dim = 0; dim < self.sizes().size(); ++dim) {
      const SizesType size = self.sizes()[dim];
      const bool reduced = (mask >> dim & 1) != 0;
      if (reduced) {
        inner_sizes_[inner_rank_] = size;
        inner_strides_[inner_rank_++] = strides[dim];
        inner_count_ *= static_cast<size_t>(size);
      }
      if (reduced && !keepdim) continue;
      outer_.strides[shape_.rank] = reduced ? 0 : strides[dim];
      shape_.dims[shape_.rank++] = reduced ? 1 : size;
    }
  }

  const kernels::Shape& shape() const { return shape_; }
  size_t count() const { return inner_count_; }

  // out[i] = finish(the sum of `step` over the elements that fall on it).
  template <typename T, typename Sum, typename Step, typename Finish>
  void run(const Tensor& self, Tensor& out, Sum start, const Step& step,
           const Finish& finish) const {
    const T* from = self.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    kernels::for_each_element(out, {outer_}, [&](const int64_t* at, size_t i) {
      to[i] = finish(accumulate<T>(from + at[0], start, step));
    });
  }

 private:
  template <typename T, typename Sum, typename Step>
  Sum accumulate(const T* from, Sum sum, const Step& step) const {
    SizesType index[kMaxRank] = {};
    for (size_t i = 0; i < inner_count_; ++i) {
      sum = step(sum, *from);
      for (size_t level = inner_rank_; level-- > 0;) {
        from += inner_strides_[level];
        if (++index[level] < inner_sizes_[level]) break;
        from -= inner_strides_[level] * inner_sizes_[level];
        index[level] = 0;
      }
    }
    return sum;
  }

  kernels::Shape shape_;
  kernels::View outer_;
  SizesType inner_sizes_[kMaxRank] = {};
  int64_t inner_strides_[kMaxRank] = {};
  size_t inner_rank_ = 0;
  size_t inner_count_ = 1;
};

bool prepare(const Check& check, const Tensor& self, const Reduction& reduction, Tensor& out) {
  return check.resize(out, reduction.shape().sizes()) &&
         check.tensor(out, "out", self.scalar_type());
}

// amax and amin; NaN wins, as in ATen.
template <typename Better>
Tensor& extremum(KernelRuntimeContext& context, const char* name, const Tensor& self,
                 const ArrayRef<int64_t>& dims, bool keepdim, Tensor& out, const Better& better) {
  const Check check(context, name);
  uint32_t mask;
  if (!check.usable(self, "self") || !reduced_dims(check, self, dims, mask)) return out;
  const Reduction reduction(self, mask, keepdim);
  if (!prepare(check, self, reduction, out) ||
      !check.that(reduction.count() > 0 || out.numel() == 0, "nothing to reduce")) {
    return out;
  }
  const bool known = kernels::with_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    struct Best {
      T value;
      bool any;
    };
    const auto step = [&better](Best best, T value) {
      bool nan = false;
      if constexpr (std::is_floating_point_v<T>) {
        if (best.any && std::isnan(best.value)) return best;
        nan = std::isnan(value);
      }
      return !best.any || nan || better(value, best.value) ? Best{value, true} : best;
    };
    reduction.run<T>(self, out, Best{T{}, false}, step, [](Best best) { return best.value; });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

// Sum, divided by the number of summands for the mean.
Tensor& total(KernelRuntimeContext& context, const char* name, const Tensor& self,
              const std::optional<ArrayRef<int64_t>>& dims, bool keepdim,
              const std::optional<ScalarType>& dtype, bool mean, Tensor& out) {
  const Check check(context, name);
  uint32_t mask;
  if (!check.usable(self, "self") ||
      !check.that(dtype.value_or(self.scalar_type()) == self.scalar_type(),
                  "dtype is not that of self") ||
      !reduced_dims(check, self, dims.value_or(ArrayRef<int64_t>()), mask)) {
    return out;
  }
  const Reduction reduction(self, mask, keepdim);
  if (!prepare(check, self, reduction, out)) return out;
  if (self.scalar_type() == ScalarType::Float) {
    const double divisor = mean ? static_cast<double>(reduction.count()) : 1.0;
    reduction.run<float>(
        self, out, 0.0, [](double sum, float value) { return sum + static_cast<double>(value); },
        [divisor](double sum) { return static_cast<float>(sum / divisor); });
    return out;
  }
  if (!check.that(!mean, "the mean needs float32")) return out;
  const bool known = kernels::with_type(self.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    reduction.run<T>(
        self, out, T{}, [](T sum, T value) { return kernels::add_wrapping(sum, value); },
        [](T sum) { return sum; });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace

Tensor& mean_dim_out(KernelRuntimeContext& context, const Tensor& self,
                     const std::optional<ArrayRef<int64_t>>& dims, bool keepdim,
                     const std::optional<ScalarType>& dtype, Tensor& out) {
  return total(context, "mean", self, dims, keepdim, dtype, true, out);
}

Tensor& sum_dim_out(KernelRuntimeContext& context, const Tensor& self,
                    const std::optional<ArrayRef<int64_t>>& dims, bool keepdim,
                    const std::optional<ScalarType>& dtype, Tensor& out) {
  return total(context, "sum", self, dims, keepdim, dtype, false, out);
}

Tensor& amax_out(KernelRuntimeContext& context, const Tensor& self, const ArrayRef<int64_t>& dims,
                 bool keepdim, Tensor& out) {
  return extremum(context, "amax", self, dims, keepdim, out,
                  [](auto value, auto best) { return value > best; });
}

Tensor& amin_out(KernelRuntimeContext& context, const Tensor& self, const ArrayRef<int64_t>& dims,
                 bool keepdim, Tensor& out) {
  return extremum(context, "amin", self, dims, keepdim, out,
                  [](auto value, auto best) { return value < best; });
}

}  // namespace portable::native
