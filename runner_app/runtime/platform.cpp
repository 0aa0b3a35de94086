// The platform layer, the runtime's start and end, and its log.
#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include "log_format.h"

namespace executorch::runtime {
namespace {

PalImpl platform = {et_pal_init,
                    et_pal_abort,
                    et_pal_current_ticks,
                    et_pal_ticks_to_ns_multiplier,
                    et_pal_emit_log_message,
                    et_pal_allocate,
                    et_pal_free,
                    "default"};

template <typename Function>
void override_with(Function& own, Function other) {
  if (other != nullptr) own = other;
}

}  // namespace

PalImpl PalImpl::create(pal_emit_log_message_method emit_log_message, const char* source_filename) {
  return create(nullptr, nullptr, nullptr, nullptr, emit_log_message, nullptr, nullptr,
                source_filename);
}

PalImpl PalImpl::create(pal_init_method init, pal_abort_method abort,
                        pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename) {
  return {init,     abort, current_ticks,  ticks_to_ns_multiplier, emit_log_message,
          allocate, free,  source_filename};
}

bool register_pal(PalImpl impl) {
  override_with(platform.init, impl.init);
  override_with(platform.abort, impl.abort);
  override_with(platform.current_ticks, impl.current_ticks);
  override_with(platform.ticks_to_ns_multiplier, impl.ticks_to_ns_multiplier);
  override_with(platform.emit_log_message, impl.emit_log_message);
  override_with(platform.allocate, impl.allocate);
  override_with(platform.free, impl.free);
  override_with(platform.source_filename, impl.source_filename);
  return true;
}

const PalImpl* get_pal_impl() { return &platform; }

void pal_init() { platform.init(); }

void pal_abort() {
  platform.abort();
  __builtin_trap();  // only if a platform's abort returns
}

et_timestamp_t pal_current_ticks() { return platform.current_ticks(); }

et_tick_ratio_t pal_ticks_to_ns_multiplier() { return platform.ticks_to_ns_multiplier(); }

void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length) {
  platform.emit_log_message(timestamp, level, filename, function, line, message, length);
}

void* pal_allocate(size_t size) { return platform.allocate(size); }

void pal_free(void* ptr) { platform.free(ptr); }

void runtime_init() { pal_init(); }

void runtime_abort() { pal_abort(); }

namespace internal {

et_timestamp_t get_log_timestamp() { return pal_current_ticks(); }

void vlogf(LogLevel level, et_timestamp_t timestamp, const char* filename, const char* function,
           size_t line, const char* format_string, va_list args) {
  constexpr size_t kMaxMessage = 256;
  constexpr et_pal_log_level_t kLevels[] = {kDebug, kInfo, kError, kFatal};
  char message[kMaxMessage];
  const size_t length = format(message, sizeof(message), format_string, args);
  const auto index = static_cast<size_t>(level);
  pal_emit_log_message(timestamp,
                       index < sizeof(kLevels) / sizeof(kLevels[0]) ? kLevels[index] : kUnknown,
                       filename, function, line, message, length);
}

}  // namespace internal
}  // namespace executorch::runtime
