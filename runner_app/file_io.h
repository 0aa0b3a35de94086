// Files on the host, also seen from the target (by semihosting). Part of platform_*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

// A file opened for reading, from its beginning.
class InputFile {
 public:
  explicit InputFile(const char* name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  bool is_open() const { return handle_ >= 0; }
  // False for what has no length, such as a directory.
  bool has_size() const { return has_size_; }
  size_t size() const { return size_; }
  // Reads exactly the next `size` bytes; false if the file has less.
  bool read(void* data, size_t size);

 private:
  intptr_t handle_;
  size_t size_ = 0;
  bool has_size_ = false;
};

// Writes a new file, or replaces an old one. False if not all of it could be written.
bool write_file(const char* name, const void* data, size_t size);
