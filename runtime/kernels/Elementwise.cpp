//===- Elementwise.cpp - Elementwise operators of several operands --------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/Nest.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

namespace divisi::rt {
namespace {

/// A function of two elements of one type.
template <auto Body> struct Function {
  template <typename T> T operator()(T a, T b) const { return Body(a, b); }
};
using Add = Function<[](auto a, auto b) { return wrapAdd(a, b); }>;
using Sub = Function<[](auto a, auto b) { return wrapSub(a, b); }>;
using Mul = Function<[](auto a, auto b) { return wrapMul(a, b); }>;
using Max = Function<[](auto a, auto b) { return maxOf(a, b); }>;
using Min = Function<[](auto a, auto b) { return minOf(a, b); }>;

template <typename T> static bool isMinusOne(T value) {
  return std::is_signed_v<T> && value == T(-1);
}

struct Div {
  /// Integers truncate; by 0 gives 0, by -1 negates and wraps: neither traps.
  template <typename T> T operator()(T a, T b) const {
    if constexpr (!std::is_integral_v<T>) {
      return a / b;
    } else {
      return b == 0 ? T(0) : isMinusOne(b) ? wrapSub(T(0), a) : T(a / b);
    }
  }
};
struct FMod {
  /// The dividend's sign, as in C; an integer by 0 gives 0.
  template <typename T> T operator()(T a, T b) const {
    if constexpr (isFloat<T>) {
      return std::fmod(a, b);
    } else if constexpr (isField<T>) {
      return uninterpreted("fmod", a, b);
    } else {
      return b == 0 || isMinusOne(b) ? T(0) : T(a % b);
    }
  }
};
struct FloorMod {
  /// The divisor's sign, as in Python.
  template <typename T> T operator()(T a, T b) const {
    T rest = FMod()(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? wrapAdd(rest, b) : rest;
  }
};
struct And {
  template <typename T> T operator()(T a, T b) const { return T(a & b); }
};
struct Or {
  template <typename T> T operator()(T a, T b) const { return T(a | b); }
};
struct Xor {
  template <typename T> T operator()(T a, T b) const { return T(a ^ b); }
};

template <bool Left> struct Shift {
  /// Towards the right the sign comes in. What the standard leaves open (more
  /// places than bits, or a negative number of them) leaves nothing else.
  template <typename T> T operator()(T value, T places) const {
    using U = std::make_unsigned_t<T>;
    bool isOut = U(places) >= sizeof(T) * 8;
    if constexpr (Left) {
      return isOut ? T(0) : T(U(value) << places);
    } else {
      return isOut ? T(value < 0 ? -1 : 0) : T(value >> places);
    }
  }
};

struct Pow {
  /// Squares and cubes are products: they are what models mean, and the general
  /// function costs fifty times as much.
  template <typename T> T operator()(T base, T exponent) const {
    if constexpr (std::is_integral_v<T>) {
      return integer(base, exponent);
    } else if constexpr (isField<T>) {
      return inField(base, exponent);
    } else {
      if (exponent == T(2)) {
        return base * base;
      }
      if (exponent == T(3)) {
        return base * base * base;
      }
      return std::pow(base, exponent);
    }
  }

private:
  /// Small integers are exponents; what others mean is left open.
  static FieldElement inField(FieldElement base, FieldElement exponent) {
    constexpr int64_t limit = 64;
    auto number = int64_t(exponent);
    return number >= -limit && number <= limit
               ? power(base, number)
               : uninterpreted("pow", base, exponent);
  }

  /// Wraps; a negative power of anything but 1 and -1 truncates to 0.
  template <typename T> static T integer(T base, T exponent) {
    if (exponent < 0) {
      bool odd = exponent & 1;
      return base == 1 || (isMinusOne(base) && !odd) ? T(1)
             : isMinusOne(base)                      ? T(-1)
                                                     : T(0);
    }
    T power = 1;
    for (; exponent > 0; exponent >>= 1) {
      if (exponent & 1) {
        power = wrapMul(power, base);
      }
      base = wrapMul(base, base);
    }
    return power;
  }
};

struct Eq {
  template <typename T> bool operator()(T a, T b) const { return a == b; }
};
struct Ne {
  template <typename T> bool operator()(T a, T b) const { return a != b; }
};
struct Lt {
  template <typename T> bool operator()(T a, T b) const { return a < b; }
};
struct Le {
  template <typename T> bool operator()(T a, T b) const { return a <= b; }
};
struct Gt {
  template <typename T> bool operator()(T a, T b) const { return a > b; }
};
struct Ge {
  template <typename T> bool operator()(T a, T b) const { return a >= b; }
};

} // namespace

//===----------------------------------------------------------------------===//
// Rows: all that is compiled per function and type
//===----------------------------------------------------------------------===//

namespace {

/// Applies a function to `count` pairs of elements, `stepA` and `stepB` apart
/// in the operands and adjacent in the result. The result may be an operand of
/// the same box, hence no restrict.
using BinaryRow = void (*)(int64_t count, void *out, const void *a,
                           int64_t stepA, const void *b, int64_t stepB);

/// A nest of rows. It is no template: what differs is behind the pointer.
class BinaryKernel final : public PreparedKernel {
public:
  BinaryKernel(const CallSite &site, const Nest<3> &nest, BinaryRow row)
      : nest_(nest), row_(row), outBytes_(byteWidth(site.results[0].type)),
        inBytes_(byteWidth(site.operands[0].type)) {}

  Status launch(LaunchContext &context) override {
    auto *out = static_cast<std::byte *>(context.results[0]);
    auto *a = static_cast<const std::byte *>(context.operands[0]);
    auto *b = static_cast<const std::byte *>(context.operands[1]);
    nest_.forEachRow([&](const auto &at) {
      row_(nest_.rowExtent(), out + at[0] * outBytes_, a + at[1] * inBytes_,
           nest_.rowStride(1), b + at[2] * inBytes_, nest_.rowStride(2));
    });
    return {};
  }

private:
  Nest<3> nest_;
  BinaryRow row_;
  int64_t outBytes_, inBytes_;
};

} // namespace

/// One row of F. The common strides have loops of their own that vectorize.
template <typename F, typename Out, typename A>
static void runRow(int64_t count, void *result, const void *left, int64_t stepA,
                   const void *right, int64_t stepB) {
  auto f = [](A x, A y) { return Out(F()(load(x), load(y))); };
  auto *out = static_cast<Out *>(result);
  auto *a = static_cast<const A *>(left);
  auto *b = static_cast<const A *>(right);
  if (stepA == 1 && stepB == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      out[i] = f(a[i], b[i]);
    }
  } else if (stepA == 1 && stepB == 0) {
    A scalar = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      out[i] = f(a[i], scalar);
    }
  } else if (stepA == 0 && stepB == 1) {
    A scalar = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      out[i] = f(scalar, b[i]);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = f(a[i * stepA], b[i * stepB]);
    }
  }
}

/// The row of F, whose results have the operands' type or are flags; null for
/// types that are not in the set.
template <typename F, unsigned Types, bool IsPredicate>
static BinaryRow rowOf(DType type) {
  BinaryRow row = nullptr;
  dispatch<Types>(type, [&](auto zero) {
    using T = decltype(zero);
    row = runRow<F, std::conditional_t<IsPredicate, Flag, T>, T>;
  });
  return row;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static bool makeBinaryNest(const CallSite &site, const Checks &checks,
                           Nest<3> &nest) {
  Walk a, b;
  if (!checks.counts(2, 1) || !broadcastWalk(site, checks, 0, a) ||
      !broadcastWalk(site, checks, 1, b)) {
    return false;
  }
  nest = Nest<3>(site.results[0].extents, {denseWalk(site.results[0]), a, b});
  return true;
}

static std::unique_ptr<PreparedKernel> prepareRow(const CallSite &site,
                                                  std::string &error,
                                                  BinaryRow row, DType result) {
  Checks checks(site, error);
  Nest<3> nest;
  if (!makeBinaryNest(site, checks, nest) ||
      !checks.operandType(1, site.operands[0].type) ||
      !checks.resultType(0, result)) {
    return nullptr;
  }
  return row ? std::make_unique<BinaryKernel>(site, nest, row)
             : noKernelFor(checks, site.operands[0].type);
}

template <ScalarFunction Name, typename F>
static std::unique_ptr<PreparedKernel> prepareBinary(const CallSite &site,
                                                     std::string &error) {
  DType type = site.operands[0].type;
  return prepareRow(site, error, rowOf<F, typesOf(Name), false>(type), type);
}

static std::unique_ptr<PreparedKernel> prepareShift(const CallSite &site,
                                                    std::string &error) {
  int64_t left = 0;
  if (!Checks(site, error).getInt("left", 0, 1, left)) {
    return nullptr;
  }
  return left ? prepareBinary<ScalarFunction::ShiftLeft, Shift<true>>(site,
                                                                      error)
              : prepareBinary<ScalarFunction::ShiftRight, Shift<false>>(site,
                                                                        error);
}

static std::unique_ptr<PreparedKernel> prepareMod(const CallSite &site,
                                                  std::string &error) {
  int64_t fmod = 0;
  if (!Checks(site, error).getInt("fmod", 0, 1, fmod)) {
    return nullptr;
  }
  return fmod ? prepareBinary<ScalarFunction::FMod, FMod>(site, error)
              : prepareBinary<ScalarFunction::FloorMod, FloorMod>(site, error);
}

static std::unique_ptr<PreparedKernel> prepareCompare(const CallSite &site,
                                                      std::string &error) {
  static constexpr std::string_view choices[] = {"eq", "ne", "lt",
                                                 "le", "gt", "ge"};
  static constexpr BinaryRow (*rows[])(DType) = {
      rowOf<Eq, typesOf(ScalarFunction::Eq), true>,
      rowOf<Ne, typesOf(ScalarFunction::Ne), true>,
      rowOf<Lt, typesOf(ScalarFunction::Lt), true>,
      rowOf<Le, typesOf(ScalarFunction::Le), true>,
      rowOf<Gt, typesOf(ScalarFunction::Gt), true>,
      rowOf<Ge, typesOf(ScalarFunction::Ge), true>};
  size_t predicate = 0;
  if (!Checks(site, error).getChoice("predicate", choices, predicate)) {
    return nullptr;
  }
  return prepareRow(site, error, rows[predicate](site.operands[0].type),
                    DType::Bool);
}

/// Selection moves bytes: one body per element width.
template <typename T>
static std::unique_ptr<PreparedKernel> makeSelect(const Nest<4> &nest) {
  return makeKernel([nest](auto operands, auto results, void *) {
    int64_t count = nest.rowExtent();
    int64_t stepC = nest.rowStride(1), stepX = nest.rowStride(2),
            stepY = nest.rowStride(3);
    nest.forEachRow([&](const auto &at) {
      T *out = static_cast<T *>(results[0]) + at[0];
      auto *c = static_cast<const uint8_t *>(operands[0]) + at[1];
      const T *x = static_cast<const T *>(operands[1]) + at[2];
      const T *y = static_cast<const T *>(operands[2]) + at[3];
      if (stepC == 1 && stepX == 1 && stepY == 1) {
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) {
          T yes = x[i], no = y[i];
          out[i] = c[i] ? yes : no;
        }
      } else if (stepC == 1 && stepX == 1 && stepY == 0) {
        T no = *y;
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) {
          T yes = x[i];
          out[i] = c[i] ? yes : no;
        }
      } else {
        for (int64_t i = 0; i < count; ++i) {
          out[i] = c[i * stepC] ? x[i * stepX] : y[i * stepY];
        }
      }
    });
  });
}

static std::unique_ptr<PreparedKernel> prepareSelect(const CallSite &site,
                                                     std::string &error) {
  Checks checks(site, error);
  Walk c, x, y;
  if (!checks.counts(3, 1) || !checks.operandType(0, DType::Bool) ||
      !checks.operandType(1, site.results[0].type) ||
      !checks.operandType(2, site.results[0].type) ||
      !broadcastWalk(site, checks, 0, c) ||
      !broadcastWalk(site, checks, 1, x) ||
      !broadcastWalk(site, checks, 2, y)) {
    return nullptr;
  }
  Nest<4> nest(site.results[0].extents, {denseWalk(site.results[0]), c, x, y});
  switch (byteWidth(site.results[0].type)) {
  case 1:
    return makeSelect<uint8_t>(nest);
  case 2:
    return makeSelect<uint16_t>(nest);
  case 4:
    return makeSelect<uint32_t>(nest);
  default:
    return makeSelect<uint64_t>(nest);
  }
}

/// The kernel of the operator that computes the function, whatever its
/// attributes.
template <ScalarFunction Name, typename F> static constexpr Kernel binary() {
  constexpr const ScalarFacts &facts = factsOf(Name);
  static_assert(facts.operands == 2 && facts.attribute.empty());
  return {facts.op, 1, KernelUse::Parts, queryInPlace, prepareBinary<Name, F>};
}

std::span<const Kernel> elementwiseKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      binary<ScalarFunction::Add, Add>(),
      binary<ScalarFunction::Sub, Sub>(),
      binary<ScalarFunction::Mul, Mul>(),
      binary<ScalarFunction::Div, Div>(),
      binary<ScalarFunction::Pow, Pow>(),
      binary<ScalarFunction::Max, Max>(),
      binary<ScalarFunction::Min, Min>(),
      {"nn.mod", 1, Parts, queryInPlace, prepareMod},
      binary<ScalarFunction::And, And>(),
      binary<ScalarFunction::Or, Or>(),
      binary<ScalarFunction::Xor, Xor>(),
      {"nn.shift", 1, Parts, queryInPlace, prepareShift},
      {"nn.compare", 1, Parts, queryInPlace, prepareCompare},
      {"nn.select", 1, Parts, queryInPlace, prepareSelect},
  };
  return kernels;
}

} // namespace divisi::rt
