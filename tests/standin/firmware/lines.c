// A log of 4000 bytes.
#include "board.h"
int main(void) {
  for (int n = 0; n < 100; ++n) uart_print("I [executorch:main.cpp:123 main()] line.\n" + 1);
  return 0;
}
