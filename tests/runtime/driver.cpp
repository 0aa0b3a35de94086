// Loads and runs a program with either runtime and prints what happened, or does so for many
// damaged copies of it.
//
//   driver --primitives
//   driver FILE [--op NAME]... [--backend NAME] [--arena BYTES] [--runs N] [--rows N]
//          [--truncate STEP | --mutate SEED COUNT]
//
// --rows sets the first size of every tensor that is given as an input.
//
// All operators, backends and external data are those of trace.h.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "trace.h"

using executorch::extension::BufferDataLoader;

namespace {

int error_lines = 0;
bool quiet = false;

void emit(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
          const char* message, size_t) {
  error_lines += level == kError || level == kFatal;
  if (!quiet) std::fprintf(stderr, "%c %s\n", level, message);
}

// ---------------------------------------------------------------------------------------------
// One run
// ---------------------------------------------------------------------------------------------

struct Options {
  std::string file;
  size_t arena = 1 << 20;
  int runs = 1;
  int rows = -1;
};

/// What a damaged program may ask for.
bool too_large(uint64_t nbytes) {
  if (nbytes <= 1 << 24) return false;
  emit(0, kError, "", "", 0, "too much memory", 0);
  return true;
}

void print_info(const char* what, size_t i, const Result<Tag>& tag,
                Result<TensorInfo> (MethodMeta::*get)(size_t) const, const MethodMeta& meta) {
  if (!tag.ok()) return;
  const Result<TensorInfo> info = *tag == Tag::Tensor ? (meta.*get)(i) : Error::InvalidType;
  if (quiet) return;
  std::printf("%s %zu: tag %u", what, i, static_cast<unsigned>(*tag));
  if (info.ok()) {
    std::printf(" type %d nbytes %zu planned %d [", static_cast<int>(info->scalar_type()),
                info->nbytes(), info->is_memory_planned());
    for (int32_t size : info->sizes()) std::printf(" %" PRId32, size);
    std::printf(" ]");
  }
  std::printf("\n");
}

void print_value(size_t i, const EValue& value) {
  if (quiet) return;
  Hash hash;
  hash.arg(value);
  std::printf("output %zu: tag %u hash %016" PRIx64, i, static_cast<unsigned>(value.tag),
              hash.value);
  if (value.isTensor() && value.toTensor().scalar_type() == ScalarType::Float) {
    const Tensor& t = value.toTensor();
    for (ssize_t k = 0; k < t.numel() && k < 8; ++k) {
      std::printf(" %g", static_cast<double>(t.const_data_ptr<float>()[k]));
    }
  }
  std::printf("\n");
}

/// Other inputs than tensors accept the value of the program only.
Error set_primitive(Method& method, size_t i) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const EValue own = method.get_input(i);
  EValue other;
  if (own.isInt()) other = EValue(own.toInt() + 1);
  if (own.isDouble()) other = EValue(own.toDouble() + 0.25);
  if (own.isBool()) other = EValue(!own.toBool());
  const Error refused = method.set_input(other, i);
  const Error accepted = own.isNone() ? Error::Ok : method.set_input(own, i);
  if (!quiet) {
    std::printf("input %zu: other 0x%x own 0x%x\n", i, static_cast<unsigned>(refused),
                static_cast<unsigned>(accepted));
  }
  return accepted;
}

/// Inputs are counted up, differently in every run.
Error set_inputs(Method& method, const Options& options, int run,
                 std::vector<std::vector<uint8_t>>& storage) {
  const MethodMeta meta = method.method_meta();
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    if (*meta.input_tag(i) != Tag::Tensor) {
      const Error error = set_primitive(method, i);
      if (error != Error::Ok) return error;
      continue;
    }
    const Result<TensorInfo> info = meta.input_tensor_meta(i);
    if (!info.ok()) return info.error();
    std::vector<int32_t> sizes(info->sizes().begin(), info->sizes().end());
    if (options.rows >= 0 && !sizes.empty()) sizes[0] = options.rows;
    std::vector<uint8_t> order(info->dim_order().begin(), info->dim_order().end());
    std::vector<int32_t> strides(sizes.size());
    if (dim_order_to_stride(sizes.data(), order.data(), sizes.size(), strides.data()) !=
        Error::Ok) {
      continue;
    }
    executorch::aten::TensorImpl impl(info->scalar_type(), static_cast<ssize_t>(sizes.size()),
                                      sizes.data(), nullptr, order.data(), strides.data());
    if (too_large(impl.nbytes())) return Error::MemoryAllocationFailed;
    storage.emplace_back(impl.nbytes() + 1);
    impl.set_data(storage.back().data());
    const Tensor tensor(&impl);
    if (info->scalar_type() == ScalarType::Float) {
      for (ssize_t k = 0; k < tensor.numel(); ++k) {
        tensor.mutable_data_ptr<float>()[k] =
            0.5f * static_cast<float>(k) + static_cast<float>(i + run);
      }
    } else {
      fill(tensor, i + static_cast<size_t>(run));
    }
    const Error error = method.set_input(EValue(tensor), i);
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

Error run(const uint8_t* data, size_t size, const Options& options) {
  BufferDataLoader loader(data, size);
  Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  if (!program.ok()) return program.error();
  const Result<const char*> name = program->get_method_name(0);
  if (!name.ok()) return name.error();
  const Result<MethodMeta> meta = program->method_meta(*name);
  if (!meta.ok()) return meta.error();
  if (!quiet) {
    std::printf("methods %zu, %s, instructions %zu, backends %zu, attributes %zu\n",
                program->num_methods(), meta->name(), meta->num_instructions(),
                meta->num_backends(), meta->num_attributes());
  }
  for (size_t i = 0; i < meta->num_inputs(); ++i) {
    print_info("input", i, meta->input_tag(i), &MethodMeta::input_tensor_meta, *meta);
  }
  for (size_t i = 0; i < meta->num_outputs(); ++i) {
    print_info("output", i, meta->output_tag(i), &MethodMeta::output_tensor_meta, *meta);
  }
  for (size_t i = 0; i < meta->num_attributes(); ++i) {
    const Result<TensorInfo> info = meta->attribute_tensor_meta(i);
    if (!info.ok()) return info.error();
  }

  std::vector<std::unique_ptr<uint8_t[]>> memory;
  std::vector<Span<uint8_t>> planned;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const Result<int64_t> bytes = meta->memory_planned_buffer_size(i);
    if (!bytes.ok()) return bytes.error();
    if (!quiet) std::printf("planned %zu: %" PRId64 "\n", i, *bytes);
    if (too_large(static_cast<uint64_t>(*bytes))) return Error::MemoryAllocationFailed;
    memory.emplace_back(new uint8_t[static_cast<size_t>(*bytes) + 1]);
    std::memset(memory.back().get(), 0xA5, static_cast<size_t>(*bytes));
    planned.push_back({memory.back().get(), static_cast<size_t>(*bytes)});
  }
  std::unique_ptr<uint8_t[]> arena(new uint8_t[options.arena]);
  std::unique_ptr<uint8_t[]> temporary(new uint8_t[1024]);
  MemoryAllocator method_allocator(static_cast<uint32_t>(options.arena), arena.get());
  MemoryAllocator temp_allocator(1024, temporary.get());
  HierarchicalAllocator planned_allocator({planned.data(), planned.size()});
  MemoryManager manager(&method_allocator, &planned_allocator, &temp_allocator);

  const TraceData data_map(*meta);
  Result<Method> method = program->load_method(*name, &manager, nullptr, &data_map);
  if (!method.ok()) return method.error();
  for (int i = 0; i < options.runs; ++i) {
    std::vector<std::vector<uint8_t>> storage;
    Error error = set_inputs(*method, options, i, storage);
    if (error != Error::Ok) return error;
    for (size_t o = 0; o < method->outputs_size(); ++o) {
      if (*meta->output_tag(o) != Tag::Tensor) continue;
      const Result<TensorInfo> info = meta->output_tensor_meta(o);
      if (!info.ok() || info->is_memory_planned()) continue;
      if (too_large(info->nbytes())) return Error::MemoryAllocationFailed;
      storage.emplace_back(info->nbytes() + 1);
      error = method->set_output_data_ptr(storage.back().data(), info->nbytes(), o);
      if (error != Error::Ok) return error;
    }
    error = method->execute();
    if (error != Error::Ok) return error;
    for (size_t o = 0; o < method->outputs_size(); ++o) print_value(o, method->get_output(o));
  }
  return Error::Ok;
}

// ---------------------------------------------------------------------------------------------
// Many runs
// ---------------------------------------------------------------------------------------------

/// Runs data of exactly this size, so that a sanitizer sees what is read beyond.
bool run_damaged(const std::vector<uint8_t>& bytes, const Options& options, const char* what,
                 size_t which, size_t* accepted) {
  std::unique_ptr<uint8_t[]> exact(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), exact.get());
  error_lines = 0;
  const Error error = run(exact.get(), bytes.size(), options);
  *accepted += error == Error::Ok;
  if (error != Error::Ok && error_lines == 0) {
    std::printf("%s %zu: error 0x%x without a message\n", what, which,
                static_cast<unsigned>(error));
    return false;
  }
  return true;
}

int truncate(const std::vector<uint8_t>& bytes, const Options& options, size_t step) {
  bool good = true;
  size_t accepted = 0;
  size_t cases = 0;
  for (size_t size = 0; size < bytes.size(); size += step, ++cases) {
    good &= run_damaged({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)}, options,
                        "size", size, &accepted);
  }
  std::printf("cases %zu accepted %zu\n", cases, accepted);
  return good && accepted == 0 ? 0 : 1;
}

int mutate(const std::vector<uint8_t>& bytes, const Options& options, uint64_t seed,
           uint64_t count) {
  bool good = true;
  size_t accepted = 0;
  for (uint64_t n = seed; n < seed + count; ++n) {
    std::vector<uint8_t> damaged = bytes;
    uint64_t state = n * 0x9E3779B97F4A7C15u + 1;
    const auto next = [&state] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return static_cast<size_t>(state >> 16);
    };
    for (size_t k = next() % 8 + 1; k > 0; --k) {
      // Small values and all ones hit more checks than other bytes.
      const uint8_t values[] = {static_cast<uint8_t>(next()), static_cast<uint8_t>(next() % 16), 0,
                                0xFF};
      damaged[next() % damaged.size()] = values[next() % 4];
    }
    good &= run_damaged(damaged, options, "seed", n, &accepted);
  }
  std::printf("cases %" PRIu64 " accepted %zu\n", count, accepted);
  return good ? 0 : 1;
}

// ---------------------------------------------------------------------------------------------
// Primitive operators
// ---------------------------------------------------------------------------------------------

void print_primitive(const char* name, std::vector<EValue> values, const EValue& out) {
  values.push_back(out);
  std::vector<EValue*> args;
  for (EValue& value : values) args.push_back(&value);
  KernelRuntimeContext context;
  (*get_op_function_from_registry(name))(context, {args.data(), args.size()});
  const EValue& result = values.back();
  // The type of a result is that of the value it replaces, other calls have no meaning.
  if (context.failure_state() != Error::Ok || result.tag != out.tag) return;
  std::printf("%s", name);
  for (const EValue& value : values) {
    if (value.isInt()) std::printf(" %" PRId64, value.toInt());
    if (value.isDouble()) std::printf(" %.17g", value.toDouble());
    if (value.isBool()) std::printf(" %s", value.toBool() ? "true" : "false");
  }
  std::printf("\n");
}

int print_primitives() {
  quiet = true;
  const EValue numbers[] = {EValue(int64_t{-7}), EValue(int64_t{-2}), EValue(int64_t{3}),
                            EValue(int64_t{4}),  EValue(-2.5),        EValue(-1.5),
                            EValue(0.5),         EValue(2.0),         EValue(2.75)};
  const EValue outs[] = {EValue(int64_t{0}), EValue(0.0), EValue(false)};
  const char* const two[] = {"add", "sub", "mul", "floordiv", "mod",     "truediv", "eq",
                             "gt",  "lt",  "ge",  "le",       "sym_max", "sym_min"};
  const char* const one[] = {"neg", "ceil", "round", "trunc", "sym_float", "sym_int"};
  for (const EValue& out : outs) {
    for (const EValue& a : numbers) {
      for (const char* op : one) {
        const std::string name = std::string("executorch_prim::") + op + ".Scalar";
        print_primitive(name.c_str(), {a}, out);
      }
      for (const EValue& b : numbers) {
        for (const char* op : two) {
          // Modulo of other numbers than integers is left to the implementation.
          if (std::strcmp(op, "mod") == 0 && (!a.isInt() || !b.isInt())) continue;
          const std::string name = std::string("executorch_prim::") + op + ".Scalar";
          print_primitive(name.c_str(), {a, b}, out);
        }
        print_primitive("executorch_prim::sym_ite.Scalar", {EValue(true), a, b}, out);
        print_primitive("executorch_prim::sym_ite.Scalar", {EValue(false), a, b}, out);
      }
    }
  }
  for (bool b : {true, false}) {
    print_primitive("executorch_prim::sym_not.Scalar", {EValue(b)}, EValue(false));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  runtime_init();
  register_pal(PalImpl::create(emit, __FILE__));
  Options options;
  size_t step = 0;
  uint64_t seed = 0;
  uint64_t count = 0;
  static TraceBackend backend;
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(argc));
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--op") {
      names.emplace_back(argv[++i]);
      if (registry_has_op_function(names.back().c_str())) continue;
      if (register_kernel(Kernel(names.back().c_str(), trace_kernel)) != Error::Ok) return 2;
    } else if (arg == "--primitives") {
      return print_primitives();
    } else if (arg == "--backend") {
      if (register_backend({argv[++i], &backend}) != Error::Ok) return 2;
    } else if (arg == "--arena") {
      options.arena = std::strtoul(argv[++i], nullptr, 0);
    } else if (arg == "--runs") {
      options.runs = std::atoi(argv[++i]);
    } else if (arg == "--rows") {
      options.rows = std::atoi(argv[++i]);
    } else if (arg == "--truncate") {
      step = std::strtoul(argv[++i], nullptr, 0);
    } else if (arg == "--mutate") {
      seed = std::strtoull(argv[++i], nullptr, 0);
      count = std::strtoull(argv[++i], nullptr, 0);
    } else {
      options.file = arg;
    }
  }
  std::ifstream stream(options.file, std::ios::binary);
  const std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(stream)),
                                   std::istreambuf_iterator<char>());
  quiet = step != 0 || count != 0;
  if (step != 0) return truncate(bytes, options, step);
  if (count != 0) return mutate(bytes, options, seed, count);
  const Error error = run(bytes.data(), bytes.size(), options);
  std::printf("destroyed %d\nstatus 0x%x\n", TraceBackend::destroyed, static_cast<unsigned>(error));
  return 0;
}
