#include "log_format.h"

#include <cstdint>
#include <cstring>

namespace executorch::runtime::internal {
namespace {

/// One conversion of a format string, after its flags, width, precision and length.
struct Spec {
  bool left = false;
  bool zero = false;
  bool alternate = false;
  char sign = 0;  // what a positive number starts with
  int width = 0;
  int precision = -1;
  size_t length = sizeof(int);  // bytes of an integer argument
};

class Writer {
 public:
  Writer(char* buffer, size_t size) : next_(buffer), begin_(buffer), end_(buffer + size - 1) {}

  void put(char c) {
    if (next_ < end_) *next_++ = c;
  }
  void repeat(char c, int count) {
    for (; count > 0 && next_ < end_; --count) put(c);
  }
  /// `text` behind `prefix` (a sign or base), filled up to the width.
  void field(const Spec& spec, const char* prefix, const char* text, size_t length, int zeros) {
    const int used = static_cast<int>(std::strlen(prefix) + length) + zeros;
    if (!spec.left) repeat(' ', spec.width - used);
    while (*prefix != 0) put(*prefix++);
    repeat('0', zeros);
    for (size_t i = 0; i < length; ++i) put(text[i]);
    if (spec.left) repeat(' ', spec.width - used);
  }
  size_t finish() {
    *next_ = 0;
    return static_cast<size_t>(next_ - begin_);
  }

 private:
  char* next_;
  char* const begin_;
  char* const end_;
};

/// Digits in front of `end`; returns where they start.
char* digits(char* end, uint64_t value, unsigned base, char ten) {
  do {
    const auto digit = static_cast<unsigned>(value % base);
    *--end = static_cast<char>(digit < 10 ? '0' + digit : ten + digit - 10);
    value /= base;
  } while (value != 0);
  return end;
}

void put_number(Writer& out, const Spec& spec, const char* prefix, const char* text,
                size_t length) {
  int zeros = spec.precision - static_cast<int>(length);
  if (spec.zero && !spec.left && spec.precision < 0) {
    zeros = spec.width - static_cast<int>(length + std::strlen(prefix));
  }
  out.field(spec, prefix, text, length, zeros > 0 ? zeros : 0);
}

void put_unsigned(Writer& out, const Spec& spec, uint64_t value, char conversion,
                  const char* prefix) {
  const unsigned base = conversion == 'x' || conversion == 'X' ? 16 : conversion == 'o' ? 8 : 10;
  char text[24];
  char* const end = text + sizeof(text);
  const char* start = digits(end, value, base, conversion == 'X' ? 'A' : 'a');
  if (spec.alternate && base == 16 && value != 0) prefix = conversion == 'X' ? "0X" : "0x";
  put_number(out, spec, prefix, start, static_cast<size_t>(end - start));
}

void put_double(Writer& out, Spec spec, double value) {
  constexpr int kMaxPrecision = 9;
  constexpr double kMaxWhole = 1.8e19;  // what 64 bits hold
  const char positive[] = {spec.sign, 0};
  const char* prefix = __builtin_signbit(value) ? "-" : positive;
  if (__builtin_isnan(value)) return out.field(spec, prefix, "nan", 3, 0);
  value = __builtin_fabs(value);
  if (value > kMaxWhole) {
    const bool infinite = __builtin_isinf(value);
    return out.field(spec, prefix, infinite ? "inf" : "huge", infinite ? 3 : 4, 0);
  }
  int precision = spec.precision < 0 ? 6 : spec.precision;
  if (precision > kMaxPrecision) precision = kMaxPrecision;
  uint64_t scale = 1;
  for (int i = 0; i < precision; ++i) scale *= 10;
  auto whole = static_cast<uint64_t>(value);
  const double scaled = (value - static_cast<double>(whole)) * static_cast<double>(scale);
  auto fraction = static_cast<uint64_t>(scaled);
  const double rest = scaled - static_cast<double>(fraction);
  const bool odd = ((precision > 0 ? fraction : whole) & 1) != 0;
  if (rest > 0.5 || (rest == 0.5 && odd)) ++fraction;
  if (fraction >= scale) {
    ++whole;
    fraction -= scale;
  }
  char text[32];
  char* const end = text + sizeof(text);
  char* start = end;
  if (precision > 0) {
    start = digits(end, fraction, 10, 'a');
    while (end - start < precision) *--start = '0';
    *--start = '.';
  }
  start = digits(start, whole, 10, 'a');
  spec.precision = -1;
  put_number(out, spec, prefix, start, static_cast<size_t>(end - start));
}

int64_t signed_argument(const Spec& spec, va_list* args) {
  if (spec.length > sizeof(int)) return va_arg(*args, int64_t);
  const int value = va_arg(*args, int);
  if (spec.length == sizeof(char)) return static_cast<signed char>(value);
  return spec.length == sizeof(short) ? static_cast<short>(value) : value;
}

uint64_t unsigned_argument(const Spec& spec, va_list* args) {
  if (spec.length > sizeof(int)) return va_arg(*args, uint64_t);
  const unsigned value = va_arg(*args, unsigned);
  if (spec.length == sizeof(char)) return static_cast<unsigned char>(value);
  return spec.length == sizeof(short) ? static_cast<unsigned short>(value) : value;
}

const char* parse_number(const char* p, int* number, va_list* args) {
  if (*p == '*') {
    *number = va_arg(*args, int);
    return p + 1;
  }
  for (*number = 0; *p >= '0' && *p <= '9'; ++p) {
    if (*number < 1000) *number = *number * 10 + (*p - '0');
  }
  return p;
}

const char* parse_length(const char* p, size_t* length) {
  switch (*p) {
    case 'h':
      *length = p[1] == 'h' ? sizeof(char) : sizeof(short);
      return p[1] == 'h' ? p + 2 : p + 1;
    case 'l':
      *length = p[1] == 'l' ? sizeof(long long) : sizeof(long);
      return p[1] == 'l' ? p + 2 : p + 1;
    case 'z':
    case 't':
      *length = sizeof(size_t);
      return p + 1;
    case 'j':
      *length = sizeof(intmax_t);
      return p + 1;
    default:
      return p;
  }
}

const char* parse_spec(const char* p, Spec* spec, va_list* args) {
  for (;; ++p) {
    if (*p == '-') {
      spec->left = true;
    } else if (*p == '0') {
      spec->zero = true;
    } else if (*p == '#') {
      spec->alternate = true;
    } else if (*p == '+' || *p == ' ') {
      spec->sign = *p;
    } else {
      break;
    }
  }
  p = parse_number(p, &spec->width, args);
  if (spec->width < 0) {
    spec->left = true;
    spec->width = -spec->width;
  }
  if (*p == '.') p = parse_number(p + 1, &spec->precision, args);
  return parse_length(p, &spec->length);
}

void convert(Writer& out, const Spec& spec, char conversion, va_list* args) {
  const char positive[] = {spec.sign, 0};
  switch (conversion) {
    case 'd':
    case 'i': {
      const int64_t value = signed_argument(spec, args);
      const auto magnitude = static_cast<uint64_t>(value);
      return put_unsigned(out, spec, value < 0 ? 0 - magnitude : magnitude, 'd',
                          value < 0 ? "-" : positive);
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      return put_unsigned(out, spec, unsigned_argument(spec, args), conversion, "");
    case 'p': {
      const auto value = reinterpret_cast<uintptr_t>(va_arg(*args, void*));
      return put_unsigned(out, spec, value, 'x', "0x");
    }
    case 'c': {
      const char c = static_cast<char>(va_arg(*args, int));
      return out.field(spec, "", &c, 1, 0);
    }
    case 's': {
      const char* text = va_arg(*args, const char*);
      if (text == nullptr) text = "(null)";
      size_t length = 0;
      while ((spec.precision < 0 || length < static_cast<size_t>(spec.precision)) &&
             text[length] != 0) {
        ++length;
      }
      return out.field(spec, "", text, length, 0);
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return put_double(out, spec, va_arg(*args, double));
    default:
      out.put(conversion);
  }
}

}  // namespace

size_t format(char* buffer, size_t size, const char* format, va_list args) {
  if (size == 0) return 0;
  Writer out(buffer, size);
  va_list rest;  // a copy, whose address can be passed on whatever va_list is
  va_copy(rest, args);
  for (const char* p = format; *p != 0; ++p) {
    if (*p != '%') {
      out.put(*p);
      continue;
    }
    Spec spec;
    p = parse_spec(p + 1, &spec, &rest);
    if (*p == 0) break;
    convert(out, spec, *p, &rest);
  }
  va_end(rest);
  return out.finish();
}

}  // namespace executorch::runtime::internal
