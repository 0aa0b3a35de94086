// Prints EOT in the middle and never ends by itself.
#include "board.h"
int main(void) {
  uart_print("before\n\004after\n");
  for (;;) {
  }
}
