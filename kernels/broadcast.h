// Elementwise operations of two tensors of any dim order, with broadcasting: the output is walked
// in its own storage order, as few and as long runs as possible.
#pragma once

#include <algorithm>

#include "checks.h"

namespace kernels {

constexpr size_t kMaxRank = executorch::runtime::kTensorDimensionLimit;

struct Shape {
  ArrayRef<SizesType> sizes() const { return {dims, rank}; }

  SizesType dims[kMaxRank];
  size_t rank;
};

// Size of dimension `dim` of `rank`, with `tensor` aligned to the right; 1 where it has none.
inline SizesType aligned_size(const Tensor& tensor, size_t dim, size_t rank) {
  const size_t missing = rank - tensor.sizes().size();
  return dim < missing ? 1 : tensor.sizes()[dim - missing];
}

// The broadcast shape of `a` and `b`; false if there is none.
inline bool broadcast_shape(const Tensor& a, const Tensor& b, Shape& shape) {
  shape.rank = std::max(a.sizes().size(), b.sizes().size());
  for (size_t dim = 0; dim < shape.rank; ++dim) {
    const SizesType in_a = aligned_size(a, dim, shape.rank);
    const SizesType in_b = aligned_size(b, dim, shape.rank);
    if (in_a != in_b && in_a != 1 && in_b != 1) return false;
    shape.dims[dim] = in_a == 1 ? in_b : in_a;
  }
  return true;
}

// Channels-last as the dialect defines it: one channel, or a single pixel, leaves the order open.
inline bool is_channels_last(const Tensor& tensor) {
  if (tensor.sizes().size() != 4) return false;
  if (tensor.sizes()[1] == 1 || (tensor.sizes()[2] == 1 && tensor.sizes()[3] == 1)) return true;
  return storage_dim(tensor, 0) == 0 && storage_dim(tensor, 1) == 2;
}

// One operand is [1, C, 1, 1], the other [N, C, H, W], both channels-last.
inline bool is_channel_broadcast(const Tensor& a, const Tensor& b) {
  if (!is_channels_last(a) || !is_channels_last(b) || a.sizes()[1] != b.sizes()[1]) return false;
  const SizesType channels = a.sizes()[1];
  return a.numel() == channels || b.numel() == channels;
}

// A run of output elements; input `x` is read at offset_x + i * step_x for i < count.
struct Run {
  size_t offset_a;
  size_t offset_b;
  size_t offset_out;
  size_t step_a;
  size_t step_b;
  size_t count;
};

class BroadcastLoops {
 public:
  // `out` has the broadcast shape of `a` and `b`.
  BroadcastLoops(const Tensor& a, const Tensor& b, const Tensor& out) {
    const size_t rank = out.sizes().size();
    size_t strides_a[kMaxRank];
    size_t strides_b[kMaxRank];
    broadcast_strides(a, rank, strides_a);
    broadcast_strides(b, rank, strides_b);
    for (size_t i = 0; i < rank; ++i) {
      const size_t dim = storage_dim(out, i);
      append(static_cast<size_t>(out.sizes()[dim]), strides_a[dim], strides_b[dim]);
    }
  }

  // Calls `body` with every Run, in storage order of the output.
  template <typename Body>
  void for_each_run(const Body& body) const {
    const Loop& inner = loops_[depth_ - 1];
    size_t index[kMaxRank] = {};
    Run run{0, 0, 0, inner.stride_a, inner.stride_b, inner.size};
    do {
      body(run);
    } while (advance(index, run));
  }

 private:
  struct Loop {
    size_t size;
    size_t stride_a;
    size_t stride_b;
  };

  // Element strides of `tensor` per dimension of the output; 0 where it is broadcast.
  static void broadcast_strides(const Tensor& tensor, size_t rank, size_t* strides) {
    const size_t own = tensor.sizes().size();
    std::fill(strides, strides + rank, 0);
    size_t stride = 1;
    for (size_t i = own; i-- > 0;) {
      const size_t dim = storage_dim(tensor, i);
      const size_t size = static_cast<size_t>(tensor.sizes()[dim]);
      if (size != 1) strides[dim + rank - own] = stride;
      stride *= size;
    }
  }

  // Moves to the next run, like an odometer; false behind the last one.
  bool advance(size_t* index, Run& run) const {
    run.offset_out += run.count;
    for (size_t level = depth_ - 1; level-- > 0;) {
      const Loop& loop = loops_[level];
      run.offset_a += loop.stride_a;
      run.offset_b += loop.stride_b;
      if (++index[level] < loop.size) return true;
      run.offset_a -= loop.size * loop.stride_a;
      run.offset_b -= loop.size * loop.stride_b;
      index[level] = 0;
    }
    return false;
  }

  // Adds an inner loop, or merges it with the loop around it where both walk on without a gap.
  void append(size_t size, size_t stride_a, size_t stride_b) {
    if (size == 1) return;
    Loop& outer = loops_[depth_ - 1];
    if (outer.size == 1) {
      outer = {size, stride_a, stride_b};
    } else if (outer.stride_a == stride_a * size && outer.stride_b == stride_b * size) {
      outer = {outer.size * size, stride_a, stride_b};
    } else {
      loops_[depth_++] = {size, stride_a, stride_b};
    }
  }

  Loop loops_[kMaxRank] = {{1, 0, 0}};
  size_t depth_ = 1;
};

}  // namespace kernels
