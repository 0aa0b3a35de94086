// Quantized product of matrices, batch by batch; the right one is stored transposed:
//   out[b][m][n] = clamp(rq(sum_k (l[b][m][k] + l_offset) * (r[b][n][k] + r_offset)) + zo)
// Every batch is a fully connected layer without bias.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/linear_s8.h"

namespace kernels {

struct BatchMatmulParameters {
  LinearParameters linear() const {
    return {rows,       depth,          columns, nullptr,  nullptr, lhs_offset,
            rhs_offset, zero_point_out, rescale, INT8_MIN, INT8_MAX};
  }

  size_t batches;
  size_t rows;
  size_t depth;
  size_t columns;
  int32_t lhs_offset;
  int32_t rhs_offset;
  int32_t zero_point_out;
  Rescale rescale;
  int32_t* sums;  // room for one value per column, or null
};

namespace scalar {

inline void batch_matmul_s8(const int8_t* lhs, const int8_t* rhs, int8_t* out,
                            const BatchMatmulParameters& p) {
  for (size_t b = 0; b < p.batches; ++b) {
    linear_s8(lhs, rhs, out, p.linear());
    lhs += p.rows * p.depth, rhs += p.columns * p.depth, out += p.rows * p.columns;
  }
}

}  // namespace scalar

#if KERNELS_MVE
namespace mve {

inline void batch_matmul_s8(const int8_t* lhs, const int8_t* rhs, int8_t* out,
                            const BatchMatmulParameters& p) {
  for (size_t b = 0; b < p.batches; ++b) {
    LinearParameters layer = p.linear();
    // Sums of the columns, which all rows share.
    if (p.sums != nullptr) {
      for (size_t n = 0; n < p.columns; ++n) p.sums[n] = kernel_sum(layer, rhs + n * p.depth, n);
      layer.kernel_sum = p.sums;
    }
    linear_s8(lhs, rhs, out, layer);
    lhs += p.rows * p.depth, rhs += p.columns * p.depth, out += p.rows * p.columns;
  }
}

}  // namespace mve
#endif

}  // namespace kernels
