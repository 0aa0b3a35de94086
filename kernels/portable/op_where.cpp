// aten::where: condition ? self : other, all three broadcast; self, other and out have one type.

#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

template <typename T>
void choose(const Tensor& condition, const Tensor& self, const Tensor& other, Tensor& out) {
  const kernels::View views[] = {kernels::broadcast_view(condition, out),
                                 kernels::broadcast_view(self, out),
                                 kernels::broadcast_view(other, out)};
  const auto* flags = static_cast<const uint8_t*>(condition.const_data_ptr());
  const auto* a = static_cast<const T*>(self.const_data_ptr());
  const auto* b = static_cast<const T*>(other.const_data_ptr());
  auto* to = static_cast<T*>(out.mutable_data_ptr());
  kernels::for_each_element(out, views, [&](const int64_t* at, size_t i) {
    to[i] = flags[at[0]] != 0 ? a[at[1]] : b[at[2]];
  });
}

// The broadcast shape of three tensors: `shape` is that of the first two.
bool broadcast_third(const Tensor& tensor, kernels::Shape& shape) {
  const size_t rank = tensor.sizes().size();
  if (rank > shape.rank) {
    const size_t more = rank - shape.rank;
    std::copy_backward(shape.dims, shape.dims + shape.rank, shape.dims + rank);
    std::fill(shape.dims, shape.dims + more, 1);
    shape.rank = rank;
  }
  for (size_t dim = 0; dim < shape.rank; ++dim) {
    const SizesType size = kernels::aligned_size(tensor, dim, shape.rank);
    if (shape.dims[dim] == 1) shape.dims[dim] = size;
    if (size != 1 && size != shape.dims[dim]) return false;
  }
  return true;
}

}  // namespace

Tensor& where_self_out(KernelRuntimeContext& context, const Tensor& condition, const Tensor& self,
                       const Tensor& other, Tensor& out) {
  const Check check(context, "where");
  kernels::Shape shape;
  const bool byte = condition.scalar_type() == ScalarType::Byte;
  if (!check.tensor(condition, "condition", byte ? ScalarType::Byte : ScalarType::Bool) ||
      !check.usable(self, "self") || !check.tensor(other, "other", self.scalar_type()) ||
      !check.that(kernels::broadcast_shape(self, other, shape) && broadcast_third(condition, shape),
                  "shapes cannot be broadcast") ||
      !check.resize(out, shape.sizes()) || !check.tensor(out, "out", self.scalar_type())) {
    return out;
  }
  if (out.numel() == 0) return out;
  switch (executorch::runtime::elementSize(out.scalar_type())) {
    case 1:
      choose<uint8_t>(condition, self, other, out);
      break;
    case 2:
      choose<uint16_t>(condition, self, other, out);
      break;
    case 4:
      choose<uint32_t>(condition, self, other, out);
      break;
    case 8:
      choose<uint64_t>(condition, self, other, out);
      break;
    default:
      check.that(false, "the type of self has no kernel");
  }
  return out;
}

}  // namespace portable::native
