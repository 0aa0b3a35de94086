// cortex_m::quantized_batch_matmul: int8, [B, M, K] times the transpose of [B, N, K]. Both offsets
// are minus the zero points. The scratch tensor may hold sums of the columns; it is used where it
// is large enough.

#include "checks.h"
#include "compute/batch_matmul_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

bool check_operands(const kernels::Check& check, const Tensor& lhs, const Tensor& rhs) {
  return check.tensor(lhs, "lhs", ScalarType::Char) &&
         check.tensor(rhs, "rhs_transposed", ScalarType::Char) &&
         check.equal(lhs.dim(), "rank of lhs", 3) &&
         check.equal(rhs.dim(), "rank of rhs_transposed", 3) &&
         check.equal(rhs.size(0), "batches of rhs_transposed", lhs.size(0)) &&
         check.equal(rhs.size(2), "depth of rhs_transposed", lhs.size(2)) &&
         check.that(kernels::is_row_major(lhs) && kernels::is_row_major(rhs),
                    "lhs or rhs_transposed is not in plain dim order");
}

// Room for one int32 per column, or null.
int32_t* column_sums(const Tensor& scratch, size_t columns) {
  void* data = scratch.mutable_data_ptr();
  const bool aligned = reinterpret_cast<uintptr_t>(data) % alignof(int32_t) == 0;
  return aligned && scratch.nbytes() / sizeof(int32_t) >= columns ? static_cast<int32_t*>(data)
                                                                  : nullptr;
}

}  // namespace

Tensor& quantized_batch_matmul_out(KernelRuntimeContext& context, const Tensor& lhs,
                                   int64_t lhs_zero_point, const Tensor& rhs_transposed,
                                   int64_t rhs_zero_point, int64_t output_zero_point,
                                   int64_t output_multiplier, int64_t output_shift,
                                   const Tensor& scratch, Tensor& out) {
  const kernels::Check check(context, "quantized_batch_matmul");
  if (!check.range(lhs_zero_point, "lhs_zero_point", -INT8_MAX, -INT8_MIN) ||
      !check.range(rhs_zero_point, "rhs_zero_point", -INT8_MAX, -INT8_MIN) ||
      !check.fits<int8_t>(output_zero_point, "output_zero_point") ||
      !check.rescale(output_multiplier, output_shift, "output_multiplier", "output_shift") ||
      !check_operands(check, lhs, rhs_transposed) || !check.usable(scratch, "scratch")) {
    return out;
  }
  const SizesType sizes[] = {lhs.sizes()[0], lhs.sizes()[1], rhs_transposed.sizes()[1]};
  if (!check.resize(out, {sizes, 3}) || !check.tensor(out, "out", ScalarType::Char) ||
      !check.that(kernels::is_row_major(out), "out is not in plain dim order") ||
      out.numel() == 0) {
    return out;
  }
  const auto columns = static_cast<size_t>(sizes[2]);
  const kernels::BatchMatmulParameters p{
      static_cast<size_t>(sizes[0]),
      static_cast<size_t>(sizes[1]),
      static_cast<size_t>(lhs.sizes()[2]),
      columns,
      static_cast<int32_t>(lhs_zero_point),
      static_cast<int32_t>(rhs_zero_point),
      static_cast<int32_t>(output_zero_point),
      kernels::Rescale(static_cast<int32_t>(output_multiplier), static_cast<int32_t>(output_shift)),
      column_sums(scratch, columns)};
  kernels::isa::batch_matmul_s8(lhs.const_data_ptr<int8_t>(),
                                rhs_transposed.const_data_ptr<int8_t>(),
                                out.mutable_data_ptr<int8_t>(), p);
  return out;
}

}  // namespace cortex_m::native
