// UART and semihosting console in turns, the command line, a chosen exit status.
#include "board.h"
int main(void) {
  static char line[300];
  const uint32_t block[] = {(uint32_t)line, sizeof line};
  uint32_t arg[2] = {block[0], block[1]};
  uart_print("uart one\n");
  sh_print("semihosting two\n");
  uart_print("uart three\n");
  sh_print(call(SYS_GET_CMDLINE, arg) == 0 ? "cmdline=<" : "no cmdline <");
  sh_print(line);
  sh_print(">\n");
  int fd = sh_open(":tt", 4);
  sh_write(fd, "tt four\n", 8);
  fd = sh_open("out.txt", 4);
  sh_print("fd ");
  print_number(sh_print, fd);
  sh_print("\n");
  sh_write(fd, "content", 7);
  sh_close(fd);
  uart_print("last uart bytes");
  return 42;
}
