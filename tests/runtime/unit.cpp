// Checks of the runtime's parts. Prints what failed; exit status 1 if anything did.
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "flat_reader.h"
#include "log_format.h"

using namespace executorch::runtime;  // NOLINT: a test program
using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;

namespace {

int failures = 0;

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      std::printf("%s:%d: %s\n", __FILE_NAME__, __LINE__, #condition); \
      ++failures;                                                      \
    }                                                                  \
  } while (0)

std::string last_log;
void record(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char* function,
            size_t line, const char* message, size_t length) {
  last_log = std::string(1, static_cast<char>(level)) + " " + filename + ":" +
             (line > 0 ? "line" : "0") + " " + function + "() " + std::string(message, length);
}

// ---------------------------------------------------------------------------------------------

size_t ours(char* buffer, size_t size, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const size_t length = internal::format(buffer, size, format, args);
  va_end(args);
  return length;
}

/// Our formatter writes what the C library's does.
#define SAME(...)                                                                  \
  do {                                                                             \
    char a[128];                                                                   \
    char b[128];                                                                   \
    const size_t length = ours(a, sizeof(a), __VA_ARGS__);                         \
    const int expected = std::snprintf(b, sizeof(b), __VA_ARGS__);                 \
    if (std::strcmp(a, b) != 0 || length != static_cast<size_t>(expected)) {       \
      std::printf("%s:%d: '%s' instead of '%s'\n", __FILE_NAME__, __LINE__, a, b); \
      ++failures;                                                                  \
    }                                                                              \
  } while (0)

void test_format() {
  SAME("plain");
  SAME("%d %i %u %x %X %o", -7, 42, 4000000000u, 0xbeefu, 0xBEEFu, 8u);
  SAME("%zu %zd %ld %lu %lld %llu", static_cast<size_t>(1) << 40, static_cast<ssize_t>(-5), -1L,
       2UL, std::numeric_limits<long long>::min(), std::numeric_limits<unsigned long long>::max());
  SAME("%" PRId64 " %" PRIu64 " %" PRIx64, INT64_MIN, UINT64_MAX, INT64_C(0x123456789abcdef));
  SAME("%hhd %hhu %hd %hu", -1, 255, -1, 65535);
  SAME("[%5d] [%-5d] [%05d] [%+d] [% d] [%.3d] [%8.3d]", 42, 42, -42, 42, 42, 7, -7);
  SAME("[%10s] [%-10s] [%.2s] [%*s] [%.*s]", "abc", "abc", "abc", 6, "abc", 1, "abc");
  SAME("%c%c %% %#x %#X %08x", 'o', 'k', 255u, 255u, 0x1234u);
  SAME("%f %.2f %.0f %8.3f %-8.1f| %08.2f %+.1f", 3.14159, -2.718, 2.6, 1.5, 0.25, -1.5, 2.0);
  SAME("%f %f %f", 0.0, 123456789.125, -0.5);
  SAME("%f %f", std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
  const char* none = nullptr;
  char text[8];
  CHECK(ours(text, sizeof(text), "%s", none) == 6 && std::strcmp(text, "(null)") == 0);
  CHECK(ours(text, sizeof(text), "%s", "longer than eight") == 7);
  CHECK(std::strcmp(text, "longer ") == 0);
  CHECK(ours(text, 1, "x") == 0 && text[0] == 0);
  CHECK(ours(text, 0, "x") == 0);
  CHECK(ours(text, sizeof(text), "%1000000000d", 1) == 7);
  CHECK(ours(text, sizeof(text), "50%") == 2);
}

void test_log() {
  ET_LOG(Error, "Value %zu of %" PRId64, static_cast<size_t>(3), INT64_C(-4));
  CHECK(last_log == "E unit.cpp:line test_log() Value 3 of -4");
  ET_LOG(Info, "%s", std::string(400, 'x').c_str());
  CHECK(last_log.size() == std::strlen("I unit.cpp:line test_log() ") + 255);
  last_log.clear();
  ET_LOG(Debug, "below the level");
  CHECK(last_log.empty());
}

// ---------------------------------------------------------------------------------------------

void first(KernelRuntimeContext&, Span<EValue*>) {}
void second(KernelRuntimeContext&, Span<EValue*>) {}

void test_kernels() {
  uint8_t order[] = {0, 1};
  const TensorMeta metas[] = {{ScalarType::Float, {order, 2}}, {ScalarType::BFloat16, {order, 1}}};
  char key[internal::kKernelKeyBufSize];
  CHECK(internal::make_kernel_key_string({metas, 2}, key, sizeof(key)) == Error::Ok);
  CHECK(std::strcmp(key, "v1/6;0,1|15;0") == 0);
  CHECK(internal::make_kernel_key_string({metas, 2}, key, 13) == Error::InvalidArgument);
  CHECK(internal::make_kernel_key_string({metas, 2}, key, 14) == Error::Ok);

  const Kernel kernels[] = {Kernel("test::op", first),
                            Kernel("test::op", KernelKey("v1/6;0,1"), second)};
  CHECK(!registry_has_op_function("test::op"));
  CHECK(register_kernels({kernels, 2}) == Error::Ok);
  CHECK(*get_op_function_from_registry("test::op") == first);
  CHECK(*get_op_function_from_registry("test::op", {metas, 1}) == second);
  CHECK(*get_op_function_from_registry("test::op", {metas, 2}) == first);
  CHECK(get_op_function_from_registry("test::other").error() == Error::OperatorMissing);
  CHECK(register_kernel(kernels[1]) == Error::RegistrationAlreadyRegistered);
  CHECK(get_registered_kernels().size() == 2);

  static std::vector<std::string> names;
  for (int i = 0; i < 200; ++i) names.push_back("test::op" + std::to_string(i));
  size_t accepted = 2;
  Error error = Error::Ok;
  for (size_t i = 0; i < names.size() && error == Error::Ok; ++i) {
    error = register_kernel(Kernel(names[i].c_str(), first));
    accepted += error == Error::Ok;
  }
  CHECK(error == Error::RegistrationExceedingMaxKernels);
  CHECK(accepted == 128 && get_registered_kernels().size() == 128);
  CHECK(last_log ==
        "E kernel_registry.cpp:line register_kernels() 1 kernels do not fit beside "
        "128 in a registry of 128.");
}

class NoBackend final : public BackendInterface {
 public:
  bool is_available() const override { return false; }
  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer*,
                               ArrayRef<CompileSpec>) const override {
    return Error::NotSupported;
  }
  Error execute(BackendExecutionContext&, DelegateHandle*, Span<EValue*>) const override {
    return Error::NotSupported;
  }
};

void test_backends() {
  static NoBackend backend;
  CHECK(get_backend_class("a") == nullptr && get_num_registered_backends() == 0);
  CHECK(register_backend({"a", &backend}) == Error::Ok);
  CHECK(register_backend({"a", &backend}) == Error::InvalidArgument);
  CHECK(register_backend({nullptr, &backend}) == Error::InvalidArgument);
  CHECK(get_backend_class("a") == &backend);
  for (const char* name : {"b", "c", "d"}) CHECK(register_backend({name, &backend}) == Error::Ok);
  CHECK(register_backend({"e", &backend}) == Error::Internal);
  CHECK(get_num_registered_backends() == 4 && std::strcmp(*get_backend_name(3), "d") == 0);
  CHECK(get_backend_name(4).error() == Error::InvalidArgument);
  CHECK(set_option("a", {}) == Error::Ok && set_option("z", {}) == Error::NotFound);
}

// ---------------------------------------------------------------------------------------------

void test_tensors() {
  int32_t sizes[] = {2, 3};
  int32_t strides[] = {3, 1};
  uint8_t order[] = {0, 1};
  float data[6] = {};
  TensorImpl fixed(ScalarType::Float, 2, sizes, data, order, strides);
  Tensor tensor(&fixed);
  const int32_t same[] = {2, 3};
  const int32_t other[] = {1, 3};
  const int32_t longer[] = {2, 3, 1};
  using Sizes = executorch::aten::ArrayRef<int32_t>;
  CHECK(tensor.nbytes() == 24 && tensor.numel() == 6 && tensor.element_size() == 4);
  CHECK(resize_tensor(tensor, Sizes(same, 2)) == Error::Ok);
  CHECK(resize_tensor(tensor, Sizes(other, 2)) == Error::NotSupported);
  CHECK(resize_tensor(tensor, Sizes(longer, 3)) == Error::NotSupported);

  int32_t bound[] = {4, 3};
  uint8_t transposed[] = {1, 0};
  int32_t bound_strides[] = {1, 4};
  TensorImpl dynamic(ScalarType::Float, 2, bound, data, transposed, bound_strides,
                     executorch::aten::TensorShapeDynamism::DYNAMIC_BOUND);
  CHECK(resize_tensor(Tensor(&dynamic), Sizes(same, 2)) == Error::Ok);
  CHECK(dynamic.numel() == 6 && dynamic.strides()[0] == 1 && dynamic.strides()[1] == 2);
  const int32_t negative[] = {-1, -1};
  const int32_t large[] = {5, 3};
  CHECK(resize_tensor(Tensor(&dynamic), Sizes(negative, 2)) == Error::InvalidArgument);
  CHECK(resize_tensor(Tensor(&dynamic), Sizes(large, 2)) == Error::NotSupported);
  CHECK(dynamic.numel() == 6);

  CHECK(!tensors_have_same_dim_order(tensor, Tensor(&dynamic)));
  CHECK(tensors_have_same_dim_order(Tensor(&dynamic), Tensor(&dynamic)));
  CHECK(tensor_is_default_dim_order(tensor) && !tensor_is_default_dim_order(Tensor(&dynamic)));
  CHECK(internal::set_tensor_data(tensor, data, 23) == Error::InvalidArgument);
  CHECK(internal::copy_tensor_data(tensor, Tensor(&dynamic)) == Error::Ok);
  CHECK(std::strcmp(tensor_shape_to_c_string(Span<const int32_t>(same, 2)).data(), "(2, 3)") == 0);
  CHECK(std::strcmp(tensor_shape_to_c_string(Span<const int32_t>()).data(), "()") == 0);

  const int32_t overflow[] = {INT32_MAX, INT32_MAX, INT32_MAX};
  CHECK(executorch::aten::safe_numel(overflow, 3).error() == Error::InvalidArgument);
  CHECK(TensorLayout::create({same, 2}, {order, 2}, ScalarType::Char)->nbytes() == 6);
  CHECK(TensorLayout::create({same, 2}, {order, 1}, ScalarType::Char).error() ==
        Error::InvalidProgram);
  char name[8];
  CHECK(tag_to_string(Tag::Double, name, sizeof(name)) == 7 && std::strcmp(name, "Double") == 0);
  CHECK(tag_to_string(Tag::ListTensor, name, sizeof(name)) == 11);
  CHECK(std::strcmp(name, "ListTen") == 0);
}

void test_header() {
  uint8_t data[64] = {};
  CHECK(Program::check_header(data, 63) == Program::HeaderStatus::ShortData);
  CHECK(Program::check_header(data, 64) == Program::HeaderStatus::NotPresent);
  std::memcpy(data + 4, "ET12", 4);
  CHECK(Program::check_header(data, 64) == Program::HeaderStatus::CompatibleVersion);
  data[7] = '3';
  CHECK(Program::check_header(data, 64) == Program::HeaderStatus::IncompatibleVersion);
}

// ---------------------------------------------------------------------------------------------

/// A root with one scalar, a string and a vector of roots' children: built by hand, little-endian.
struct Buffer {
  alignas(8) uint8_t bytes[96] = {};
  template <typename T>
  void put(size_t at, T value) {
    std::memcpy(bytes + at, &value, sizeof(value));
  }
  Buffer() {
    put<uint32_t>(0, 20);  // root table at 20, its vtable at 8
    std::memcpy(bytes + 4, "TEST", 4);
    const uint16_t vtable[] = {10, 16, 4, 8, 12};
    std::memcpy(bytes + 8, vtable, sizeof(vtable));
    put<int32_t>(20, 12);
    put<uint32_t>(24, 0xABCD);
    put<uint32_t>(28, 12);  // string at 40
    put<uint32_t>(32, 20);  // vector at 52
    put<uint32_t>(40, 5);
    std::memcpy(bytes + 44, "hello", 6);
    put<uint32_t>(52, 2);  // two tables, both at 72
    put<uint32_t>(56, 16);
    put<uint32_t>(60, 12);
    put<int32_t>(72, 6);  // vtable at 66
    put<uint16_t>(66, 6);
    put<uint16_t>(68, 8);
    put<uint16_t>(70, 4);
    put<uint32_t>(76, 7);
  }
};

constexpr flat::Field kRoot[] = {flat::scalar(4), flat::string(), flat::tables(1)};
constexpr flat::Field kChild[] = {flat::scalar(4), flat::scalar(8)};
constexpr flat::TableType kTypes[] = {flat::type(kRoot), flat::type(kChild)};

const char* verify(const Buffer& buffer, size_t size = 80) {
  const flat::Fault fault = flat::verify({buffer.bytes, size}, "TEST", kTypes);
  return fault ? fault.what : "";
}

template <typename T>
std::string damaged(size_t at, T value, size_t size = 80) {
  Buffer buffer;
  buffer.put(at, value);
  return verify(buffer, size);
}

void test_reader() {
  const Buffer buffer;
  CHECK(verify(buffer) == std::string());
  const flat::Table root = flat::root(buffer.bytes);
  CHECK(root.get<uint32_t>(0) == 0xABCD && std::strcmp(root.string(1), "hello") == 0);
  CHECK(root.tables(2).size() == 2 && root.tables(2)[1].get<uint32_t>(0) == 7);
  CHECK(root.tables(2)[0].get<uint64_t>(1, 99) == 99 && !root.tables(2)[0].has(1));
  CHECK(!root.table(7) && root.table(7).vector<int32_t>(3).empty());

  Buffer strings;  // the vector's elements are strings at 80 and 88
  strings.put<uint32_t>(56, 24);
  strings.put<uint32_t>(60, 28);
  strings.put<uint32_t>(80, 1);
  strings.put<uint32_t>(84, 'a');
  strings.put<uint32_t>(88, 2);
  strings.put<uint32_t>(92, 'b' | 'c' << 8);
  static constexpr flat::Field kStringRoot[] = {flat::scalar(4), flat::string(), flat::strings()};
  static constexpr flat::TableType kStringTypes[] = {flat::type(kStringRoot)};
  CHECK(!flat::verify({strings.bytes, 96}, "TEST", kStringTypes));
  CHECK(flat::verify({strings.bytes, 94}, "TEST", kStringTypes).offset == 88);
  std::string joined;
  for (flat::String text : flat::root(strings.bytes).strings(2)) joined += text.data();
  CHECK(joined == "abc" && flat::root(strings.bytes).strings(2)[1].size() == 2);

  CHECK(flat::verify({buffer.bytes, 80}, "TEXT", kTypes).what ==
        std::string("wrong file identifier"));
  for (size_t size = 0; size < 80; ++size) CHECK(verify(buffer, size) != std::string());
  const std::string range = "offset or length out of range";
  CHECK(damaged<uint32_t>(0, 100) == "offset out of range");
  CHECK(damaged<uint32_t>(0, 0xFFFFFFFF) == "offset out of range");
  CHECK(damaged<uint32_t>(0, 78) == range);
  CHECK(damaged<uint32_t>(0, 21) == "misaligned data");
  CHECK(damaged<int32_t>(20, 24) == "vtable out of range");
  CHECK(damaged<int32_t>(20, INT32_MIN) == "vtable out of range");
  CHECK(damaged<int32_t>(20, 11) == "misaligned data");
  CHECK(damaged<uint16_t>(8, 3) == "bad vtable length");
  CHECK(damaged<uint16_t>(8, 11) == "bad vtable length");
  CHECK(damaged<uint16_t>(8, 74) == range);
  CHECK(damaged<uint16_t>(12, 58) == range);
  CHECK(damaged<uint16_t>(12, 5) == "misaligned data");
  CHECK(damaged<uint32_t>(40, 4) == "string without terminator");
  CHECK(damaged<uint32_t>(40, 36) == "string without terminator");
  CHECK(damaged<uint32_t>(40, 0xFFFFFFFF) == "vector longer than the data");
  CHECK(damaged<uint32_t>(52, 0x40000001) == "vector longer than the data");
  CHECK(damaged<uint32_t>(52, 10) == range);
  CHECK(damaged<uint32_t>(60, 0xFFFFFFFF) == "offset out of range");
}

}  // namespace

int main() {
  runtime_init();
  CHECK(register_pal(PalImpl::create(record, __FILE__)));
  test_format();
  test_log();
  test_kernels();
  test_backends();
  test_tensors();
  test_header();
  test_reader();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
