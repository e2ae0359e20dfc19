//===- Unary.cpp - Elementwise operators of one operand -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Families.h"
#include "runtime/kernels/FieldFunctions.h"
#include "runtime/kernels/Nest.h"
#include "runtime/kernels/Scalars.h"

namespace divisi::rt {
namespace {

// Those of the field are found by their argument.
using std::sqrt, std::exp, std::log, std::erf, std::sin, std::cos, std::tan,
    std::asin, std::acos, std::atan, std::sinh, std::cosh, std::asinh,
    std::acosh, std::atanh, std::tanh, std::floor, std::ceil, std::nearbyint;

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
struct Sqrt {
  template <typename T> T operator()(T x) const { return sqrt(x); }
};
struct Rsqrt {
  template <typename T> T operator()(T x) const { return 1 / sqrt(x); }
};
struct Exp {
  template <typename T> T operator()(T x) const { return exp(x); }
};
struct Log {
  template <typename T> T operator()(T x) const { return log(x); }
};
struct Erf {
  template <typename T> T operator()(T x) const { return erf(x); }
};
struct Sin {
  template <typename T> T operator()(T x) const { return sin(x); }
};
struct Cos {
  template <typename T> T operator()(T x) const { return cos(x); }
};
struct Tan {
  template <typename T> T operator()(T x) const { return tan(x); }
};
struct Asin {
  template <typename T> T operator()(T x) const { return asin(x); }
};
struct Acos {
  template <typename T> T operator()(T x) const { return acos(x); }
};
struct Atan {
  template <typename T> T operator()(T x) const { return atan(x); }
};
struct Sinh {
  template <typename T> T operator()(T x) const { return sinh(x); }
};
struct Cosh {
  template <typename T> T operator()(T x) const { return cosh(x); }
};
struct Asinh {
  template <typename T> T operator()(T x) const { return asinh(x); }
};
struct Acosh {
  template <typename T> T operator()(T x) const { return acosh(x); }
};
struct Atanh {
  template <typename T> T operator()(T x) const { return atanh(x); }
};
struct Tanh {
  template <typename T> T operator()(T x) const { return tanh(x); }
};
struct Sigmoid {
  /// The exponential of a negative number never overflows.
  template <typename T> T operator()(T x) const {
    if constexpr (isField<T>) {
      return 1 / (1 + exp(-x));
    } else {
      T e = exp(-std::fabs(x));
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
struct Floor {
  template <typename T> T operator()(T x) const { return floor(x); }
};
struct Ceil {
  template <typename T> T operator()(T x) const { return ceil(x); }
};
struct Round {
  /// Half to even: the default rounding of the processor.
  template <typename T> T operator()(T x) const { return nearbyint(x); }
};
struct GeluErf {
  template <typename T> T operator()(T x) const {
    return T(0.5) * x * (1 + erf(x * T(0.70710678118654752440)));
  }
};
struct GeluTanh {
  template <typename T> T operator()(T x) const {
    T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
    return T(0.5) * x * (1 + tanh(inner));
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

/// f takes an element as it lies in memory, and gives one.
template <typename Out, typename In, typename F>
static void runUnary(const Nest<2> &nest, Out *out, const In *in, F f) {
  int64_t count = nest.rowExtent(), step = nest.rowStride(1);
  nest.forEachRow([&](const auto &at) {
    Out *to = out + at[0];
    const In *from = in + at[1];
    if (step == 1) {
      // Writing over the operand is allowed: same element, read first.
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        to[i] = f(from[i]);
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        to[i] = f(from[i * step]);
      }
    }
  });
}

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

template <typename Out, typename In, typename F>
static std::unique_ptr<PreparedKernel> makeUnary(const Nest<2> &nest, F f) {
  return makeKernel([nest, f](auto operands, auto results, void *) {
    runUnary(nest, static_cast<Out *>(results[0]),
             static_cast<const In *>(operands[0]), f);
  });
}

/// An operator whose result has its operand's type.
template <typename F, unsigned Types>
static std::unique_ptr<PreparedKernel> prepareUnary(const CallSite &site,
                                                    std::string &error) {
  Checks checks(site, error);
  Nest<2> nest;
  if (!makeUnaryNest(site, checks, nest) ||
      !checks.resultType(0, site.operands[0].type)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Types>(site.operands[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeUnary<T, T>(nest, [](T x) { return T(F()(load(x))); });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
}

/// A property of floats.
template <typename F>
static std::unique_ptr<PreparedKernel> preparePredicate(const CallSite &site,
                                                        std::string &error) {
  Checks checks(site, error);
  Nest<2> nest;
  if (!makeUnaryNest(site, checks, nest) ||
      !checks.resultType(0, DType::Bool)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  bool known = dispatch<Reals>(site.operands[0].type, [&](auto zero) {
    using T = decltype(zero);
    kernel = makeUnary<Flag, T>(nest, [](T x) { return Flag(F()(load(x))); });
  });
  return known ? std::move(kernel) : noKernelFor(checks, site.operands[0].type);
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
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<AllTypes>(site.operands[0].type, [&](auto from) {
    using From = decltype(from);
    dispatch<AllTypes>(site.results[0].type, [&](auto to) {
      using To = decltype(to);
      kernel = makeUnary<To, From>(nest, [saturate](From element) {
        return convertElement<To>(element, saturate != 0);
      });
    });
  });
  return kernel;
}

static std::unique_ptr<PreparedKernel> prepareGelu(const CallSite &site,
                                                   std::string &error) {
  static constexpr std::string_view choices[] = {"none", "tanh"};
  size_t choice = 0;
  if (!Checks(site, error).getChoice("approximate", choices, choice)) {
    return nullptr;
  }
  return choice == 0 ? prepareUnary<GeluErf, Reals>(site, error)
                     : prepareUnary<GeluTanh, Reals>(site, error);
}

std::span<const Kernel> unaryKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.neg", 1, Parts, queryInPlace, prepareUnary<Neg, Numbers>},
      {"nn.abs", 1, Parts, queryInPlace, prepareUnary<Abs, Numbers>},
      {"nn.sign", 1, Parts, queryInPlace, prepareUnary<Sign, Numbers>},
      {"nn.relu", 1, Parts, queryInPlace, prepareUnary<Relu, Numbers>},
      {"nn.sqrt", 1, Parts, queryInPlace, prepareUnary<Sqrt, Reals>},
      {"nn.rsqrt", 1, Parts, queryInPlace, prepareUnary<Rsqrt, Reals>},
      {"nn.exp", 1, Parts, queryInPlace, prepareUnary<Exp, Reals>},
      {"nn.log", 1, Parts, queryInPlace, prepareUnary<Log, Reals>},
      {"nn.erf", 1, Parts, queryInPlace, prepareUnary<Erf, Reals>},
      {"nn.sin", 1, Parts, queryInPlace, prepareUnary<Sin, Reals>},
      {"nn.cos", 1, Parts, queryInPlace, prepareUnary<Cos, Reals>},
      {"nn.tan", 1, Parts, queryInPlace, prepareUnary<Tan, Reals>},
      {"nn.asin", 1, Parts, queryInPlace, prepareUnary<Asin, Reals>},
      {"nn.acos", 1, Parts, queryInPlace, prepareUnary<Acos, Reals>},
      {"nn.atan", 1, Parts, queryInPlace, prepareUnary<Atan, Reals>},
      {"nn.sinh", 1, Parts, queryInPlace, prepareUnary<Sinh, Reals>},
      {"nn.cosh", 1, Parts, queryInPlace, prepareUnary<Cosh, Reals>},
      {"nn.asinh", 1, Parts, queryInPlace, prepareUnary<Asinh, Reals>},
      {"nn.acosh", 1, Parts, queryInPlace, prepareUnary<Acosh, Reals>},
      {"nn.atanh", 1, Parts, queryInPlace, prepareUnary<Atanh, Reals>},
      {"nn.tanh", 1, Parts, queryInPlace, prepareUnary<Tanh, Reals>},
      {"nn.sigmoid", 1, Parts, queryInPlace, prepareUnary<Sigmoid, Reals>},
      {"nn.silu", 1, Parts, queryInPlace, prepareUnary<Silu, Reals>},
      {"nn.hard_swish", 1, Parts, queryInPlace, prepareUnary<HardSwish, Reals>},
      {"nn.floor", 1, Parts, queryInPlace, prepareUnary<Floor, Reals>},
      {"nn.ceil", 1, Parts, queryInPlace, prepareUnary<Ceil, Reals>},
      {"nn.round", 1, Parts, queryInPlace, prepareUnary<Round, Reals>},
      {"nn.gelu", 1, Parts, queryInPlace, prepareGelu},
      {"nn.not", 1, Parts, queryInPlace, prepareUnary<Not, Logical>},
      {"nn.is_nan", 1, Parts, queryInPlace, preparePredicate<IsNan>},
      {"nn.is_inf", 1, Parts, queryInPlace, preparePredicate<IsInf>},
      {"nn.cast", 1, Parts, queryInPlace, prepareCast},
  };
  return kernels;
}

} // namespace divisi::rt
