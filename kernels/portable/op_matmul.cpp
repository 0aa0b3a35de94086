// aten mm, bmm and addmm: products of matrices in any dim order; all tensors have one type.

#include "portable/element_types.h"
#include "portable/strided.h"

namespace portable::native {

using namespace kernels::types;
using kernels::Check;

namespace {

bool is_matrix(const Check& check, const Tensor& tensor, const char* name, size_t rank) {
  return check.usable(tensor, name) &&
         check.equal(static_cast<int64_t>(tensor.sizes().size()), "number of dimensions",
                     static_cast<int64_t>(rank));
}

// Checks the factors and gives out its shape [..., rows, columns].
bool prepare(const Check& check, const Tensor& a, const Tensor& b, size_t rank, Tensor& out) {
  if (!is_matrix(check, a, "self", rank) || !is_matrix(check, b, "other", rank) ||
      !check.tensor(b, "other", a.scalar_type()) ||
      !check.that(rank == 2 || a.sizes()[0] == b.sizes()[0], "numbers of matrices differ") ||
      !check.equal(b.sizes()[rank - 2], "rows of the second factor", a.sizes()[rank - 1])) {
    return false;
  }
  kernels::Shape shape = kernels::shape_of(a);
  shape.dims[rank - 1] = b.sizes()[rank - 1];
  return check.resize(out, shape.sizes()) && check.tensor(out, "out", a.scalar_type());
}

// Calls `store(sum, positions, i)` for element i of out; positions[2] is that of `extra`.
template <typename T, typename Store>
void multiply(const Tensor& a, const Tensor& b, const kernels::View& extra, const Tensor& out,
              const Store& store) {
  const size_t rank = out.sizes().size();
  kernels::View rows = kernels::whole(a);
  kernels::View columns = kernels::whole(b);
  const int64_t step_a = rows.strides[rank - 1];
  const int64_t step_b = columns.strides[rank - 2];
  rows.strides[rank - 1] = 0;
  columns.strides[rank - 2] = 0;
  const SizesType depth = a.sizes()[rank - 1];
  const T* from_a = a.const_data_ptr<T>();
  const T* from_b = b.const_data_ptr<T>();
  kernels::for_each_element(out, {rows, columns, extra}, [&](const int64_t* at, size_t i) {
    T sum{};
    for (SizesType k = 0; k < depth; ++k) {
      sum = kernels::multiply_add(from_a[at[0] + k * step_a], from_b[at[1] + k * step_b], sum);
    }
    store(sum, at, i);
  });
}

Tensor& product(KernelRuntimeContext& context, const char* name, const Tensor& a, const Tensor& b,
                size_t rank, Tensor& out) {
  const Check check(context, name);
  if (!prepare(check, a, b, rank, out)) return out;
  const bool known = kernels::with_type(a.scalar_type(), [&](auto zero) {
    using T = decltype(zero);
    T* to = out.mutable_data_ptr<T>();
    multiply<T>(a, b, {}, out, [to](T sum, const int64_t*, size_t i) { to[i] = sum; });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace

Tensor& mm_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& mat2, Tensor& out) {
  return product(context, "mm", self, mat2, 2, out);
}

Tensor& bmm_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& mat2,
                Tensor& out) {
  return product(context, "bmm", self, mat2, 3, out);
}

Tensor& addmm_out(KernelRuntimeContext& context, const Tensor& self, const Tensor& mat1,
                  const Tensor& mat2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  const Check check(context, "addmm");
  const ScalarType type = mat1.scalar_type();
  kernels::Shape shape;
  if (!prepare(check, mat1, mat2, 2, out) || !check.tensor(self, "self", type) ||
      !check.that(kernels::takes_scalar(type, beta) && kernels::takes_scalar(type, alpha),
                  "a factor does not fit the type of the tensors") ||
      !check.that(kernels::broadcast_shape(self, out, shape) && shape.sizes() == out.sizes(),
                  "self does not have the shape of the product")) {
    return out;
  }
  const bool known = kernels::with_type(type, [&](auto zero) {
    using T = decltype(zero);
    const T scale = kernels::from_scalar<T>(alpha);
    const T share = kernels::from_scalar<T>(beta);
    const T* added = self.const_data_ptr<T>();
    T* to = out.mutable_data_ptr<T>();
    multiply<T>(mat1, mat2, kernels::broadcast_view(self, out), out,
                [=](T sum, const int64_t* at, size_t i) {
                  // Without a share, self is ignored: its NaNs and infinities too.
                  const T own =
                      share == T{} ? T{} : kernels::multiply_add(share, added[at[2]], T{});
                  to[i] = kernels::multiply_add(scale, sum, own);
                });
  });
  check.that(known, "the type of self has no kernel");
  return out;
}

}  // namespace portable::native
