// Bundled programs (.bpte): a program with inputs and expected outputs, for device-side checks.
#pragma once

#include <executorch/runtime/executor/method.h>

#include "runtime/flat_reader.h"
#include "values.h"

// One test case. Its inputs are used where they lie in the bundle.
class BundledCase final : public InputSource {
 public:
  explicit BundledCase(flat::Table test_case) : test_case_(test_case) {}

  size_t count() const override;
  executorch::runtime::Result<executorch::runtime::EValue> value(
      const executorch::runtime::MethodMeta& meta, size_t index, Pools& pools) const override;

  // True if every output of the executed method equals the expected one; the first difference of
  // each is logged. Floating point: |expected - got| <= atol + rtol * |got|; all else: equal bytes.
  bool verify(const executorch::runtime::Method& method) const;

 private:
  flat::Table test_case_;
};

class Bundle {
 public:
  static bool is_bundle(executorch::runtime::Span<const uint8_t> file);

  // Verifies the whole bundle; what is wrong is logged. `file` must outlive the bundle.
  executorch::runtime::Error open(executorch::runtime::Span<const uint8_t> file);

  executorch::runtime::Span<const uint8_t> program() const { return program_; }
  // Test cases of a method; an error if there are none, because then nothing would be verified.
  executorch::runtime::Result<flat::Offsets<flat::Table>> test_cases(const char* method_name) const;

 private:
  flat::Table root_;
  executorch::runtime::Span<const uint8_t> program_;
};
