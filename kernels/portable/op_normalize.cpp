// aten::_native_batch_norm_legit_no_training and aten::_softmax, float32.

#include <cmath>

#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

bool is_channel_vector(const Check& check, const Tensor& tensor, const char* name,
                       SizesType channels) {
  return check.tensor(tensor, name, ScalarType::Float) &&
         check.equal(tensor.numel(), name, channels);
}

}  // namespace

std::tuple<Tensor&, Tensor&, Tensor&> _native_batch_norm_legit_no_training_out(
    KernelRuntimeContext& context, const Tensor& input, const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias, const Tensor& running_mean, const Tensor& running_var,
    double, double eps, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  const Check check(context, "_native_batch_norm_legit_no_training");
  std::tuple<Tensor&, Tensor&, Tensor&> result(out, save_mean, save_invstd);
  if (!check.tensor(input, "input", ScalarType::Float) ||
      !check.that(input.sizes().size() >= 2, "input has no channels")) {
    return result;
  }
  const SizesType channels = input.sizes()[1];
  static constexpr SizesType kNone[] = {0};
  if ((weight && !is_channel_vector(check, *weight, "weight", channels)) ||
      (bias && !is_channel_vector(check, *bias, "bias", channels)) ||
      !is_channel_vector(check, running_mean, "running_mean", channels) ||
      !is_channel_vector(check, running_var, "running_var", channels) ||
      !check.resize(out, input.sizes()) || !check.tensor(out, "out", ScalarType::Float) ||
      !check.resize(save_mean, kNone) || !check.resize(save_invstd, kNone)) {
    return result;
  }
  kernels::View channel;
  channel.strides[1] = 1;
  const float* from = input.const_data_ptr<float>();
  const float* mean = running_mean.const_data_ptr<float>();
  const float* variance = running_var.const_data_ptr<float>();
  const float* scale = weight ? weight->const_data_ptr<float>() : nullptr;
  const float* shift = bias ? bias->const_data_ptr<float>() : nullptr;
  float* to = out.mutable_data_ptr<float>();
  const float epsilon = static_cast<float>(eps);
  kernels::for_each_element(
      out, {kernels::whole(input), channel}, [&](const int64_t* at, size_t i) {
        const int64_t c = at[1];
        const float normal = (from[at[0]] - mean[c]) / std::sqrt(variance[c] + epsilon);
        to[i] = std::fma(normal, scale == nullptr ? 1.0f : scale[c],
                         shift == nullptr ? 0.0f : shift[c]);
      });
  return result;
}

Tensor& _softmax_out(KernelRuntimeContext& context, const Tensor& self, int64_t dim,
                     bool half_to_float, Tensor& out) {
  const Check check(context, "_softmax");
  const size_t rank = self.sizes().size();
  if (!check.tensor(self, "self", ScalarType::Float) ||
      !check.that(!half_to_float, "half_to_float is not supported") ||
      !kernels::normalize_dim(check, dim, rank) || !check.resize(out, self.sizes()) ||
      !check.tensor(out, "out", ScalarType::Float)) {
    return out;
  }
  const SizesType size = rank == 0 ? 1 : self.sizes()[dim];
  const kernels::View source = kernels::whole(self);
  const int64_t step_from = source.strides[dim];
  const int64_t step_to = kernels::whole(out).strides[dim];
  kernels::View line;  // the index along dim, so that index 0 begins a line
  line.strides[dim] = 1;
  kernels::for_each_element(out, {line, source}, [&](const int64_t* at, size_t i) {
    if (at[0] != 0) return;
    const float* from = self.const_data_ptr<float>() + at[1];
    float* to = out.mutable_data_ptr<float>() + i;
    float top = from[0];
    for (SizesType k = 1; k < size; ++k) top = std::fmax(top, from[k * step_from]);
    double sum = 0;
    for (SizesType k = 0; k < size; ++k) {
      const float power = std::exp(from[k * step_from] - top);
      to[k * step_to] = power;
      sum += static_cast<double>(power);
    }
    const float factor = static_cast<float>(1.0 / sum);
    for (SizesType k = 0; k < size; ++k) to[k * step_to] *= factor;
  });
  return out;
}

}  // namespace portable::native
