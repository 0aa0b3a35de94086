// Division, table, matrix product, softmax, transpose and pad in both variants.

#include "compute/batch_matmul_s8.h"
#include "compute/divide.h"
#include "compute/lookup_s8.h"
#include "compute/pad_s8.h"
#include "compute/softmax_s8.h"
#include "compute/transpose_s8.h"
#include "selftest.h"

using namespace selftest;

namespace {

template <typename T>
bool test_divide(size_t count) {
  constexpr float kFactors[] = {1.0f, 0.5f, 20.0f, 1e-30f, 1e-44f, 3e38f, 0.0f, -1.5f};
  static T a[2 * kMaxCount];
  static T b[2 * kMaxCount];
  rng.fill(a, 2 * kMaxCount);
  rng.fill(b, 2 * kMaxCount);
  const auto zero_point = [] {
    return rng.between(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  };
  const DivideParameters p{zero_point(), zero_point(), zero_point(), kFactors[rng.next() % 8]};
  // Quotients near a half, and divisors of zero.
  for (size_t i = 0; i < count; i += 3) b[i] = static_cast<T>(p.zero_point_b + rng.between(-2, 2));
  const size_t step = rng.next() % 8 == 0 ? 2 : 1;
  return same<T>([&](T* out, bool vectors) {
    vectors ? mve::divide<T>({a, step}, {b, 1}, out, count, p)
            : scalar::divide<T>({a, step}, {b, 1}, out, count, p);
  });
}

bool test_lookup(size_t count) {
  static int8_t in[kMaxCount];
  static int8_t table[kTableSize];
  rng.fill(in, kMaxCount);
  rng.fill(table, kTableSize);
  return same<int8_t>([&](int8_t* out, bool vectors) {
    vectors ? mve::lookup_s8(in, table, out, count) : scalar::lookup_s8(in, table, out, count);
  });
}

// `count` is the number of columns of one to three batches of one to three rows.
bool test_batch_matmul(size_t count) {
  constexpr size_t kMost = 3;
  constexpr size_t kMaxDepth = 70;
  static int8_t lhs[kMost * kMost * kMaxDepth];
  static int8_t rhs[kMost * kMaxCount * kMaxDepth];
  static int32_t sums[kMaxCount];
  rng.fill(lhs, sizeof(lhs));
  rng.fill(rhs, sizeof(rhs));
  const BatchMatmulParameters p{1 + rng.next() % kMost,
                                1 + rng.next() % kMost,
                                rng.next() % (kMaxDepth + 1),
                                count,
                                -rng.zero_point(),
                                -rng.zero_point(),
                                rng.zero_point(),
                                rng.rescale(),
                                rng.next() % 2 == 0 ? sums : nullptr};
  return same<int8_t, kMost * kMost * kMaxCount>([&](int8_t* out, bool vectors) {
    vectors ? mve::batch_matmul_s8(lhs, rhs, out, p) : scalar::batch_matmul_s8(lhs, rhs, out, p);
  });
}

// The parameters of a scale between 2^-27 and 8, as programs carry them, or any others.
SoftmaxParameters softmax_parameters() {
  if (rng.next() % 4 == 0) {
    Rescale any = rng.rescale();
    any.multiplier = std::max<int32_t>(any.multiplier, 0);
    return SoftmaxParameters(any, -rng.between(0, 300));
  }
  const int32_t shift = rng.between(0, 29);
  const int64_t diff_min = -((int64_t{31} << 26) >> shift);
  return SoftmaxParameters(Rescale(rng.between(1 << 30, INT32_MAX), shift),
                           static_cast<int32_t>(diff_min));
}

// Rows that are long and flat enough to need the largest shifts, too.
bool test_softmax(size_t count) {
  constexpr size_t kLongest = 1500;
  static int8_t in[kLongest];
  const size_t length = count == kMaxCount ? kLongest : count + 1;
  const bool flat = rng.next() % 3 == 0;
  for (size_t i = 0; i < length; ++i) {
    in[i] = static_cast<int8_t>(flat ? rng.between(10, 11) : rng.between(INT8_MIN, INT8_MAX));
  }
  const SoftmaxParameters p = softmax_parameters();
  const size_t step = rng.next() % 16 == 0 && length < kMaxCount ? 3 : 1;
  return same<int8_t, kLongest>([&](int8_t* out, bool vectors) {
    vectors ? mve::softmax_row_s8(in, out, length, step, p)
            : scalar::softmax_row_s8(in, out, length, step, p);
  });
}

// `count` is the size of one of three axes in any order.
bool test_transpose(size_t count) {
  constexpr size_t kOther = 4;
  static int8_t in[(kMaxCount + 1) * kOther * kOther];
  rng.fill(in, sizeof(in));
  TransposeAxis axes[3] = {
      {count + 1, 0, 0}, {1 + rng.next() % kOther, 0, 0}, {1 + rng.next() % kOther, 0, 0}};
  std::swap(axes[0], axes[rng.next() % 3]);
  size_t order[3] = {0, 1, 2};
  std::swap(order[0], order[rng.next() % 3]);
  std::swap(order[1], order[1 + rng.next() % 2]);
  size_t from = 1;
  size_t to = 1;
  for (size_t i = 3; i-- > 0; from *= axes[order[i]].size) axes[order[i]].step_from = from;
  for (size_t i = 3; i-- > 0; to *= axes[i].size) axes[i].step_to = to;
  TransposeLoops<3> loops;
  for (const TransposeAxis& axis : axes) loops.append(axis);
  loops.finish();
  return same<int8_t, sizeof(in)>([&](int8_t* out, bool vectors) {
    vectors ? mve::transpose_s8(in, out, loops) : scalar::transpose_s8(in, out, loops);
  });
}

// `count` elements a row, up to two of everything else.
bool test_pad(size_t count) {
  constexpr size_t kCapacity = (kMaxCount + 40) * 6 * 6 * 6;
  static int8_t in[kMaxCount * 8];
  rng.fill(in, sizeof(in));
  const auto few = [] { return static_cast<size_t>(rng.next() % 3); };
  PadParameters p{{}, static_cast<int8_t>(rng.next())};
  for (PadAxis& axis : p.axes) axis = {few(), few(), few()};
  p.axes[3] = {count, rng.next() % 20, rng.next() % 20};
  return same<int8_t, kCapacity>([&](int8_t* out, bool vectors) {
    vectors ? mve::pad_s8(in, out, p) : scalar::pad_s8(in, out, p);
  });
}

}  // namespace

void report_more_operators() {
  report("divide int8", test_divide<int8_t>);
  report("divide int16", test_divide<int16_t>);
  report("lookup", test_lookup);
  report("batch_matmul", test_batch_matmul);
  report("softmax", test_softmax);
  report("transpose", test_transpose);
  report("pad", test_pad);
}
