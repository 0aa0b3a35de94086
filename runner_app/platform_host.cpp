// The runner's machine on the host: POSIX files, standard output as console.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_io.h"
#include "platform.h"

namespace {

bool write_all(int descriptor, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor, data, size);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace

void console_write(const char* text, size_t length) { write_all(STDOUT_FILENO, text, length); }

bool command_line_words(int argc, char** argv, const char* const** words, size_t* count) {
  *words = argv;
  *count = static_cast<size_t>(argc);
  return argc > 0;
}

void end_process(int status) { ::_exit(status); }

InputFile::InputFile(const char* name) : handle_(::open(name, O_RDONLY | O_CLOEXEC)) {
  struct stat status;
  if (!is_open() || ::fstat(static_cast<int>(handle_), &status) != 0) return;
  has_size_ = S_ISREG(status.st_mode);
  size_ = has_size_ ? static_cast<size_t>(status.st_size) : 0;
}

InputFile::~InputFile() {
  if (is_open()) ::close(static_cast<int>(handle_));
}

bool InputFile::read(void* data, size_t size) {
  auto* destination = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(static_cast<int>(handle_), destination, size);
    if (got <= 0) return false;
    destination += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool write_file(const char* name, const void* data, size_t size) {
  const int descriptor = ::open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return false;
  const bool written = write_all(descriptor, static_cast<const char*>(data), size);
  return ::close(descriptor) == 0 && written;
}
