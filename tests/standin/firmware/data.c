// Prints what --data put into DDR.
#include "board.h"
int main(void) {
  uart_print((const char*)0x90000000);
  return 0;
}
