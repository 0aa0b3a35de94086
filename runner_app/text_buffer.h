// Text built in a fixed buffer: for log lines and file names, usable in a fault handler.
#pragma once

#include <cstddef>
#include <cstdint>

// What does not fit is cut; the text is always terminated.
template <size_t kCapacity>
class TextBuffer {
 public:
  TextBuffer& operator<<(const char* text) {
    while (*text != '\0') *this << *text++;
    return *this;
  }

  TextBuffer& operator<<(char character) {
    if (length_ + 1 < kCapacity) {
      text_[length_++] = character;
      text_[length_] = '\0';
    } else {
      cut_ = true;
    }
    return *this;
  }

  TextBuffer& append(const char* text, size_t length) {
    for (size_t i = 0; i < length; i++) *this << text[i];
    return *this;
  }

  TextBuffer& decimal(size_t value) {
    char digits[3 * sizeof(value)];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) *this << digits[--count];
    return *this;
  }

  TextBuffer& hexadecimal(uint32_t value) {
    *this << "0x";
    for (int shift = 28; shift >= 0; shift -= 4) *this << "0123456789abcdef"[value >> shift & 0xF];
    return *this;
  }

  const char* text() const { return text_; }
  size_t length() const { return length_; }
  bool cut() const { return cut_; }

 private:
  char text_[kCapacity] = {};
  size_t length_ = 0;
  bool cut_ = false;
};
