#include "primitives.h"

#include <algorithm>
#include <cmath>

namespace executorch::runtime {

#if RUNTIME_PRIMITIVES

namespace primitives {

void refuse(KernelRuntimeContext& context, Error error, [[maybe_unused]] const char* why) {
  ET_LOG(Error, "Primitive operator: %s.", why);
  context.fail(error);
}

void set(KernelRuntimeContext& context, EValue& out, const EValue& result) {
  if (out.tag != result.tag) return refuse(context, Error::InvalidType, "result of another type");
  out = result;
}

bool has_tags(KernelRuntimeContext& context, Args args, std::initializer_list<Tag> tags) {
  size_t i = 0;
  bool good = args.size() == tags.size();
  for (auto tag = tags.begin(); good && tag != tags.end(); ++tag, ++i) good = args[i]->tag == *tag;
  if (!good) refuse(context, Error::InvalidArgument, "wrong number or types of arguments");
  return good;
}

namespace {

// ---------------------------------------------------------------------------------------------
// Scalars
// ---------------------------------------------------------------------------------------------

enum class Op { kAdd, kSub, kMul, kFloorDiv, kMod, kMax, kMin, kTrueDiv, kEq, kGt, kLt, kGe, kLe };

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

/// Integers wrap around; `b` is not 0 where it divides.
int64_t integer(Op op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  switch (op) {
    case Op::kAdd:
      return wrap(x + y);
    case Op::kSub:
      return wrap(x - y);
    case Op::kMul:
      return wrap(x * y);
    case Op::kFloorDiv: {
      if (b == -1) return wrap(0 - x);  // the quotient of the smallest number does not exist
      const bool below = a % b != 0 && (a < 0) != (b < 0);
      return a / b - (below ? 1 : 0);
    }
    case Op::kMod:
      return b == -1 ? 0 : a % b;
    case Op::kMax:
      return std::max(a, b);
    default:
      return std::min(a, b);
  }
}

double real(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMul:
      return a * b;
    case Op::kFloorDiv:
      return std::floor(a / b);
    case Op::kMod:
      return std::fmod(a, b);
    case Op::kMax:
      return std::max(a, b);
    case Op::kMin:
      return std::min(a, b);
    default:
      return a / b;
  }
}

template <typename T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::kEq:
      return a == b;
    case Op::kGt:
      return a > b;
    case Op::kLt:
      return a < b;
    case Op::kGe:
      return a >= b;
    default:
      return a <= b;
  }
}

double number(const EValue& value) {
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}

/// result = a op b on integers, or on doubles if one of them is.
void binary(KernelRuntimeContext& context, Args args, Op op) {
  const auto is_number = [&](size_t i) { return args[i]->isInt() || args[i]->isDouble(); };
  if (args.size() != 3 || !is_number(0) || !is_number(1)) {
    return refuse(context, Error::InvalidArgument, "wrong number or types of arguments");
  }
  const EValue& a = *args[0];
  const EValue& b = *args[1];
  const bool integers = a.isInt() && b.isInt();
  const bool divides = op == Op::kFloorDiv || op == Op::kMod || op == Op::kTrueDiv;
  if (divides && number(b) == 0) {
    return refuse(context, Error::InvalidArgument, "division by zero");
  }
  if (op >= Op::kEq) {
    const bool result =
        integers ? compare(op, a.toInt(), b.toInt()) : compare(op, number(a), number(b));
    return set(context, *args[2], EValue(result));
  }
  if (integers && op != Op::kTrueDiv) {
    return set(context, *args[2], EValue(integer(op, a.toInt(), b.toInt())));
  }
  set(context, *args[2], EValue(real(op, number(a), number(b))));
}

enum class Unary { kNegate, kToDouble, kToInt, kCeil, kRound, kTrunc, kNot };

void to_integer(KernelRuntimeContext& context, EValue& out, double value) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (!(value >= -kLimit && value < kLimit)) {
    return refuse(context, Error::InvalidArgument, "number beyond the integers");
  }
  set(context, out, EValue(static_cast<int64_t>(value)));
}

/// To even, like Python.
double round_half_even(double value) {
  const double below = std::floor(value);
  const double rest = value - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

void unary(KernelRuntimeContext& context, Args args, Unary op) {
  if (args.size() != 2 || !args[0]->isScalar() || args[0]->isBool() != (op == Unary::kNot)) {
    return refuse(context, Error::InvalidArgument, "wrong number or types of arguments");
  }
  const EValue& a = *args[0];
  EValue& out = *args[1];
  switch (op) {
    case Unary::kNegate:
      return set(
          context, out,
          a.isInt() ? EValue(wrap(0 - static_cast<uint64_t>(a.toInt()))) : EValue(-a.toDouble()));
    case Unary::kToDouble:
      return set(context, out, EValue(number(a)));
    case Unary::kNot:
      return set(context, out, EValue(!a.toBool()));
    default:
      break;
  }
  if (a.isInt()) return set(context, out, a);
  const double value = a.toDouble();
  to_integer(context, out,
             op == Unary::kCeil    ? std::ceil(value)
             : op == Unary::kRound ? round_half_even(value)
                                   : std::trunc(value));
}

template <Op op>
void scalar(KernelRuntimeContext& context, Args args) {
  binary(context, args, op);
}

template <Unary op>
void scalar(KernelRuntimeContext& context, Args args) {
  unary(context, args, op);
}

void if_then_else(KernelRuntimeContext& context, Args args) {
  if (args.size() != 4 || !args[0]->isBool() || !args[1]->isScalar() || !args[2]->isScalar()) {
    return refuse(context, Error::InvalidArgument, "wrong number or types of arguments");
  }
  set(context, *args[3], args[0]->toBool() ? *args[1] : *args[2]);
}

constexpr Kernel kPrimitives[] = {
    Kernel("aten::_local_scalar_dense", local_scalar),
    Kernel("aten::sym_numel", sym_numel),
    Kernel("aten::sym_size.int", sym_size),
    Kernel("executorch_prim::add.Scalar", scalar<Op::kAdd>),
    Kernel("executorch_prim::ceil.Scalar", scalar<Unary::kCeil>),
    Kernel("executorch_prim::eq.Scalar", scalar<Op::kEq>),
    Kernel("executorch_prim::et_copy_index.tensor", copy_index),
    Kernel("executorch_prim::et_view.default", view),
    Kernel("executorch_prim::floordiv.Scalar", scalar<Op::kFloorDiv>),
    Kernel("executorch_prim::floordiv.int", scalar<Op::kFloorDiv>),
    Kernel("executorch_prim::ge.Scalar", scalar<Op::kGe>),
    Kernel("executorch_prim::gt.Scalar", scalar<Op::kGt>),
    Kernel("executorch_prim::le.Scalar", scalar<Op::kLe>),
    Kernel("executorch_prim::lt.Scalar", scalar<Op::kLt>),
    Kernel("executorch_prim::mod.Scalar", scalar<Op::kMod>),
    Kernel("executorch_prim::mod.int", scalar<Op::kMod>),
    Kernel("executorch_prim::mul.Scalar", scalar<Op::kMul>),
    Kernel("executorch_prim::neg.Scalar", scalar<Unary::kNegate>),
    Kernel("executorch_prim::round.Scalar", scalar<Unary::kRound>),
    Kernel("executorch_prim::sub.Scalar", scalar<Op::kSub>),
    Kernel("executorch_prim::sym_float.Scalar", scalar<Unary::kToDouble>),
    Kernel("executorch_prim::sym_int.Scalar", scalar<Unary::kToInt>),
    Kernel("executorch_prim::sym_ite.Scalar", if_then_else),
    Kernel("executorch_prim::sym_max.Scalar", scalar<Op::kMax>),
    Kernel("executorch_prim::sym_min.Scalar", scalar<Op::kMin>),
    Kernel("executorch_prim::sym_not.Scalar", scalar<Unary::kNot>),
    Kernel("executorch_prim::truediv.Scalar", scalar<Op::kTrueDiv>),
    Kernel("executorch_prim::trunc.Scalar", scalar<Unary::kTrunc>),
};

}  // namespace
}  // namespace primitives

Span<const Kernel> primitive_kernels() { return primitives::kPrimitives; }

#else

Span<const Kernel> primitive_kernels() { return {}; }

#endif

}  // namespace executorch::runtime
