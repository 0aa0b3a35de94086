// Loader of a program that lies in memory as a whole. ExecuTorch's own is part of an extension that
// an install need not have.
#pragma once

#include <executorch/runtime/core/data_loader.h>

#include <cstring>

class MemoryLoader final : public executorch::runtime::DataLoader {
 public:
  // `bytes` must outlive everything that is loaded: nothing is copied.
  explicit MemoryLoader(executorch::runtime::Span<const uint8_t> bytes) : bytes_(bytes) {}

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo&) const override {
    if (!contains(offset, size)) return executorch::runtime::Error::InvalidArgument;
    return executorch::runtime::FreeableBuffer(bytes_.data() + offset, size, nullptr);
  }

  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo&,
                                       void* buffer) const override {
    if (!contains(offset, size)) return executorch::runtime::Error::InvalidArgument;
    if (size > 0) memcpy(buffer, bytes_.data() + offset, size);
    return executorch::runtime::Error::Ok;
  }

  executorch::runtime::Result<size_t> size() const override { return bytes_.size(); }

 private:
  bool contains(size_t offset, size_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }

  executorch::runtime::Span<const uint8_t> bytes_;
};
