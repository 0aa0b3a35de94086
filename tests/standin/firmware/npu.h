// Registers of the Ethos-U, and its interrupt.
#pragma once
#include "board.h"

#define REG(offset) (*(volatile uint32_t*)(NPU + (offset)))
enum { ID = 0, STATUS = 4, CMD = 8, RESET = 12, QBASE = 16, QREAD = 24, QSIZE = 32, PROT = 36 };
enum { CONFIG = 40, REGIONCFG = 60, BASEP = 128, PMCR = 0x180, PMCCNTR = 0x1A0 };

static volatile int interrupts;
static volatile uint32_t status_at_interrupt;

static void npu_handler(void) {
  ++interrupts;
  status_at_interrupt = REG(STATUS);
  REG(CMD) = 2;  // clear the interrupt
}

static inline void npu_enable_interrupt(void) {
  static const void* table[16 + NPU_IRQ + 1] __attribute__((aligned(512)));
  table[16 + NPU_IRQ] = (void*)npu_handler;
  *(volatile uint32_t*)0xE000ED08 = (uint32_t)table;                          // VTOR
  *(volatile uint32_t*)(0xE000E100 + NPU_IRQ / 32 * 4) = 1u << NPU_IRQ % 32;  // NVIC ISER
}

static inline void npu_run(const void* commands, uint32_t size, const void* region) {
  REG(QBASE) = (uint32_t)commands;
  REG(QBASE + 4) = 0;
  REG(QSIZE) = size;
  for (int n = 0; n < 8; ++n) {
    REG(BASEP + 8 * n) = (uint32_t)region;
    REG(BASEP + 8 * n + 4) = 0;
  }
  REG(CMD) = 1;
}

static inline void show(const char* name, uint32_t value) {
  char text[9];
  for (int n = 0; n < 8; ++n) text[n] = "0123456789abcdef"[value >> (28 - 4 * n) & 15];
  text[8] = 0;
  sh_print(name);
  sh_print(" ");
  sh_print(text);
  sh_print("\n");
}
