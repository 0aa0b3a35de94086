#include "tensor_spec.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/tensor_layout.h>
#include <executorch/runtime/executor/program_validation.h>

#include <cinttypes>

#include "program_schema.h"

namespace executorch::runtime {

size_t element_size(aten::ScalarType type) {
  // In the order of ScalarType: integers and floats, complex, bool, quantized, bits, float8.
  static constexpr uint8_t kSizes[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
                                       2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1,  1, 2, 4, 8};
  static_assert(sizeof(kSizes) == static_cast<size_t>(aten::ScalarType::Undefined));
  const auto index = static_cast<uint8_t>(type);
  return index < sizeof(kSizes) ? kSizes[index] : 0;
}

Error check_spec(TensorSpec& spec) {
  const size_t rank = spec.sizes.size();
  ET_CHECK_OR_RETURN_ERROR(rank <= kTensorDimensionLimit && rank == spec.dim_order.size(),
                           InvalidProgram, "Tensor of %zu sizes and %zu dimensions in its order.",
                           rank, spec.dim_order.size());
  ET_CHECK_OR_RETURN_ERROR(validate_dim_order(spec.dim_order.data(), rank), InvalidProgram,
                           "Dim order of a tensor is not a permutation.");
  const size_t element = element_size(spec.scalar_type);
  ET_CHECK_OR_RETURN_ERROR(element != 0, InvalidProgram, "Unknown scalar type %d.",
                           static_cast<int>(spec.scalar_type));
  // Strides are 32-bit and count an empty dimension as one element.
  uint64_t extent = 1;
  bool empty = false;
  for (const int32_t size : spec.sizes) {
    ET_CHECK_OR_RETURN_ERROR(size >= 0, InvalidProgram, "Tensor with negative size %" PRId32 ".",
                             size);
    empty |= size == 0;
    if (size != 0) extent *= static_cast<uint32_t>(size);
    ET_CHECK_OR_RETURN_ERROR(extent <= INT32_MAX, InvalidProgram,
                             "Tensor with more than 2^31 - 1 elements.");
  }
  const uint64_t nbytes = empty ? 0 : extent * element;
  ET_CHECK_OR_RETURN_ERROR(nbytes <= PTRDIFF_MAX, InvalidProgram,
                           "Tensor of %" PRIu64 " bytes exceeds the address space.", nbytes);
  spec.nbytes = static_cast<size_t>(nbytes);
  return Error::Ok;
}

Error read_spec(flat::Table tensor, TensorSpec& spec) {
  spec.sizes = tensor.vector<int32_t>(pte::slot::kSizes);
  spec.dim_order = tensor.vector<uint8_t>(pte::slot::kDimOrder);
  spec.scalar_type = static_cast<aten::ScalarType>(tensor.get<int8_t>(pte::slot::kScalarType));
  return check_spec(spec);
}

Result<const TensorLayout> TensorLayout::create(Span<const int32_t> sizes,
                                                Span<const uint8_t> dim_order,
                                                aten::ScalarType scalar_type) {
  TensorSpec spec{sizes, dim_order, scalar_type};
  ET_CHECK_OK_OR_RETURN_ERROR(check_spec(spec));
  return TensorLayout(sizes, dim_order, scalar_type, spec.nbytes);
}

Error validate_tensor(const executorch_flatbuffer::Tensor* tensor) {
  TensorSpec spec;
  return read_spec(flat::Table(tensor), spec);
}

}  // namespace executorch::runtime
