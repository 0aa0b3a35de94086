// printf's formats without the C library, whose small builds know no %zu and no 64-bit numbers.
#pragma once

#include <cstdarg>
#include <cstddef>

namespace executorch::runtime::internal {

/// Writes at most `size - 1` characters and a terminator; returns the characters written.
/// Conversions d i u x X o c s p f %, with flags `-0+ #`, width, precision and the lengths
/// hh h l ll z j t. e, g and a are written as f.
size_t format(char* buffer, size_t size, const char* format, va_list args);

}  // namespace executorch::runtime::internal
