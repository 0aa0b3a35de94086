// Writes 3 MB from DDR to a file, reads it back in one call and compares.
#include "board.h"
#define SIZE 3000001
int main(void) {
  uint8_t *from = (uint8_t*)0x70000000, *to = (uint8_t*)0x61000000;
  for (int i = 0; i < SIZE; ++i) from[i] = (i * 7) ^ (i >> 8);
  int fd = sh_open("bulk.bin", 7);  // w+b
  if (sh_write(fd, from, SIZE)) return 1;
  const uint32_t seek[] = {fd, 0}, len[] = {fd};
  if (call(SYS_FLEN, len) != SIZE || call(SYS_SEEK, seek)) return 2;
  if (sh_read(fd, to, SIZE + 5) != 5) return 3;
  for (int i = 0; i < SIZE; ++i)
    if (from[i] != to[i]) return 4;
  return sh_close(fd) ? 5 : 0;
}
