#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <algorithm>
#include <cstring>

#include "primitives.h"
#include "tensor_spec.h"

namespace executorch::runtime::primitives {

using aten::Tensor;

void sym_size(KernelRuntimeContext& context, Args args) {
  if (!has_tags(context, args, {Tag::Tensor, Tag::Int, Tag::Int})) return;
  const Tensor& tensor = args[0]->toTensor();
  const int64_t dim = args[1]->toInt();
  if (dim < 0 || dim >= tensor.dim()) {
    return refuse(context, Error::InvalidArgument, "dimension does not exist");
  }
  *args[2] = EValue(static_cast<int64_t>(tensor.size(static_cast<ssize_t>(dim))));
}

void sym_numel(KernelRuntimeContext& context, Args args) {
  if (!has_tags(context, args, {Tag::Tensor, Tag::Int})) return;
  *args[1] = EValue(static_cast<int64_t>(args[0]->toTensor().numel()));
}

void local_scalar(KernelRuntimeContext& context, Args args) {
  if (args.size() != 2 || !args[0]->isTensor()) {
    return refuse(context, Error::InvalidArgument, "wrong number or types of arguments");
  }
  const Tensor& tensor = args[0]->toTensor();
  if (tensor.numel() != 1 || tensor.const_data_ptr() == nullptr) {
    return refuse(context, Error::InvalidArgument, "tensor has not one element");
  }
  int64_t integer = 0;
  double real = 0;
  if (tensor.scalar_type() == aten::ScalarType::Bool) {
    return set(context, *args[1], EValue(*tensor.const_data_ptr<uint8_t>() != 0));
  }
  if (extract_scalar_tensor(tensor, &integer)) return set(context, *args[1], EValue(integer));
  if (extract_scalar_tensor(tensor, &real)) return set(context, *args[1], EValue(real));
  refuse(context, Error::InvalidArgument, "tensor of another type than numbers");
}

void copy_index(KernelRuntimeContext& context, Args args) {
  if (!has_tags(context, args, {Tag::Tensor, Tag::Tensor, Tag::Int})) return;
  const Tensor& to = args[0]->toTensor();
  const Tensor& from = args[1]->toTensor();
  const int64_t index = args[2]->toInt();
  const auto slice = from.sizes();
  if (to.scalar_type() != from.scalar_type() || to.dim() != from.dim() + 1 || index < 0 ||
      index >= INT32_MAX) {
    return refuse(context, Error::InvalidArgument, "slice does not belong to the tensor");
  }
  aten::SizesType sizes[kTensorDimensionLimit];
  sizes[0] = static_cast<aten::SizesType>(index + 1);
  std::copy(slice.begin(), slice.end(), sizes + 1);
  const auto rank = static_cast<size_t>(to.dim());
  const bool is_static = to.shape_dynamism() == TensorShapeDynamism::STATIC;
  if (!is_static && resize_tensor(to, aten::ArrayRef<aten::SizesType>(sizes, rank)) != Error::Ok) {
    return refuse(context, Error::InvalidArgument, "slices do not fit the tensor");
  }
  if (is_static &&
      (index >= to.size(0) || !std::equal(slice.begin(), slice.end(), to.sizes().begin() + 1))) {
    return refuse(context, Error::InvalidArgument, "slices do not fit the tensor");
  }
  const size_t nbytes = from.nbytes();
  if (nbytes == 0) return;
  if (to.const_data_ptr() == nullptr || from.const_data_ptr() == nullptr) {
    return refuse(context, Error::InvalidState, "tensor has no data");
  }
  // They may share memory in a malformed program.
  std::memmove(to.mutable_data_ptr<uint8_t>() + static_cast<size_t>(index) * nbytes,
               from.const_data_ptr(), nbytes);
}

namespace {

/// Sizes of a view, where -1 stands for what the other sizes leave.
bool view_sizes(const Tensor& self, aten::ArrayRef<int64_t> wanted, aten::SizesType* sizes) {
  if (wanted.size() > kTensorDimensionLimit) return false;
  int64_t known = 1;
  const int64_t* unknown = nullptr;
  for (const int64_t& size : wanted) {
    if (size == -1) {
      if (unknown != nullptr) return false;
      unknown = &size;
    } else if (size < 0 || size > INT32_MAX || c10::mul_overflows(known, size, &known)) {
      return false;
    }
  }
  const int64_t numel = self.numel();
  if (unknown != nullptr && (known == 0 || numel % known != 0)) return false;
  if (unknown == nullptr && known != numel) return false;
  std::transform(wanted.begin(), wanted.end(), sizes, [&](const int64_t& size) {
    return static_cast<aten::SizesType>(&size == unknown ? numel / known : size);
  });
  return true;
}

}  // namespace

void view(KernelRuntimeContext& context, Args args) {
  if (!has_tags(context, args, {Tag::Tensor, Tag::ListInt, Tag::Tensor})) return;
  const Tensor& self = args[0]->toTensor();
  const Tensor& out = args[2]->toTensor();
  const auto wanted = args[1]->tryToIntList();
  aten::SizesType sizes[kTensorDimensionLimit];
  // A later resize of the view must not leave the tensor's memory.
  if (!wanted.ok() || self.scalar_type() != out.scalar_type() ||
      internal::numel_bound(out) > internal::numel_bound(self) ||
      !view_sizes(self, *wanted, sizes)) {
    return refuse(context, Error::InvalidArgument, "view does not have the tensor's elements");
  }
  const aten::ArrayRef<aten::SizesType> new_sizes(sizes, wanted->size());
  if (resize_tensor(out, new_sizes) != Error::Ok ||
      internal::set_tensor_data(out, self.mutable_data_ptr(), self.nbytes()) != Error::Ok) {
    refuse(context, Error::InvalidArgument, "view does not fit the tensor");
  }
}

}  // namespace executorch::runtime::primitives
