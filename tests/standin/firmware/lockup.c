// Faults without a handler.
#include "board.h"
int main(void) {
  uart_print("about to fault\n");
  *(volatile uint32_t*)0xfffffff0 = 1;
  return 0;
}
