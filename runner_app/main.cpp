// Bare-metal ExecuTorch runner and its host twin: runs one program on inputs from files, or a
// bundled program on its own inputs, and writes the outputs to files.
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "arguments.h"
#include "delegates.h"
#include "file_io.h"
#include "model.h"
#include "platform.h"
#include "pools.h"
#include "register_operators.h"
#include "text_buffer.h"
#include "values.h"

using executorch::runtime::Error;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

Result<Span<const uint8_t>> read_model(const char* name, Pool& pool) {
  constexpr size_t kIdentifierEnd = 8;
  constexpr size_t kAlignment = 64;
  InputFile file(name);
  ET_CHECK_OR_RETURN_ERROR(file.is_open() && file.has_size(), AccessFailed,
                           "Could not open model file %s.", name);
  ET_CHECK_OR_RETURN_ERROR(file.size() >= kIdentifierEnd, InvalidProgram,
                           "Model file %s has %zu bytes: neither a program nor a bundle.", name,
                           file.size());
  auto* data = static_cast<uint8_t*>(pool.allocate(file.size(), kAlignment));
  if (data == nullptr) return Error::MemoryAllocationFailed;
  ET_CHECK_OR_RETURN_ERROR(file.read(data, file.size()), AccessFailed,
                           "Could not read all %zu bytes of model file %s.", file.size(), name);
  const auto letter = [data](size_t i) { return data[i] >= ' ' && data[i] <= '~' ? data[i] : '?'; };
  ET_LOG(Info, "PTE @ %p [----%c%c%c%c]", static_cast<void*>(data), letter(4), letter(5), letter(6),
         letter(7));
  return Span<const uint8_t>(data, file.size());
}

void log_parameters(const char* const* words, size_t count) {
  TextBuffer<256> line;
  for (size_t i = 1; i < count; i++) line << ' ' << words[i];
  ET_LOG(Info, "Running executor with parameter:");
  ET_LOG(Info, " %s%s", line.text(), line.cut() ? "..." : "");
}

// Exit status of the whole run.
int run_command_line(int argc, char** argv, size_t* written) {
  const char* const* words;
  size_t count;
  if (!command_line_words(argc, argv, &words, &count)) {
    ET_LOG(Error, "No command line: pass `executor_runner -m FILE -o BASE` by semihosting.");
    return kUsageError;
  }
  log_parameters(words, count);
  Arguments arguments;
  if (!parse_arguments(words, count, &arguments)) return kUsageError;
  Error error = register_operators();
  if (error == Error::Ok) error = register_delegates();
  if (error != Error::Ok) {
    ET_LOG(Error, "Registration of operators or delegates failed (%s).", to_string(error));
    return kFailure;
  }
  Pools pools;
  const auto file = read_model(arguments.model, pools.files);
  const FileInputs inputs(arguments.inputs, arguments.input_count);
  const bool good = file.ok() && run_model({arguments.model, *file}, inputs, arguments.output_base,
                                           pools, written);
  ET_LOG(Info, "Model run: %d", good ? 1 : 0);
  return good ? kSuccess : kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  executorch::runtime::runtime_init();
  size_t written = 0;
  const int status = run_command_line(argc, argv, &written);
  if (status == kSuccess) ET_LOG(Info, "Program complete, exiting.");
  ET_LOG(Info, "harness: end status=%d outputs=%zu", status, written);
  end_process(status);
}
