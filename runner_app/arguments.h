// The runner's command line: `executor_runner -m FILE -o BASE [-i FILE]…`.
#pragma once

#include <cstddef>

struct Arguments {
  static constexpr size_t kMaximumInputs = 64;

  const char* model = nullptr;        // program (.pte) or bundle (.bpte)
  const char* output_base = nullptr;  // outputs go to BASE-0.bin, BASE-1.bin, …
  const char* inputs[kMaximumInputs] = {};
  size_t input_count = 0;
};

// Reads the words of a command line, of which the first is the runner's own name. What is wrong
// is logged in one line; then the result is false.
bool parse_arguments(const char* const* words, size_t count, Arguments* arguments);
