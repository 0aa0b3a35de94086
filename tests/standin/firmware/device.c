// Reads and writes an emulated device in all the forms that compilers make, and takes its
// interrupt.
#include "board.h"

#define IRQ 40
static volatile int interrupts;
static uint8_t* const device = (uint8_t*)0x50004000;

static void handler(void) {
  ++interrupts;
  *(volatile uint32_t*)(device + 0x40) = 0;  // lowers the line
}

static void show(const char* name, uint32_t value) {
  sh_print(name);
  print_number(sh_print, value);
  sh_print("\n");
}

int main(void) {
  static const void* table[16 + IRQ + 1] __attribute__((aligned(512)));
  table[16 + IRQ] = (void*)handler;
  *(volatile uint32_t*)0xE000ED08 = (uint32_t)table;                  // VTOR
  *(volatile uint32_t*)(0xE000E100 + IRQ / 32 * 4) = 1u << IRQ % 32;  // NVIC ISER

  uint32_t a, b, base = (uint32_t)device, index = 2;
  __asm__ volatile("str %0, [%1, #4]" ::"l"(0x80c0ffee), "l"(base));
  __asm__ volatile("ldr %0, [%1, #4]" : "=l"(a) : "l"(base));
  show("word ", a);
  __asm__ volatile("ldrb %0, [%1, %2]" : "=l"(a) : "l"(base), "l"(5));
  show("byte ", a);
  __asm__ volatile("ldrsh %0, [%1, %2]" : "=l"(a) : "l"(base), "l"(6));
  show("signed half ", a);
  __asm__ volatile("ldrsb.w %0, [%1, #4]" : "=r"(a) : "r"(base));
  show("signed byte ", a);
  __asm__ volatile("strh.w %0, [%1, %2, lsl #2]" ::"r"(0x1234), "r"(base), "r"(index));
  __asm__ volatile("ldr.w %0, [%1, #8]" : "=r"(a) : "r"(base));
  show("half at 8 ", a);
  uint32_t end = base + 16;
  __asm__ volatile("mov r4, #11\n mov r5, #22\n mov r6, #33\n stmia %0!, {r4, r5, r6}"
                   : "+r"(end)::"r4", "r5", "r6", "memory");
  show("moved by a group ", end - base - 16);
  __asm__ volatile("ldmdb %1, {r4, r5, r6}\n add %0, r4, r5\n add %0, r6"
                   : "=&r"(a)
                   : "r"(end)
                   : "r4", "r5", "r6");
  show("sum of a group ", a);
  __asm__ volatile("lda %0, [%1]" : "=r"(a) : "r"(base + 20));
  show("acquired ", a);
  __asm__ volatile("strd %1, %2, [%0], #8" : "+r"(base) : "r"(11), "r"(22));
  show("moved by ", base - (uint32_t)device);
  __asm__ volatile("ldrd %0, %1, [%2, #-8]" : "=&r"(a), "=&r"(b) : "r"(base));
  show("first ", a);
  show("second ", b);
  __asm__ volatile("ldr %0, [%1, #-4]!" : "=&r"(a), "+r"(base));
  show("pre-indexed ", a);
  show("moved to ", base - (uint32_t)device);
  a = b = 7;
  __asm__ volatile(
      "cmp %1, #7\n ittee eq\n ldreq %0, [%2]\n addeq %1, #1\n ldrne %0, [%2, #4]\n addne %1, #2"
      : "+l"(a), "+l"(b)
      : "l"(device)
      : "cc");
  show("in an IT block ", a);
  show("behind it ", b);
  *(volatile uint32_t*)(device - 0x10000000 + 0x40) = 1;  // the other alias; raises the line
  while (!interrupts) {
  }
  show("interrupts ", interrupts);
  return 0;
}
