// Refers to what a runner does with the runtime, so that a linked image has all of it.
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

using namespace executorch::runtime;  // NOLINT: a test program

extern "C" {
extern const uint8_t program_data[];
extern const uint32_t program_size;
// The image is measured and never runs: these stand for a board.
const uint8_t program_data[64] = {};
const uint32_t program_size = sizeof(program_data);
void _exit(int) {
  for (;;) {
  }
}
}

int main() {
  static uint8_t arena[1024];
  static Span<uint8_t> planned[1] = {{arena, sizeof(arena)}};
  runtime_init();
  executorch::extension::BufferDataLoader loader(program_data, program_size);
  Result<Program> program = Program::load(&loader);
  if (!program.ok()) return 1;
  const Result<MethodMeta> meta = program->method_meta("forward");
  if (!meta.ok() || !meta->input_tensor_meta(0).ok()) return 2;
  MemoryAllocator method_allocator(sizeof(arena), arena);
  MemoryAllocator temp_allocator(sizeof(arena), arena);
  HierarchicalAllocator memory({planned, static_cast<size_t>(meta->num_memory_planned_buffers())});
  MemoryManager manager(&method_allocator, &memory, &temp_allocator);
  Result<Method> method = program->load_method("forward", &manager);
  if (!method.ok() || method->set_input(EValue(), 0) != Error::Ok) return 3;
  return static_cast<int>(method->execute()) + method->get_output(0).isTensor();
}
