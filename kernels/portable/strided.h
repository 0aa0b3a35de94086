// Walks over tensors by strides: the operators that only move elements, and reductions.
#pragma once

#include <algorithm>
#include <cstring>

#include "broadcast.h"

namespace kernels {

// Element strides of `tensor`, per dimension.
inline void element_strides(const Tensor& tensor, int64_t* strides) {
  int64_t stride = 1;
  for (size_t i = tensor.sizes().size(); i-- > 0;) {
    const size_t dim = storage_dim(tensor, i);
    strides[dim] = stride;
    stride *= tensor.sizes()[dim];
  }
}

// Positions in another tensor for the elements of `out`: offset + sum of index * stride.
struct View {
  int64_t offset = 0;
  int64_t strides[kMaxRank] = {};
};

inline View whole(const Tensor& tensor) {
  View view;
  element_strides(tensor, view.strides);
  return view;
}

// The positions that `tensor` has for the elements of `out`, a tensor it can be broadcast to.
inline View broadcast_view(const Tensor& tensor, const Tensor& out) {
  View view;
  int64_t strides[kMaxRank];
  element_strides(tensor, strides);
  const size_t missing = out.sizes().size() - tensor.sizes().size();
  for (size_t dim = 0; dim < tensor.sizes().size(); ++dim) {
    if (tensor.sizes()[dim] != 1) view.strides[missing + dim] = strides[dim];
  }
  return view;
}

// Calls `body(positions, i)` for element `i` of `out` in storage order, with one position per view.
template <size_t kCount, typename Body>
void for_each_element(const Tensor& out, const View (&views)[kCount], const Body& body) {
  const size_t rank = out.sizes().size();
  SizesType index[kMaxRank] = {};
  int64_t positions[kCount];
  for (size_t v = 0; v < kCount; ++v) positions[v] = views[v].offset;
  const auto count = static_cast<size_t>(out.numel());
  for (size_t i = 0; i < count; ++i) {
    body(positions, i);
    for (size_t level = rank; level-- > 0;) {
      const size_t dim = storage_dim(out, level);
      const SizesType size = out.sizes()[dim];
      if (++index[dim] < size) {
        for (size_t v = 0; v < kCount; ++v) positions[v] += views[v].strides[dim];
        break;
      }
      index[dim] = 0;
      for (size_t v = 0; v < kCount; ++v) positions[v] -= views[v].strides[dim] * (size - 1);
    }
  }
}

template <typename T>
void move_elements(const void* from, const View& view, void* to, const Tensor& out) {
  const auto* source = static_cast<const T*>(from);
  auto* target = static_cast<T*>(to);
  for_each_element(out, {view}, [&](const int64_t* at, size_t i) { target[i] = source[at[0]]; });
}

// out = the elements of `in` at the positions of `view`; false if no kernel moves their type.
inline bool move_elements(const Tensor& in, const View& view, Tensor& out) {
  if (out.numel() == 0) return true;
  const void* from = in.const_data_ptr();
  void* to = out.mutable_data_ptr();
  switch (executorch::runtime::elementSize(out.scalar_type())) {
    case 1:
      return move_elements<uint8_t>(from, view, to, out), true;
    case 2:
      return move_elements<uint16_t>(from, view, to, out), true;
    case 4:
      return move_elements<uint32_t>(from, view, to, out), true;
    case 8:
      return move_elements<uint64_t>(from, view, to, out), true;
    default:
      return false;
  }
}

// Checks `in`, gives `out` the shape, and moves the elements.
inline bool move_checked(const Check& check, const Tensor& in, const View& view, const Shape& shape,
                         Tensor& out) {
  return check.resize(out, shape.sizes()) && check.tensor(out, "out", in.scalar_type()) &&
         check.that(move_elements(in, view, out), "the type of self has no kernel");
}

// Turns a dimension that may count from the end into one from the front.
inline bool normalize_dim(const Check& check, int64_t& dim, size_t rank) {
  const auto limit = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (!check.range(dim, "dim", -limit, limit - 1)) return false;
  if (dim < 0) dim += limit;
  return true;
}

inline Shape shape_of(const Tensor& tensor) {
  Shape shape;
  shape.rank = tensor.sizes().size();
  std::copy_n(tensor.sizes().data(), shape.rank, shape.dims);
  return shape;
}

}  // namespace kernels
