// Runs every compute function in its scalar and its vector variant on the same random inputs and
// compares the bytes, those behind the output included. Prints one line per function and exits with
// status 1 on a mismatch. -DBREAK=1 corrupts one vector result: the test of the test.

#include "selftest.h"
#include "compute/add_s8.h"
#include "compute/extremum.h"
#include "compute/linear_s8.h"
#include "compute/mul_s8.h"
#include "compute/quantize.h"

using namespace selftest;

namespace {

float random_float(float scale) {
  constexpr float kSpecial[] = {__builtin_nanf(""),
                                __builtin_inff(),
                                -__builtin_inff(),
                                3.4e38f,
                                -3.4e38f,
                                1e-45f,
                                -1e-45f,
                                1.1e-38f,
                                0.0f,
                                -0.0f,
                                2147483648.0f};
  const uint32_t kind = rng.next() % 8;
  if (kind == 0) return kSpecial[rng.next() % 11];
  if (kind == 1) {
    float any;
    const uint32_t bits = rng.next();
    std::memcpy(&any, &bits, sizeof(any));
    return any;
  }
  const float steps = static_cast<float>(rng.between(-300, 300));
  return (kind < 5 ? steps + 0.5f : steps + static_cast<float>(rng.next() % 1000) / 1000) * scale;
}

template <typename T>
bool test_quantize(size_t count) {
  constexpr float kScales[] = {0.1f, 0.02f, 1.0f, 1e-30f, 1e30f, kMinScale, kMaxScale};
  const float scale = kScales[rng.next() % 7];
  float in[kMaxCount];
  for (size_t i = 0; i < count; ++i) in[i] = random_float(scale);
  const int32_t low = rng.between(std::numeric_limits<T>::min(), 0);
  const Quantization q{rng.zero_point(), low, rng.between(low, std::numeric_limits<T>::max())};
  return same<T>([&](T* out, bool vectors) {
    vectors ? mve::quantize(in, out, count, 1.0f / scale, q)
            : scalar::quantize(in, out, count, 1.0f / scale, q);
  });
}

template <typename T>
bool test_dequantize(size_t count) {
  constexpr float kScales[] = {0.1f, 0.02f, 1.0f, 1e-30f, 1e30f, kMinScale, kMaxScale};
  const float scale = kScales[rng.next() % 7];
  T in[kMaxCount];
  rng.fill(in, count);
  const int32_t zero_point =
      rng.between(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  return same<float>([&](float* out, bool vectors) {
    vectors ? mve::dequantize(in, out, count, scale, zero_point)
            : scalar::dequantize(in, out, count, scale, zero_point);
  });
}

struct Operands {
  Operands() {
    rng.fill(data_a, sizeof(data_a));
    rng.fill(data_b, sizeof(data_b));
  }
  Operand<int8_t> a() const { return {data_a + offset, step_a}; }
  Operand<int8_t> b() const { return {data_b + offset, step_b}; }

  int8_t data_a[kMaxCount * 3 + 4];
  int8_t data_b[kMaxCount * 3 + 4];
  size_t offset = rng.next() % 4;
  // Mostly contiguous or repeated, as broadcasting makes them; sometimes another stride.
  size_t step_a = rng.next() % 5 == 0 ? rng.next() % 4 : rng.next() % 2;
  size_t step_b = rng.next() % 5 == 0 ? rng.next() % 4 : rng.next() % 2;
};

bool test_add(size_t count) {
  const Operands in;
  const int32_t low = rng.between(INT8_MIN, INT8_MAX);
  const AddParameters p{
      rng.zero_point(), rng.rescale(), rng.zero_point(),          rng.rescale(), rng.zero_point(),
      rng.rescale(),    low,           rng.between(low, INT8_MAX)};
  return same<int8_t>([&](int8_t* out, bool vectors) {
    vectors ? mve::binary_s8(in.a(), in.b(), out, count, mve::Add{p})
            : scalar::binary_s8(in.a(), in.b(), out, count, scalar::Add{p});
  });
}

bool test_mul(size_t count) {
  const Operands in;
  const MulParameters p{rng.zero_point(), rng.between(INT16_MIN, INT16_MAX), rng.zero_point(),
                        rng.rescale()};
  return same<int8_t>([&](int8_t* out, bool vectors) {
    vectors ? mve::binary_s8(in.a(), in.b(), out, count, mve::Mul{p})
            : scalar::binary_s8(in.a(), in.b(), out, count, scalar::Mul{p});
  });
}

template <typename Op>
bool test_extremum(size_t count) {
  const Operands in;
  return same<int8_t>([&](int8_t* out, bool vectors) {
    vectors ? mve::extremum(in.a(), in.b(), out, count, Op{})
            : scalar::extremum(in.a(), in.b(), out, count, Op{});
  });
}

// `count` is the number of outputs of one or two rows; the depth is drawn.
bool test_linear(size_t count) {
  constexpr size_t kMaxDepth = 70;
  static int8_t x[2 * kMaxDepth];
  static int8_t weights[kMaxCount * kMaxDepth];
  static int32_t start[kMaxCount];
  const size_t rows = count <= kMaxCount / 2 ? 2 : 1;
  const size_t depth = rng.next() % (kMaxDepth + 1);
  rng.fill(x, sizeof(x));
  rng.fill(weights, sizeof(weights));
  for (int32_t& value : start) value = rng.between(-50000, 50000);
  const uint32_t kind = rng.next() % 4;
  const int32_t low = rng.between(INT8_MIN, INT8_MAX);
  const LinearParameters p{rows,
                           depth,
                           count,
                           kind == 0 ? start : nullptr,
                           kind <= 1 ? start : nullptr,
                           -rng.zero_point(),
                           rng.next() % 2 == 0 ? 0 : -rng.zero_point(),
                           rng.zero_point(),
                           rng.rescale(),
                           low,
                           rng.between(low, INT8_MAX)};
  return same<int8_t>([&](int8_t* out, bool vectors) {
    vectors ? mve::linear_s8(x, weights, out, p) : scalar::linear_s8(x, weights, out, p);
  });
}

}  // namespace

extern "C" __attribute__((section(".vectors"), used))
const void* const vectors[16] = {stack_top,
                                 reinterpret_cast<const void*>(reset),
                                 reinterpret_cast<const void*>(board::fault),
                                 reinterpret_cast<const void*>(board::fault),
                                 reinterpret_cast<const void*>(board::fault),
                                 reinterpret_cast<const void*>(board::fault),
                                 reinterpret_cast<const void*>(board::fault),
                                 reinterpret_cast<const void*>(board::fault)};

void report_images();
void report_more_operators();

extern "C" void reset() {
  board::enable_vectors();
  report("quantize int8", test_quantize<int8_t>);
  report("quantize int16", test_quantize<int16_t>);
  report("dequantize int8", test_dequantize<int8_t>);
  report("dequantize int16", test_dequantize<int16_t>);
  report("add", test_add);
  report("mul", test_mul);
  report("minimum", test_extremum<Minimum>);
  report("maximum", test_extremum<Maximum>);
  report("linear", test_linear);
  report_images();
  report_more_operators();
  board::exit(mismatches == 0 ? 0 : 1);
}
