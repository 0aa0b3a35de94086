// From the reset entry to main(): .data, .bss, protection, static objects.
#include <cstring>

#include "board.h"
#include "platform.h"

int main(int argc, char** argv);

extern "C" [[noreturn]] void start() {
  const auto bytes = [](const uint32_t* from, const uint32_t* to) {
    return reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  };
  memcpy(data_start, data_load, bytes(data_start, data_end));
  memset(bss_start, 0, bytes(bss_start, bss_end));
  mpu_initialize();
  for (Initializer* initializer = initializers_start; initializer != initializers_end;
       ++initializer) {
    (*initializer)();
  }
  end_process(main(0, nullptr));
}
