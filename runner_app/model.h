// A program or a bundle in memory, run from its first to its last inference.
#pragma once

#include <executorch/runtime/core/span.h>

#include "pools.h"
#include "values.h"

// Its name is for messages.
struct ModelFile {
  const char* name;
  executorch::runtime::Span<const uint8_t> bytes;
};

// Runs the first method of the program in `file` on `inputs`, or every test case of the bundle in
// it on its own inputs, and writes the outputs to files that begin with `output_base`; `written`
// counts them. False if anything fails or differs from the bundle's references; what, is logged.
bool run_model(const ModelFile& file, const InputSource& inputs, const char* output_base,
               Pools& pools, size_t* written);
