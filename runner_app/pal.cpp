// ExecuTorch's platform hooks: log lines go to the console, an abort ends the process.
#include <executorch/runtime/platform/platform.h>

#include <cstring>

#include "platform.h"
#include "text_buffer.h"

extern "C" {

void et_pal_init() {}

void et_pal_abort() { end_process(kAborted); }

// Simulated time means nothing, and a constant keeps runs identical.
et_timestamp_t et_pal_current_ticks() { return 0; }

et_tick_ratio_t et_pal_ticks_to_ns_multiplier() { return {1, 1}; }

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename,
                             const char* function, size_t line, const char* message,
                             size_t length) {
  const char* directory_end = strrchr(filename, '/');
  TextBuffer<512> text;
  text << static_cast<char>(level)
       << " [executorch:" << (directory_end == nullptr ? filename : directory_end + 1) << ':';
  text.decimal(line) << ' ' << function << "()] ";
  text.append(message, length);
  text << '\n';
  console_write(text.text(), text.length());
  if (text.cut()) console_write("...\n", 4);
}

void* et_pal_allocate(size_t) { return nullptr; }

void et_pal_free(void*) {}

}  // extern "C"
