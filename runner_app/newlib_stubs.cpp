// What newlib and the C++ runtime want from a system; here it is one without heap and without files
// of its own: allocation fails, text goes to the console, an abort ends the process.
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>

#include "platform.h"

extern "C" {

void* _sbrk(ptrdiff_t) {
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);
}

int _write(int, const char* text, int length) {
  console_write(text, static_cast<size_t>(length));
  return length;
}

int _read(int, char*, int) { return 0; }
int _close(int) { return -1; }
int _lseek(int, int, int) { return -1; }
int _isatty(int) { return 1; }
int _getpid() { return 1; }

int _fstat(int, struct stat* status) {
  status->st_mode = S_IFCHR;
  return 0;
}

// newlib's own abort() raises a signal, and signals bring in the heap.
[[noreturn]] void abort() { end_process(kAborted); }
int _kill(int, int) { end_process(kAborted); }
[[noreturn]] void _exit(int status) { end_process(status); }
[[noreturn]] void __cxa_pure_virtual() { end_process(kAborted); }

void* __dso_handle = nullptr;
int __cxa_atexit(void (*)(void*), void*, void*) { return 0; }  // nothing outlives the process

}  // extern "C"

// Virtual destructors refer to it; nothing is ever allocated that it could free.
void operator delete(void*) noexcept { end_process(kAborted); }
void operator delete(void*, size_t) noexcept { end_process(kAborted); }
