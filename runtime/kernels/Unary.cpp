//===- Unary.cpp - Elementwise operators of one operand -------------------===//
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

#include <algorithm>
#include <array>

namespace divisi::rt {
namespace {

/// A function of floats that `OfFloats` computes. Of the field it is its
/// operator's name.
template <ScalarFunction Name, auto OfFloats> struct Named {
  template <typename T> T operator()(T x) const {
    if constexpr (isField<T>) {
      return uninterpreted(factsOf(Name).op.substr(3), x);
    } else {
      return OfFloats(x);
    }
  }
};
using Sqrt = Named<ScalarFunction::Sqrt, [](auto x) { return std::sqrt(x); }>;
using Exp = Named<ScalarFunction::Exp, [](auto x) { return std::exp(x); }>;
using Log = Named<ScalarFunction::Log, [](auto x) { return std::log(x); }>;
using Erf = Named<ScalarFunction::Erf, [](auto x) { return std::erf(x); }>;
using Tanh = Named<ScalarFunction::Tanh, [](auto x) { return std::tanh(x); }>;
using Sin = Named<ScalarFunction::Sin, [](auto x) { return std::sin(x); }>;
using Cos = Named<ScalarFunction::Cos, [](auto x) { return std::cos(x); }>;
using Tan = Named<ScalarFunction::Tan, [](auto x) { return std::tan(x); }>;
using Asin = Named<ScalarFunction::Asin, [](auto x) { return std::asin(x); }>;
using Acos = Named<ScalarFunction::Acos, [](auto x) { return std::acos(x); }>;
using Atan = Named<ScalarFunction::Atan, [](auto x) { return std::atan(x); }>;
using Sinh = Named<ScalarFunction::Sinh, [](auto x) { return std::sinh(x); }>;
using Cosh = Named<ScalarFunction::Cosh, [](auto x) { return std::cosh(x); }>;
using Asinh =
    Named<ScalarFunction::Asinh, [](auto x) { return std::asinh(x); }>;
using Acosh =
    Named<ScalarFunction::Acosh, [](auto x) { return std::acosh(x); }>;
using Atanh =
    Named<ScalarFunction::Atanh, [](auto x) { return std::atanh(x); }>;
using Floor =
    Named<ScalarFunction::Floor, [](auto x) { return std::floor(x); }>;
using Ceil = Named<ScalarFunction::Ceil, [](auto x) { return std::ceil(x); }>;
/// Half to even: the default rounding of the processor.
using Round =
    Named<ScalarFunction::Round, [](auto x) { return std::nearbyint(x); }>;

struct Neg {
  template <typename T> T operator()(T x) const {
    if constexpr (isFloat<T>) {
      return -x;
    } else {
      return wrapSub(T(0), x);
    }
  }
};
struct Abs {
  template <typename T> T operator()(T x) const {
    if constexpr (isFloat<T>) {
      return std::fabs(x);
    } else {
      return x < 0 ? wrapSub(T(0), x) : x;
    }
  }
};
struct Sign {
  template <typename T> T operator()(T x) const {
    T sign = T(x > 0) - T(x < 0);
    return x != x ? x : sign;
  }
};
struct Relu {
  template <typename T> T operator()(T x) const { return x < 0 ? T(0) : x; }
};
struct Rsqrt {
  template <typename T> T operator()(T x) const { return 1 / Sqrt()(x); }
};
struct Sigmoid {
  /// The exponential of a negative number never overflows.
  template <typename T> T operator()(T x) const {
    if constexpr (isField<T>) {
      return 1 / (1 + Exp()(-x));
    } else {
      T e = Exp()(-std::fabs(x));
      return (x < 0 ? e : T(1)) / (1 + e);
    }
  }
};
struct Silu {
  template <typename T> T operator()(T x) const { return x * Sigmoid()(x); }
};
struct HardSwish {
  template <typename T> T operator()(T x) const {
    // Of NaN it is NaN, whatever the clip makes of it.
    T share = x / T(6) + T(1) / T(2);
    return x * (share < T(0) ? T(0) : T(1) < share ? T(1) : share);
  }
};
struct GeluErf {
  template <typename T> T operator()(T x) const {
    return T(0.5) * x * (1 + Erf()(x * T(0.70710678118654752440)));
  }
};
struct GeluTanh {
  template <typename T> T operator()(T x) const {
    T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (1 + Tanh()(inner));
  }
};
struct Not {
  bool operator()(bool x) const { return !x; }
  template <typename T> T operator()(T x) const { return T(~x); }
};
struct IsNan {
  template <typename T> bool operator()(T x) const {
    return isField<T> ? x == T(NAN) : x != x;
  }
};
struct IsInf {
  template <typename T> bool operator()(T x) const {
    return x == T(INFINITY) || x == T(-INFINITY);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Rows: all that is compiled per function and type
//===----------------------------------------------------------------------===//

namespace {

/// Applies a function to `count` elements, `step` apart in the operand and
/// adjacent in the result. The result may be the operand: each element is read
/// first.
using UnaryRow = void (*)(void *out, const void *in, int64_t count,
                          int64_t step);

/// A nest of rows. It is no template: what differs is behind the pointer.
class UnaryKernel final : public PreparedKernel {
public:
  UnaryKernel(const CallSite &site, const Nest<2> &nest, UnaryRow row)
      : nest_(nest), row_(row), outBytes_(byteWidth(site.results[0].type)),
        inBytes_(byteWidth(site.operands[0].type)) {}

  Status launch(LaunchContext &context) override {
    auto *out = static_cast<std::byte *>(context.results[0]);
    auto *in = static_cast<const std::byte *>(context.operands[0]);
    int64_t count = nest_.rowExtent(), step = nest_.rowStride(1);
    nest_.forEachRow([&](const auto &at) {
      row_(out + at[0] * outBytes_, in + at[1] * inBytes_, count, step);
    });
    return {};
  }

private:
  Nest<2> nest_;
  UnaryRow row_;
  int64_t outBytes_, inBytes_;
};

} // namespace

/// A row of f, which takes an element as it lies in memory, and gives one.
template <typename Out, typename In, typename F>
static void runRow(void *result, const void *operand, int64_t count,
                   int64_t step, F f) {
  auto *out = static_cast<Out *>(result);
  auto *in = static_cast<const In *>(operand);
  if (step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      out[i] = f(in[i]);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = f(in[i * step]);
    }
  }
}

/// The row of F, whose results have the operand's type or are flags; null for
/// types that are not in the set.
template <typename F, unsigned Types, bool IsPredicate>
static UnaryRow rowOf(DType type) {
  UnaryRow row = nullptr;
  dispatch<Types>(type, [&](auto zero) {
    using T = decltype(zero);
    using Out = std::conditional_t<IsPredicate, Flag, T>;
    row = [](void *out, const void *in, int64_t count, int64_t step) {
      runRow<Out, T>(out, in, count, step,
                     [](T x) { return Out(F()(load(x))); });
    };
  });
  return row;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// The loops of an operator of one operand, or a message.
static bool makeUnaryNest(const CallSite &site, const Checks &checks,
                          Nest<2> &nest) {
  Walk walk;
  if (!checks.counts(1, 1) || !checks.operandRank(0, site.results[0].rank()) ||
      !broadcastWalk(site, checks, 0, walk)) {
    return false;
  }
  nest = Nest<2>(site.results[0].extents, {denseWalk(site.results[0]), walk});
  return true;
}

static std::unique_ptr<PreparedKernel> prepareRow(const CallSite &site,
                                                  std::string &error,
                                                  UnaryRow row, DType result) {
  Checks checks(site, error);
  Nest<2> nest;
  if (!makeUnaryNest(site, checks, nest) || !checks.resultType(0, result)) {
    return nullptr;
  }
  return row ? std::make_unique<UnaryKernel>(site, nest, row)
             : noKernelFor(checks, site.operands[0].type);
}

/// An operator whose result has its operand's type.
template <ScalarFunction Name, typename F>
static std::unique_ptr<PreparedKernel> prepareUnary(const CallSite &site,
                                                    std::string &error) {
  DType type = site.operands[0].type;
  return prepareRow(site, error, rowOf<F, typesOf(Name), false>(type), type);
}

/// A property of floats.
template <ScalarFunction Name, typename F>
static std::unique_ptr<PreparedKernel> preparePredicate(const CallSite &site,
                                                        std::string &error) {
  return prepareRow(site, error,
                    rowOf<F, typesOf(Name), true>(site.operands[0].type),
                    DType::Bool);
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

namespace {

/// What every element of a type is exactly, so that N types are converted by
/// 2 N rows and not by N².
template <typename T>
using Widened = std::conditional_t<
    isFloat<T>, double,
    std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

using CastRow = void (*)(void *out, const void *in, int64_t count, int64_t step,
                         bool saturates);

/// From the element to its widened form, and from each such form to it.
struct CastRows {
  CastRow widen = nullptr, fromDouble = nullptr, fromSigned = nullptr,
          fromUnsigned = nullptr;
  bool isDouble = false, isUnsigned = false; ///< What it is widened to.
};

/// A cast by pieces that stay in the cache, of one row after the other.
class WideningCast {
public:
  WideningCast(const CastRows &from, const CastRows &to, DType source,
               DType result, bool saturates)
      : widen_(from.widen), narrow_(from.isDouble     ? to.fromDouble
                                    : from.isUnsigned ? to.fromUnsigned
                                                      : to.fromSigned),
        inBytes_(byteWidth(source)), outBytes_(byteWidth(result)),
        saturates_(saturates) {}

  void operator()(std::byte *out, const std::byte *in, int64_t count,
                  int64_t step) const {
    constexpr int64_t piece = 512;
    alignas(64) std::array<std::byte, piece * sizeof(int64_t)> wide;
    for (int64_t i = 0; i < count; i += piece) {
      int64_t some = std::min(piece, count - i);
      widen_(wide.data(), in + i * step * inBytes_, some, step, saturates_);
      narrow_(out + i * outBytes_, wide.data(), some, 1, saturates_);
    }
  }

private:
  CastRow widen_, narrow_;
  int64_t inBytes_, outBytes_;
  bool saturates_;
};

} // namespace

template <typename To, typename From>
static void castRow(void *out, const void *in, int64_t count, int64_t step,
                    bool saturates) {
  runRow<To, From>(out, in, count, step, [saturates](From element) {
    return convertElement<To>(element, saturates);
  });
}

static CastRows castRowsOf(DType type) {
  CastRows rows;
  dispatch<AllTypes>(type, [&](auto zero) {
    using T = decltype(zero);
    using Wide = Widened<T>;
    rows = {castRow<Wide, T>,    castRow<T, double>,
            castRow<T, int64_t>, castRow<T, uint64_t>,
            isFloat<T>,          std::is_same_v<Wide, uint64_t>};
  });
  return rows;
}

/// The row between two of the floats that are computed with, which models cast
/// most, or null.
static CastRow rowOfFloats(DType from, DType to) {
  CastRow row = nullptr;
  dispatch<Floats>(from, [&](auto source) {
    dispatch<Floats>(to, [&](auto result) {
      row = castRow<decltype(result), decltype(source)>;
    });
  });
  return row;
}

static std::unique_ptr<PreparedKernel> prepareCast(const CallSite &site,
                                                   std::string &error) {
  Checks checks(site, error);
  Nest<2> nest;
  int64_t saturate = 1;
  bool isSaid = site.attributes.find<int64_t>("saturate") != nullptr;
  if (!makeUnaryNest(site, checks, nest) ||
      (isSaid && !checks.getInt("saturate", 0, 1, saturate))) {
    return nullptr;
  }
  DType from = site.operands[0].type, to = site.results[0].type;
  WideningCast widening(castRowsOf(from), castRowsOf(to), from, to,
                        saturate != 0);
  return makeKernel(
      [nest, widening, direct = rowOfFloats(from, to),
       inBytes = int64_t(byteWidth(from)),
       outBytes = int64_t(byteWidth(to))](auto operands, auto results, void *) {
        auto *out = static_cast<std::byte *>(results[0]);
        auto *in = static_cast<const std::byte *>(operands[0]);
        int64_t count = nest.rowExtent(), step = nest.rowStride(1);
        nest.forEachRow([&](const auto &at) {
          std::byte *to = out + at[0] * outBytes;
          const std::byte *from = in + at[1] * inBytes;
          if (direct) {
            direct(to, from, count, step, true);
          } else {
            widening(to, from, count, step);
          }
        });
      });
}

static std::unique_ptr<PreparedKernel> prepareGelu(const CallSite &site,
                                                   std::string &error) {
  static constexpr std::string_view choices[] = {"none", "tanh"};
  size_t choice = 0;
  if (!Checks(site, error).getChoice("approximate", choices, choice)) {
    return nullptr;
  }
  return choice == 0
             ? prepareUnary<ScalarFunction::GeluErf, GeluErf>(site, error)
             : prepareUnary<ScalarFunction::GeluTanh, GeluTanh>(site, error);
}

/// The kernel of the operator that computes the function, whatever its
/// attributes.
template <ScalarFunction Name, typename F> static constexpr Kernel unary() {
  constexpr const ScalarFacts &facts = factsOf(Name);
  static_assert(facts.operands == 1 && facts.attribute.empty());
  if constexpr (facts.has(Tests)) {
    return {facts.op, 1, KernelUse::Parts, queryInPlace,
            preparePredicate<Name, F>};
  } else {
    return {facts.op, 1, KernelUse::Parts, queryInPlace, prepareUnary<Name, F>};
  }
}

std::span<const Kernel> unaryKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      unary<ScalarFunction::Neg, Neg>(),
      unary<ScalarFunction::Abs, Abs>(),
      unary<ScalarFunction::Sign, Sign>(),
      unary<ScalarFunction::Relu, Relu>(),
      unary<ScalarFunction::Sqrt, Sqrt>(),
      unary<ScalarFunction::Rsqrt, Rsqrt>(),
      unary<ScalarFunction::Exp, Exp>(),
      unary<ScalarFunction::Log, Log>(),
      unary<ScalarFunction::Erf, Erf>(),
      unary<ScalarFunction::Sin, Sin>(),
      unary<ScalarFunction::Cos, Cos>(),
      unary<ScalarFunction::Tan, Tan>(),
      unary<ScalarFunction::Asin, Asin>(),
      unary<ScalarFunction::Acos, Acos>(),
      unary<ScalarFunction::Atan, Atan>(),
      unary<ScalarFunction::Sinh, Sinh>(),
      unary<ScalarFunction::Cosh, Cosh>(),
      unary<ScalarFunction::Asinh, Asinh>(),
      unary<ScalarFunction::Acosh, Acosh>(),
      unary<ScalarFunction::Atanh, Atanh>(),
      unary<ScalarFunction::Tanh, Tanh>(),
      unary<ScalarFunction::Sigmoid, Sigmoid>(),
      unary<ScalarFunction::Silu, Silu>(),
      unary<ScalarFunction::HardSwish, HardSwish>(),
      unary<ScalarFunction::Floor, Floor>(),
      unary<ScalarFunction::Ceil, Ceil>(),
      unary<ScalarFunction::Round, Round>(),
      {"nn.gelu", 1, Parts, queryInPlace, prepareGelu},
      unary<ScalarFunction::Not, Not>(),
      unary<ScalarFunction::IsNan, IsNan>(),
      unary<ScalarFunction::IsInf, IsInf>(),
      {"nn.cast", 1, Parts, queryInPlace, prepareCast},
  };
  return kernels;
}

} // namespace divisi::rt
