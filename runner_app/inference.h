// One inference: a freshly loaded method, its inputs, its outputs.
#pragma once

#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <optional>

#include "pools.h"
#include "values.h"

class Inference {
 public:
  // Both must outlive the inference; it takes over all pools but that of the files.
  Inference(const executorch::runtime::Program& program, Pools& pools);

  // Loads the method into pools that were emptied first and whose planned part, outputs included,
  // is filled with kPoison: an output that nobody writes stays recognisable.
  executorch::runtime::Error load(const char* method_name);
  executorch::runtime::Error set_inputs(const InputSource& source);
  executorch::runtime::Error execute();
  // Writes each output tensor to a file, raw and in storage order; other outputs are only named.
  // The files of the first test case are BASE-<output>.bin, of case k > 0 BASE-<k>-<output>.bin.
  executorch::runtime::Error write_outputs(const char* base, size_t test_case, size_t* written);

  const executorch::runtime::Method& method() const { return *method_; }

 private:
  static constexpr uint8_t kPoison = 0xA5;

  uint8_t* allocate_poisoned(size_t size);
  executorch::runtime::Error plan_memory(const executorch::runtime::MethodMeta& meta);
  executorch::runtime::Error place_unplanned_outputs();

  const executorch::runtime::Program& program_;
  Pools& pools_;
  std::optional<executorch::runtime::HierarchicalAllocator> planned_;
  std::optional<executorch::runtime::MemoryManager> memory_;
  std::optional<executorch::runtime::Method> method_;
};
