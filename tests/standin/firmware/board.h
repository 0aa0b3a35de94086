// Start-up, UART0 and raw semihosting calls for the stand-in's test firmware.
#pragma once
#include <stdint.h>

// Secure views. UART0: DATA, STATE, CTRL, INT, BAUDDIV.
#ifdef CORSTONE_320
#define UART0 ((volatile uint32_t*)0x58203000)
#define NPU 0x50004000u
#define NPU_IRQ 16
#else
#define UART0 ((volatile uint32_t*)0x59303000)
#define NPU 0x58102000u
#define NPU_IRQ 56
#endif

enum {
  SYS_OPEN = 0x01,
  SYS_CLOSE = 0x02,
  SYS_WRITEC = 0x03,
  SYS_WRITE0 = 0x04,
  SYS_WRITE = 0x05,
  SYS_READ = 0x06,
  SYS_ISTTY = 0x09,
  SYS_SEEK = 0x0A,
  SYS_FLEN = 0x0C,
  SYS_REMOVE = 0x0E,
  SYS_RENAME = 0x0F,
  SYS_SYSTEM = 0x12,
  SYS_ERRNO = 0x13,
  SYS_GET_CMDLINE = 0x15,
  SYS_EXIT = 0x18,
  SYS_EXIT_EXTENDED = 0x20,
};

static inline int call(int operation, const void* block) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = block;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

static inline int length(const char* text) {
  int n = 0;
  while (text[n]) ++n;
  return n;
}

static inline int sh_open(const char* name, int mode) {
  const uint32_t block[] = {(uint32_t)name, mode, length(name)};
  return call(SYS_OPEN, block);
}
static inline int sh_close(int fd) {
  const uint32_t block[] = {fd};
  return call(SYS_CLOSE, block);
}
static inline int sh_write(int fd, const void* data, int size) {  // bytes NOT written
  const uint32_t block[] = {fd, (uint32_t)data, size};
  return call(SYS_WRITE, block);
}
static inline int sh_read(int fd, void* data, int size) {  // bytes NOT read
  const uint32_t block[] = {fd, (uint32_t)data, size};
  return call(SYS_READ, block);
}
static inline void sh_print(const char* text) { call(SYS_WRITE0, text); }
static inline void sh_exit(int status) {
  const uint32_t block[] = {0x20026, status};
  call(SYS_EXIT_EXTENDED, block);
}

static inline void uart_start(void) {
  UART0[4] = 16;
  UART0[2] = 1;
}
static inline void uart_byte(int byte) {
  while (UART0[1] & 1) {
  }
  UART0[0] = byte;
}
static inline void uart_print(const char* text) {
  while (*text) uart_byte(*text++);
}
static inline void print_number(void (*print)(const char*), int number) {
  char text[12], *p = text + 11;
  unsigned n = number < 0 ? -(unsigned)number : (unsigned)number;
  *p = 0;
  do *--p = '0' + n % 10;
  while (n /= 10);
  if (number < 0) *--p = '-';
  print(p);
}

int main(void);
extern uint32_t stack_top;
extern const void* const vectors[16];
static void reset(void) {
  uart_start();
  sh_exit(main());
  for (;;) {
  }
}
__attribute__((section(".vectors"), used))
const void* const vectors[16] = {&stack_top, (void*)reset};
