// cortex_m::softmax: int8, over any dimension; output scale 1/256 and zero point -128.

#include "checks.h"
#include "compute/softmax_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

// Elements of `tensor` between two neighbours in dimension `dim`.
size_t step_of(const Tensor& tensor, size_t dim) {
  size_t step = 1;
  for (size_t i = tensor.sizes().size(); i-- > 0;) {
    const size_t inner = kernels::storage_dim(tensor, i);
    if (inner == dim) break;
    step *= static_cast<size_t>(tensor.sizes()[inner]);
  }
  return step;
}

}  // namespace

Tensor& softmax_out(KernelRuntimeContext& context, const Tensor& input, int64_t dim,
                    int64_t input_zero_point, int64_t output_zero_point, int64_t input_multiplier,
                    int64_t input_shift, int64_t diff_min, Tensor& out) {
  const kernels::Check check(context, "softmax");
  const auto rank = static_cast<int64_t>(input.sizes().size());
  const int64_t dims = std::max<int64_t>(rank, 1);
  if (!check.range(dim, "dim", -dims, dims - 1) ||
      // It shifts all elements of a row alike, which cancels out.
      !check.fits<int8_t>(input_zero_point, "input_zero_point") ||
      !check.equal(output_zero_point, "output_zero_point", INT8_MIN) ||
      !check.range(input_multiplier, "input_multiplier", 0, INT32_MAX) ||
      !check.rescale(input_multiplier, input_shift, "input_multiplier", "input_shift") ||
      // Beyond 32 bits for the smallest scales.
      !check.range(diff_min, "diff_min", INT64_MIN, 0) ||
      !check.tensor(input, "input", ScalarType::Char) || !check.resize(out, input.sizes()) ||
      !check.tensor(out, "out", ScalarType::Char) ||
      !check.that(kernels::same_layout(input, out), "input and out differ in dim order")) {
    return out;
  }
  const auto axis = static_cast<size_t>(dim < 0 ? dim + dims : dim);
  const size_t count = rank == 0 ? 1 : static_cast<size_t>(input.sizes()[axis]);
  if (!check.that(count > 0, "there is no element along dim") || input.numel() == 0) return out;

  const kernels::SoftmaxParameters p(
      kernels::Rescale(static_cast<int32_t>(input_multiplier), static_cast<int32_t>(input_shift)),
      static_cast<int32_t>(std::max<int64_t>(diff_min, INT32_MIN)));
  const size_t step = step_of(input, axis);
  const auto elements = static_cast<size_t>(input.numel());
  const int8_t* from = input.const_data_ptr<int8_t>();
  int8_t* to = out.mutable_data_ptr<int8_t>();
  for (size_t block = 0; block < elements; block += count * step) {
    for (size_t row = block; row < block + step; ++row) {
      kernels::isa::softmax_row_s8(from + row, to + row, count, step, p);
    }
  }
  return out;
}

}  // namespace cortex_m::native
