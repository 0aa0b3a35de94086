// Drives the NPU's registers in the forms that drivers use and runs a job over two kinds of memory.
#include "npu.h"

int main(void) {
  uint32_t a, b, base = NPU;
  show("id", REG(ID));
  show("config", REG(CONFIG));
  __asm__ volatile("ldrb %0, [%1, #0x29]" : "=r"(a) : "r"(base));
  show("byte 0x29", a);
  REG(RESET) = 2;
  show("reset done", REG(STATUS));
  show("prot", REG(PROT));
  show("cmd", REG(CMD));
  __asm__ volatile("strd %1, %2, [%0], #8"
                   : "+r"(base)
                   : "r"(1), "r"(2));  // ID and STATUS: read only
  show("id", REG(ID));
  show("status", REG(STATUS));
  base = NPU + BASEP;
  __asm__ volatile("strd %1, %2, [%0], #8" : "+r"(base) : "r"(0x70000100), "r"(0));
  __asm__ volatile("strd %1, %2, [%0, #8]!" : "+r"(base) : "r"(0x31000200), "r"(5));
  __asm__ volatile("ldrd %0, %1, [%2, #-16]" : "=&r"(a), "=&r"(b) : "r"(base));
  show("region 0", a);
  __asm__ volatile("ldrd %0, %1, [%2]" : "=&r"(a), "=&r"(b) : "r"(base));
  show("region 2", a);
  show("region 2 high", b);
  __asm__ volatile("strb %0, [%1, #1]" ::"r"(0xAB), "r"(NPU + REGIONCFG));
  __asm__ volatile("strh %0, [%1, #2]" ::"r"(0x1234), "r"(NPU + REGIONCFG));
  show("regioncfg", *(volatile uint32_t*)(NPU - 0x10000000 + REGIONCFG));  // the non-secure view
  __asm__ volatile(
      "cmp %0, %0\n ittee eq\n streq %1, [%0]\n ldreq %1, [%0, #4]\n strne %1, [%0]\n movne %1, #0"
      : "+r"(base), "+r"(a)
      :
      : "cc", "memory");
  show("in an IT block", a);
  REG(PMCR) = 0xFFFFFFFF;
  show("pmcr", REG(PMCR));
  show("cycles", REG(PMCCNTR));

  npu_enable_interrupt();
  volatile uint32_t* const places[] = {(void*)0x71000000, (void*)0x31000ffc};
  for (int n = 0; n < 2; ++n) places[n][0] = 100 + n, places[n][1] = 200 + n;
  npu_run((const void*)0x71000000, 64, (const void*)0x31000ffc);
  while (!interrupts) {
  }
  show("interrupts", interrupts);
  show("status at interrupt", status_at_interrupt);
  show("status", REG(STATUS));
  show("qread", REG(QREAD));
  for (int n = 0; n < 2; ++n) show("first", places[n][0]), show("second", places[n][1]);
  REG(CMD) = 1;  // once more: the line rises again
  while (interrupts < 2) {
  }
  show("interrupts", interrupts);
  REG(RESET) = 3;
  show("qsize", REG(QSIZE));
  return 0;
}
