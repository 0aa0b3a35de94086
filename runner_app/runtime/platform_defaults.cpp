// Platform functions that a program may replace: on a host those of the C library; on a bare
// machine nothing but a stop, as there is neither a clock, a console nor a heap to assume.
#define ET_INTERNAL_PLATFORM_WEAKNESS ET_WEAK
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/platform.h>

#if defined(__unix__) || defined(__APPLE__)

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>

void et_pal_init() {}

void et_pal_abort() { std::abort(); }

et_timestamp_t et_pal_current_ticks() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<et_timestamp_t>(now.tv_sec) * 1000000000 +
         static_cast<et_timestamp_t>(now.tv_nsec);
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier() { return {1, 1}; }

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename,
                             const char* function, size_t line, const char* message, size_t) {
  std::fprintf(stderr, "%c [executorch:%s:%zu %s()] %s\n", level, filename, line, function,
               message);
}

void* et_pal_allocate(size_t size) { return std::malloc(size); }

void et_pal_free(void* ptr) { std::free(ptr); }

#else

void et_pal_init() {}

void et_pal_abort() {
  for (;;) __builtin_trap();
}

et_timestamp_t et_pal_current_ticks() { return 0; }

et_tick_ratio_t et_pal_ticks_to_ns_multiplier() { return {1, 1}; }

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                             const char*, size_t) {}

void* et_pal_allocate(size_t) { return nullptr; }

void et_pal_free(void*) {}

#endif
