// An input of an elementwise function: element i is at data[i * step]; a step of 0 repeats one.
#pragma once

#include <cstddef>

namespace kernels {

template <typename T>
struct Operand {
  const T* data;
  size_t step;
};

}  // namespace kernels
