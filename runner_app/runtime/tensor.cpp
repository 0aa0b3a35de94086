// TensorImpl and the out-of-line part of the tensor utilities.
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/core/portable_type/tensor_impl.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "tensor_spec.h"

namespace executorch::runtime {
namespace etensor {

Result<ssize_t> safe_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  ET_CHECK_OR_RETURN_ERROR(dim == 0 || (dim > 0 && sizes != nullptr), InvalidArgument,
                           "Tensor of rank %zd without sizes.", dim);
  ssize_t numel = 1;
  for (ssize_t i = 0; i < dim; ++i) {
    ET_CHECK_OR_RETURN_ERROR(
        sizes[i] >= 0 && !c10::mul_overflows(numel, static_cast<ssize_t>(sizes[i]), &numel),
        InvalidArgument, "Size %zd of a tensor is negative or too large.", i);
  }
  return numel;
}

ssize_t compute_numel(const TensorImpl::SizesType* sizes, ssize_t dim) {
  const Result<ssize_t> numel = safe_numel(sizes, dim);
  ET_CHECK_MSG(numel.ok(), "Tensor has no number of elements.");
  return *numel;
}

TensorImpl::TensorImpl(ScalarType type, ssize_t dim, SizesType* sizes, void* data,
                       DimOrderType* dim_order, StridesType* strides, TensorShapeDynamism dynamism,
                       DeviceType device_type, DeviceIndex device_index)
    : sizes_(sizes),
      dim_order_(dim_order),
      strides_(strides),
      data_(data),
      dim_(dim),
      numel_(compute_numel(sizes, dim)),
      numel_bound_(static_cast<size_t>(numel_)),
      type_(type),
      shape_dynamism_(dynamism),
      device_(device_type, device_index) {
  ET_CHECK_MSG(runtime::element_size(type) != 0, "Unknown scalar type %d.", static_cast<int>(type));
}

size_t TensorImpl::nbytes() const {
  return static_cast<size_t>(numel_) * runtime::element_size(type_);
}

ssize_t TensorImpl::element_size() const {
  return static_cast<ssize_t>(runtime::element_size(type_));
}

Error TensorImpl::internal_resize_contiguous(ArrayRef<SizesType> new_sizes) {
  ET_CHECK_OR_RETURN_ERROR(static_cast<ssize_t>(new_sizes.size()) == dim_, NotSupported,
                           "Tensor of rank %zd cannot get rank %zu.", dim_, new_sizes.size());
  if (std::equal(new_sizes.begin(), new_sizes.end(), sizes_)) return Error::Ok;
  ET_CHECK_OR_RETURN_ERROR(shape_dynamism_ != TensorShapeDynamism::STATIC, NotSupported,
                           "Tensor of static shape cannot be resized.");
  const Result<ssize_t> numel = safe_numel(new_sizes.data(), dim_);
  if (!numel.ok()) return numel.error();
  ET_CHECK_OR_RETURN_ERROR(static_cast<size_t>(*numel) <= numel_bound_, NotSupported,
                           "Tensor of up to %zu elements cannot get %zd.", numel_bound_, *numel);
  if (strides_ != nullptr && dim_order_ != nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(
        dim_order_to_stride(new_sizes.data(), dim_order_, new_sizes.size(), strides_));
  }
  numel_ = *numel;
  std::copy(new_sizes.begin(), new_sizes.end(), sizes_);
  return Error::Ok;
}

}  // namespace etensor

namespace internal {

class TensorResizerFriend {
 public:
  static Error resize(aten::TensorImpl* impl, aten::ArrayRef<aten::SizesType> new_sizes) {
    return impl->internal_resize_contiguous(new_sizes);
  }
  static size_t bound(const aten::TensorImpl* impl) { return impl->numel_bound_; }
};

Error resize_tensor_impl(aten::TensorImpl* impl, aten::ArrayRef<aten::SizesType> new_sizes) {
  return TensorResizerFriend::resize(impl, new_sizes);
}

size_t numel_bound(const aten::Tensor& tensor) {
  return TensorResizerFriend::bound(tensor.unsafeGetTensorImpl());
}

Error share_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src) {
  ET_CHECK_OR_RETURN_ERROR(t_dst.nbytes() == t_src.nbytes(), InvalidArgument,
                           "Tensor of %zu bytes cannot share data of %zu.", t_dst.nbytes(),
                           t_src.nbytes());
  ET_CHECK_OR_RETURN_ERROR(t_src.const_data_ptr() != nullptr || t_src.nbytes() == 0,
                           InvalidArgument, "Tensor has no data to share.");
  t_dst.unsafeGetTensorImpl()->set_data(t_src.mutable_data_ptr());
  return Error::Ok;
}

Error copy_tensor_data(const aten::Tensor& t_dst, const aten::Tensor& t_src) {
  const size_t nbytes = t_src.nbytes();
  ET_CHECK_OR_RETURN_ERROR(t_dst.nbytes() == nbytes, InvalidArgument,
                           "Tensor of %zu bytes cannot take data of %zu.", t_dst.nbytes(), nbytes);
  if (nbytes == 0 || t_dst.const_data_ptr() == t_src.const_data_ptr()) return Error::Ok;
  ET_CHECK_OR_RETURN_ERROR(t_dst.const_data_ptr() != nullptr && t_src.const_data_ptr() != nullptr,
                           InvalidArgument, "Tensor has no data to copy.");
  std::memcpy(t_dst.mutable_data_ptr(), t_src.const_data_ptr(), nbytes);
  return Error::Ok;
}

Error set_tensor_data(const aten::Tensor& t, void* buffer, size_t buffer_size) {
  ET_CHECK_OR_RETURN_ERROR(buffer_size >= t.nbytes(), InvalidArgument,
                           "Tensor of %zu bytes does not fit a buffer of %zu.", t.nbytes(),
                           buffer_size);
  t.unsafeGetTensorImpl()->set_data(buffer);
  return Error::Ok;
}

void reset_data_ptr(const aten::Tensor& tensor) { tensor.unsafeGetTensorImpl()->set_data(nullptr); }

}  // namespace internal

Error get_dim_order(const aten::Tensor& tensor, aten::DimOrderType* out_dim_order,
                    size_t out_dim_order_size) {
  const auto order = tensor.dim_order();
  ET_CHECK_OR_RETURN_ERROR(out_dim_order_size == order.size(), InvalidArgument,
                           "Room for %zu of %zu dimensions.", out_dim_order_size, order.size());
  std::copy(order.begin(), order.end(), out_dim_order);
  return Error::Ok;
}

bool tensor_has_valid_dim_order(aten::Tensor t) {
  const bool valid = validate_dim_order(t.dim_order().data(), t.dim_order().size());
  if (!valid) ET_LOG(Error, "Dim order of a tensor is not a permutation.");
  return valid;
}

bool tensor_is_default_dim_order(aten::Tensor t) {
  const bool is_default = is_contiguous_dim_order(t.dim_order().data(), t.dim_order().size());
  if (!is_default) ET_LOG(Error, "Dim order of a tensor is not the default one.");
  return is_default;
}

bool tensor_is_channels_last_dim_order(aten::Tensor t) {
  const bool is_last = is_channels_last_dim_order(t.dim_order().data(), t.dim_order().size());
  if (!is_last) ET_LOG(Error, "Dim order of a tensor is not channels last.");
  return is_last;
}

bool tensor_is_default_or_channels_last_dim_order(aten::Tensor t) {
  const auto order = t.dim_order();
  const bool accepted = is_contiguous_dim_order(order.data(), order.size()) ||
                        is_channels_last_dim_order(order.data(), order.size());
  if (!accepted) ET_LOG(Error, "Dim order of a tensor is neither the default nor channels last.");
  return accepted;
}

bool tensors_have_same_dim_order(const aten::ArrayRef<aten::Tensor> tensor_list) {
  bool equal = true;
  bool contiguous = true;
  bool channels_last = true;
  for (const aten::Tensor& tensor : tensor_list) {
    const auto order = tensor.dim_order();
    equal = equal && order == tensor_list[0].dim_order();
    // Also of different ranks.
    contiguous = contiguous && is_contiguous_dim_order(order.data(), order.size());
    channels_last = channels_last && is_channels_last_dim_order(order.data(), order.size());
  }
  const bool same = equal || contiguous || channels_last;
  if (!same) ET_LOG(Error, "Tensors have different dim orders.");
  return same;
}

namespace {

template <typename T>
std::array<char, kTensorShapeStringSizeLimit> shape_to_string(Span<const T> shape) {
  std::array<char, kTensorShapeStringSizeLimit> text{};
  constexpr size_t kMaxNumber = sizeof("2147483647, )") - 1;
  size_t used = 0;
  const auto put = [&](const char* s) {
    while (*s != 0) text[used++] = *s++;
  };
  put("(");
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape[i];
    if (i == kTensorDimensionLimit || size < 0 || size > INT32_MAX ||
        used + kMaxNumber >= text.size()) {
      put("ERR");
      break;
    }
    char digits[12];
    char* digit = digits + sizeof(digits);
    *--digit = 0;
    auto rest = static_cast<uint32_t>(size);
    do {
      *--digit = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    put(digit);
    if (i + 1 < shape.size()) put(", ");
  }
  put(")");
  return text;
}

}  // namespace

std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const int32_t> shape) {
  return shape_to_string(shape);
}

std::array<char, kTensorShapeStringSizeLimit> tensor_shape_to_c_string(Span<const int64_t> shape) {
  return shape_to_string(shape);
}

}  // namespace executorch::runtime
