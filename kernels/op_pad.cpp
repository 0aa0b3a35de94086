// cortex_m::pad: int8, one to four dimensions. pre_pad and post_pad have four entries, aligned to
// the last dimension, in storage order: (N, H, W, C) for a channels-last input.

#include "broadcast.h"
#include "compute/pad_s8.h"

namespace cortex_m::native {

using namespace kernels::types;

namespace {

using kernels::kPadRank;

constexpr size_t kChannelsLast[kPadRank] = {0, 2, 3, 1};

// The dimension of a tensor that entry `i` of the amounts belongs to; true if it has it.
bool dimension_of(size_t i, size_t rank, bool channels_last, size_t& dim) {
  const size_t missing = kPadRank - rank;
  dim = channels_last ? kChannelsLast[i] : i - missing;
  return i >= missing;
}

// Sizes of the result and the axes of `p`; absent dimensions have one element.
bool pad_axes(const kernels::Check& check, const Tensor& input, const ArrayRef<int64_t>& before,
              const ArrayRef<int64_t>& after, kernels::Shape& shape, kernels::PadParameters& p) {
  shape.rank = input.sizes().size();
  const bool channels_last = kernels::is_channels_last(input);
  for (size_t i = 0; i < kPadRank; ++i) {
    size_t dim;
    const bool present = dimension_of(i, shape.rank, channels_last, dim);
    const int64_t size = present ? input.sizes()[dim] : 1;
    const int64_t limit = present ? std::numeric_limits<SizesType>::max() : 0;
    if (!check.range(before[i], "entry of pre_pad", 0, limit) ||
        !check.range(after[i], "entry of post_pad", 0, limit)) {
      return false;
    }
    const int64_t total = size + before[i] + after[i];
    if (!check.range(total, "padded size", 0, std::numeric_limits<SizesType>::max())) return false;
    if (present) shape.dims[dim] = static_cast<SizesType>(total);
    p.axes[i] = {static_cast<size_t>(size), static_cast<size_t>(before[i]),
                 static_cast<size_t>(after[i])};
  }
  return true;
}

// True if `tensor` is stored in the order of the axes, as far as its sizes fix an order.
bool stored_in_order(const Tensor& tensor, bool channels_last) {
  if (!channels_last) return kernels::is_row_major(tensor);
  size_t position[kPadRank];
  for (size_t i = 0; i < kPadRank; ++i) position[kernels::storage_dim(tensor, i)] = i;
  size_t previous = 0;
  for (const size_t dim : kChannelsLast) {
    if (tensor.sizes()[dim] == 1) continue;
    if (position[dim] < previous) return false;
    previous = position[dim];
  }
  return true;
}

// An axis without padding becomes part of the one around it, which makes longer runs.
void merge_axes(kernels::PadParameters& p) {
  for (size_t left = kPadRank - 1; left > 0; --left) {
    const kernels::PadAxis inner = p.axes[kPadRank - 1];
    if (inner.before != 0 || inner.after != 0) return;
    for (size_t i = kPadRank - 1; i > 0; --i) p.axes[i] = p.axes[i - 1];
    p.axes[0] = {1, 0, 0};
    kernels::PadAxis& outer = p.axes[kPadRank - 1];
    outer = {outer.size * inner.size, outer.before * inner.size, outer.after * inner.size};
  }
}

}  // namespace

Tensor& pad_out(KernelRuntimeContext& context, const Tensor& input,
                const ArrayRef<int64_t>& pre_pad, const ArrayRef<int64_t>& post_pad,
                int64_t pad_value, Tensor& out) {
  const kernels::Check check(context, "pad");
  kernels::Shape shape;
  kernels::PadParameters p;
  if (!check.tensor(input, "input", ScalarType::Char) ||
      !check.range(input.dim(), "rank of input", 1, kPadRank) ||
      !check.that(pre_pad.size() == kPadRank && post_pad.size() == kPadRank,
                  "pre_pad and post_pad need four entries each") ||
      !check.fits<int8_t>(pad_value, "pad_value") ||
      !pad_axes(check, input, pre_pad, post_pad, shape, p) || !check.resize(out, shape.sizes()) ||
      !check.tensor(out, "out", ScalarType::Char)) {
    return out;
  }
  const bool channels_last = kernels::is_channels_last(input);
  if (!check.that(stored_in_order(input, channels_last) && stored_in_order(out, channels_last),
                  "input and out are neither both plain nor both channels-last") ||
      out.numel() == 0) {
    return out;
  }
  p.value = static_cast<int8_t>(pad_value);
  merge_axes(p);
  kernels::isa::pad_s8(input.const_data_ptr<int8_t>(), out.mutable_data_ptr<int8_t>(), p);
  return out;
}

}  // namespace cortex_m::native
