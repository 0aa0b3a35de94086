// The runner's surroundings for a fuzzer: silent, without files, and an abort is a finding.
#include <executorch/runtime/platform/platform.h>

#include <cstdlib>

#include "file_io.h"

extern "C" {
void et_pal_init() {}
void et_pal_abort() { abort(); }
et_timestamp_t et_pal_current_ticks() { return 0; }
et_tick_ratio_t et_pal_ticks_to_ns_multiplier() { return {1, 1}; }
void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                             const char*, size_t) {}
void* et_pal_allocate(size_t) { return nullptr; }
void et_pal_free(void*) {}
}

InputFile::InputFile(const char*) : handle_(-1) {}
InputFile::~InputFile() = default;
bool InputFile::read(void*, size_t) { return false; }

bool write_file(const char*, const void* data, size_t size) {
  // Outputs are read to the last byte, as they are when they are written.
  static volatile uint8_t sink;
  for (size_t i = 0; i < size; i++) sink = static_cast<const uint8_t*>(data)[i];
  return true;
}
