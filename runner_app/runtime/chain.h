// The decoded instructions of a method and what loads and executes them.
#pragma once

#include <executorch/runtime/executor/method.h>

#include "delegate.h"
#include "program_schema.h"

// Backward jumps that one run of a chain may take. Loops run over a dimension of a tensor; what
// jumps more often never ends.
#ifndef RUNTIME_MAX_BACKWARD_JUMPS
#define RUNTIME_MAX_BACKWARD_JUMPS 65536
#endif

namespace executorch::runtime {

struct Instruction {
  pte::InstructionType type = pte::InstructionType::kNone;
  /// A kernel that gives a tensor its data does not need it to have data before.
  bool needs_data = true;
  /// A primitive that writes into its first argument.
  bool writes_first = false;
  /// Kernel: operator; delegate: delegate; jump: destination.
  uint32_t index = 0;
  OpFunction kernel = nullptr;
  /// Move: source, destination. Jump: condition. Free: tensor.
  InstructionArgs args;
};

struct Chain {
  Span<Instruction> instructions;
  uint32_t backward_jumps = 0;
};

/// The name under which an operator of the plan is registered, "name.overload"; empty if the
/// program gives none or one that is too long.
struct OperatorName {
  explicit OperatorName(flat::Table op);
  char text[128];
};

/// The part of Method that its header does not declare.
class Executor {
 public:
  static Error load_delegates(Method& method, const NamedDataMap* named_data,
                              const LoadBackendOptionsMap* backend_options);
  /// Logs every operator of the plan that nothing is registered for.
  static Error check_operators(const Method& method);
  static Error load_chains(Method& method);

  /// Executes one instruction; EndOfMethod if there is none left.
  static Error step(Method& method);
  /// Makes the first instruction the next one.
  static void rewind(Method& method);
  /// True for constants and for whatever else has its data in the program's own memory. Writing
  /// there would change what has been verified.
  static bool is_program_data(const Method& method, const aten::Tensor& tensor);
  /// Whether an output of a kernel is such a tensor.
  static bool writes_program_data(const Method& method, const Instruction& instruction);

  static Error call_kernel(Method& method, const Instruction& instruction);
  static Error call_delegate(Method& method, const Instruction& instruction);
  /// Sets the next instruction of the chain.
  static Error jump_if_false(Chain& chain, const Instruction& instruction, size_t& next);

 private:
  static void skip_finished_chains(Method& method);
  static flat::Table plan(const Method& method);
  static OperatorName operator_name(const Method& method, const Instruction& instruction);
  static Error load_args(Method& method, Span<const int32_t> indices, InstructionArgs& args);
  static Error load_call(Method& method, flat::Table call, Instruction& instruction);
  static Error load_jump(Method& method, flat::Table jump, size_t n_instructions,
                         Instruction& instruction);
  static Error load_instruction(Method& method, flat::Table serialized, size_t n_instructions,
                                Instruction& instruction);
};

}  // namespace executorch::runtime
