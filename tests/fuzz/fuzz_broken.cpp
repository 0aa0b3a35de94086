// A reader with a fault, which a campaign has to find: it believes a length in its input.
#include "input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Input input(data, size);
  static volatile uint8_t sink;
  if (size > 2 && data[0] == 'L') sink = input.bytes().data()[data[1]];
  return 0;
}
