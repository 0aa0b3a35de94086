// Interprets its command line, one file operation a word, and prints the result of each:
// r:FILE read, w:FILE write "text", a:FILE append "+", d:FILE remove, m:FILE:NEW rename, x:COMMAND.
#include "board.h"

static char* next(char* text, char end) {
  while (*text && *text != end) ++text;
  if (*text) *text++ = 0;
  return text;
}

static int operate(char kind, char* name) {
  static char content[64];
  int fd, left;
  switch (kind) {
    case 'r':
      if ((fd = sh_open(name, 1)) < 0) return fd;
      left = sh_read(fd, content, sizeof content - 1);
      content[sizeof content - 1 - left] = 0;
      sh_print("[");
      sh_print(content);
      sh_print("] ");
      return sh_close(fd);
    case 'w':
    case 'a':
      if ((fd = sh_open(name, kind == 'w' ? 5 : 9)) < 0) return fd;
      left = kind == 'w' ? sh_write(fd, "text", 4) : sh_write(fd, "+", 1);
      return left ? left : sh_close(fd);
    case 'm': {
      char* to = next(name, ':');
      const uint32_t block[] = {(uint32_t)name, length(name), (uint32_t)to, length(to)};
      return call(SYS_RENAME, block);
    }
  }
  const uint32_t block[] = {(uint32_t)name, length(name)};
  return call(kind == 'd' ? SYS_REMOVE : SYS_SYSTEM, block);
}

int main(void) {
  static char line[300];
  uint32_t block[2] = {(uint32_t)line, sizeof line};
  if (call(SYS_GET_CMDLINE, block)) return 1;
  for (char *word = line, *rest; *word; word = rest) {
    rest = next(word, ' ');
    sh_print(word);
    sh_print(" ");
    int result = operate(word[0], word + 2);
    print_number(sh_print, result);
    if (result) {
      sh_print(" errno ");
      print_number(sh_print, call(SYS_ERRNO, 0));
    }
    sh_print("\n");
  }
  return 0;
}
