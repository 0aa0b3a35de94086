// More output than any pipe holds, then the exit at once.
#include "board.h"
int main(void) {
  for (int n = 0; n < 30000; ++n) uart_print("0123456789abcde\n");
  uart_print("the end");
  return 7;
}
