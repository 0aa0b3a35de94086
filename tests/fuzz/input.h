// What libFuzzer hands over, at an aligned address and with nothing readable behind its end.
#pragma once

#include <executorch/runtime/core/span.h>

#include <sanitizer/asan_interface.h>

#include <cstdlib>
#include <cstring>

class Input {
 public:
  Input(const uint8_t* data, size_t size)
      : size_(size), bytes_(static_cast<uint8_t*>(aligned_alloc(kAlignment, padded(size)))) {
    if (bytes_ == nullptr) abort();
    if (size > 0) memcpy(bytes_, data, size);
    __asan_poison_memory_region(bytes_ + size, padded(size) - size);
  }
  ~Input() {
    __asan_unpoison_memory_region(bytes_, padded(size_));
    free(bytes_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  executorch::runtime::Span<const uint8_t> bytes() const { return {bytes_, size_}; }

 private:
  static constexpr size_t kAlignment = 64;  // as the runner's pool of files
  static size_t padded(size_t size) { return size / kAlignment * kAlignment + kAlignment; }

  size_t size_;
  uint8_t* bytes_;
};
