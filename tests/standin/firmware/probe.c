// Touches an address where the machine has nothing, then waits for the NPU's interrupt.
#include "board.h"

#define NPU_IRQ 56
static volatile uint32_t* const absent = (volatile uint32_t*)0x50004000;
static volatile int interrupts;

static void handler(void) {
  ++interrupts;
  *(volatile uint32_t*)(0xE000E180 + NPU_IRQ / 32 * 4) = 1u << NPU_IRQ % 32;  // NVIC ICER
}

int main(void) {
  static const void* table[16 + NPU_IRQ + 1] __attribute__((aligned(512)));
  table[16 + NPU_IRQ] = (void*)handler;
  *(volatile uint32_t*)0xE000ED08 = (uint32_t)table;                          // VTOR
  *(volatile uint32_t*)(0xE000E100 + NPU_IRQ / 32 * 4) = 1u << NPU_IRQ % 32;  // NVIC ISER
  absent[2] = 0x12345678;
  uint32_t value = absent[3];
  while (!interrupts) {
  }
  print_number(uart_print, value);
  return interrupts;
}
