#include "model.h"

#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/log.h>

#include "bundle.h"
#include "inference.h"
#include "memory_loader.h"
#include "written.h"

using executorch::runtime::Error;
using executorch::runtime::Program;
using executorch::runtime::Result;

namespace {

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

}  // namespace

bool run_model(const ModelFile& file, const InputSource& inputs, const char* output_base,
               Pools& pools, size_t* written) {
  kernels::program_file = {file.bytes.data(), file.bytes.size()};
  const bool bundled = Bundle::is_bundle(file.bytes);
  Bundle bundle;
  if (bundled && bundle.open(file.bytes) != Error::Ok) return false;

  MemoryLoader loader(bundled ? bundle.program() : file.bytes);
  const auto program = Program::load(&loader, Program::Verification::InternalConsistency);
  const auto method_name =
      program.ok() ? program->get_method_name(0) : Result<const char*>(program.error());
  if (!method_name.ok()) {
    ET_LOG(Error, "Model file %s holds no valid program (%s).", file.name,
           to_string(method_name.error()));
    return false;
  }
  ET_LOG(Info, "Running method %s", *method_name);

  if (bundled) {
    if (inputs.count() > 0) ET_LOG(Info, "Inputs come from the bundle, -i is ignored.");
    return run_test_cases(*program, *method_name, bundle, output_base, pools, written);
  }
  Inference inference(*program, pools);
  return infer(inference, *method_name, inputs) == Error::Ok &&
         inference.write_outputs(output_base, 0, written) == Error::Ok;
}
