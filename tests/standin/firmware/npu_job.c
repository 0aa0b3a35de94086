// Runs the command stream that --data put at 0x70000000 (its size, then 12 bytes, then the words).
#include "npu.h"

int main(void) {
  const uint32_t* const stream = (const uint32_t*)0x70000000;
  npu_enable_interrupt();
  REG(RESET) = 3;
  npu_run(stream + 4, stream[0], (const void*)stream[1]);
  for (int n = 0; n < 100000 && !interrupts; ++n) __asm__ volatile("nop");
  show("interrupts", interrupts);
  show("status", status_at_interrupt);
  show("qread", REG(QREAD));
  const uint32_t* const result = (const uint32_t*)stream[2];
  show("result", result ? *result : 0);
  return 0;
}
