// The runner's machine on target: files and exit by semihosting, console as the board has it.
#include <cstring>

#include "board.h"
#include "file_io.h"
#include "platform.h"
#include "semihosting.h"

using semihosting::Operation;

namespace {

constexpr size_t kMaximumLineLength = 1024;               // the FVP itself cuts at 256
constexpr size_t kMaximumWords = kMaximumLineLength / 2;  // a letter and a blank each
constexpr uintptr_t kOpenReadBinary = 1;                  // fopen's "rb"
constexpr uintptr_t kOpenWriteBinary = 5;                 // fopen's "wb"

intptr_t open(const char* name, uintptr_t mode) {
  const uintptr_t block[3] = {reinterpret_cast<uintptr_t>(name), mode, strlen(name)};
  return semihosting::call(Operation::kOpen, block);
}

bool close(intptr_t handle) {
  const uintptr_t block[1] = {static_cast<uintptr_t>(handle)};
  return semihosting::call(Operation::kClose, block) == 0;
}

// Reads or writes all of `size` bytes: both calls return the number of bytes left over.
bool transfer(Operation operation, intptr_t handle, const void* data, size_t size) {
  const uintptr_t block[3] = {static_cast<uintptr_t>(handle), reinterpret_cast<uintptr_t>(data),
                              size};
  return size == 0 || semihosting::call(operation, block) == 0;
}

// Splits `line` in place at blanks; quotes around the line, which some simulators keep, go away.
size_t split(char* line, const char** words) {
  const size_t length = strlen(line);
  if (length >= 2 && line[0] == '\'' && line[length - 1] == '\'') {
    line[0] = ' ';
    line[length - 1] = '\0';
  }
  size_t count = 0;
  bool inside_word = false;
  for (char* character = line; *character != '\0'; character++) {
    const bool blank = *character == ' ';
    if (!blank && !inside_word) words[count++] = character;
    if (blank) *character = '\0';
    inside_word = !blank;
  }
  return count;
}

}  // namespace

void console_write(const char* text, size_t length) {
  if (kConsoleIsUart) {
    uart_write(text, length);
    return;
  }
  while (length > 0) {  // the call takes terminated text
    char line[256];
    const size_t part = length < sizeof(line) ? length : sizeof(line) - 1;
    memcpy(line, text, part);
    line[part] = '\0';
    semihosting::call(Operation::kWriteText, line);
    text += part;
    length -= part;
  }
}

bool command_line_words(int, char**, const char* const** words, size_t* count) {
  static char line[kMaximumLineLength];
  static const char* word_list[kMaximumWords];
  uintptr_t block[2] = {reinterpret_cast<uintptr_t>(line), sizeof(line)};
  if (semihosting::call(Operation::kGetCommandLine, block) != 0) return false;
  *words = word_list;
  *count = split(line, word_list);
  return *count > 0;
}

void end_process(int status) { semihosting::exit(status); }

InputFile::InputFile(const char* name) : handle_(open(name, kOpenReadBinary)) {
  if (!is_open()) return;
  const uintptr_t block[1] = {static_cast<uintptr_t>(handle_)};
  const intptr_t length = semihosting::call(Operation::kFileLength, block);
  has_size_ = length >= 0;
  size_ = has_size_ ? static_cast<size_t>(length) : 0;
}

InputFile::~InputFile() {
  if (is_open()) close(handle_);
}

bool InputFile::read(void* data, size_t size) {
  return transfer(Operation::kRead, handle_, data, size);
}

bool write_file(const char* name, const void* data, size_t size) {
  const intptr_t handle = open(name, kOpenWriteBinary);
  if (handle < 0) return false;
  const bool written = transfer(Operation::kWrite, handle, data, size);
  return close(handle) && written;
}
