// Bare-metal ExecuTorch runner and its host twin: runs one program on inputs from files, or a
// bundled program on its own inputs, and writes the outputs to files.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "arguments.h"
#include "bundle.h"
#include "delegates.h"
#include "file_io.h"
#include "inference.h"
#include "platform.h"
#include "pools.h"
#include "register_operators.h"
#include "text_buffer.h"

using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::Program;
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

Error infer(Inference& inference, const char* method_name, const InputSource& inputs) {
  Error error = inference.load(method_name);
  if (error == Error::Ok) error = inference.set_inputs(inputs);
  if (error == Error::Ok) error = inference.execute();
  return error;
}

// Every test case gets a freshly loaded method, so that no state passes from one to the next.
bool run_test_cases(const Program& program, const char* method_name, const Bundle& bundle,
                    const char* output_base, Pools& pools, size_t* written) {
  const auto cases = bundle.test_cases(method_name);
  if (!cases.ok()) return false;
  bool passed = true;
  for (size_t i = 0; i < cases->size(); i++) {
    const BundledCase test_case((*cases)[i]);
    Inference inference(program, pools);
    if (infer(inference, method_name, test_case) != Error::Ok ||
        inference.write_outputs(output_base, i, written) != Error::Ok) {
      return false;
    }
    if (test_case.verify(inference.method())) {
      ET_LOG(Info, "TEST: BundleIO index[%zu] Test_result: PASS", i);
    } else {
      ET_LOG(Error, "TEST: BundleIO index[%zu] Test_result: FAIL", i);
      passed = false;
    }
  }
  return passed;
}

bool run(const Arguments& arguments, Pools& pools, size_t* written) {
  const auto file = read_model(arguments.model, pools.files);
  if (!file.ok()) return false;
  const bool bundled = Bundle::is_bundle(*file);
  Bundle bundle;
  if (bundled && bundle.open(*file) != Error::Ok) return false;
  const Span<const uint8_t> image = bundled ? bundle.program() : *file;

  BufferDataLoader loader(image.data(), image.size());
  const auto program = Program::load(&loader, Program::Verification::InternalConsistency);
  const auto method_name =
      program.ok() ? program->get_method_name(0) : Result<const char*>(program.error());
  if (!method_name.ok()) {
    ET_LOG(Error, "Model file %s holds no valid program (%s).", arguments.model,
           to_string(method_name.error()));
    return false;
  }
  ET_LOG(Info, "Running method %s", *method_name);

  if (bundled) {
    if (arguments.input_count > 0) ET_LOG(Info, "Inputs come from the bundle, -i is ignored.");
    return run_test_cases(*program, *method_name, bundle, arguments.output_base, pools, written);
  }
  Inference inference(*program, pools);
  const FileInputs inputs(arguments.inputs, arguments.input_count);
  return infer(inference, *method_name, inputs) == Error::Ok &&
         inference.write_outputs(arguments.output_base, 0, written) == Error::Ok;
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
  const bool good = run(arguments, pools, written);
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
