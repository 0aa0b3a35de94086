// Says that it runs, then loops for ever.
#include "board.h"
int main(void) {
  uart_print("started");
  for (;;) {
  }
}
