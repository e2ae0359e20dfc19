//===- Unary.cpp - Elementwise operators of one operand -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Families.h"
#include "runtime/kernels/Nest.h"
#include "runtime/kernels/Scalars.h"

namespace divisi::rt {
namespace {

struct Neg {
  template <typename T> T operator()(T x) const {
    return isFloat<T> ? -x : wrapSub(T(0), x);
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
  float operator()(float x) const { return std::sqrt(x); }
};
struct Rsqrt {
  float operator()(float x) const { return 1.0f / std::sqrt(x); }
};
struct Exp {
  float operator()(float x) const { return std::exp(x); }
};
struct Log {
  float operator()(float x) const { return std::log(x); }
};
struct Erf {
  float operator()(float x) const { return std::erf(x); }
};
struct Sin {
  float operator()(float x) const { return std::sin(x); }
};
struct Cos {
  float operator()(float x) const { return std::cos(x); }
};
struct Tanh {
  float operator()(float x) const { return std::tanh(x); }
};
struct Sigmoid {
  /// The exponential of a negative number never overflows.
  float operator()(float x) const {
    float e = std::exp(-std::fabs(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
  }
};
struct Floor {
  float operator()(float x) const { return std::floor(x); }
};
struct Ceil {
  float operator()(float x) const { return std::ceil(x); }
};
struct Round {
  /// Half to even: the default rounding of the processor.
  float operator()(float x) const { return std::nearbyint(x); }
};
struct GeluErf {
  float operator()(float x) const {
    return 0.5f * x * (1.0f + std::erf(x * 0.70710678f));
  }
};
struct GeluTanh {
  float operator()(float x) const {
    float inner = 0.79788456f * (x + 0.044715f * x * x * x);
    return 0.5f * x * (1.0f + std::tanh(inner));
  }
};
struct Not {
  uint8_t operator()(uint8_t x) const { return x == 0; }
};
struct IsNan {
  uint8_t operator()(float x) const { return x != x; }
};
struct IsInf {
  uint8_t operator()(float x) const { return std::isinf(x); }
};

/// See facts of ONNX Cast: to bool everything but 0 is true, also NaN; to
/// integers floats saturate and integers wrap.
template <typename To> struct Cast {
  template <typename From> auto operator()(From x) const {
    if constexpr (std::is_same_v<To, uint8_t>) {
      return uint8_t(x != 0);
    } else if constexpr (std::is_same_v<From, uint8_t>) {
      return To(x != 0);
    } else if constexpr (isFloat<From> && !isFloat<To>) {
      return saturateTo<To>(x);
    } else {
      return To(x);
    }
  }
};

} // namespace

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

template <typename F, typename Out, typename In>
static std::unique_ptr<PreparedKernel> makeUnary(const Nest<2> &nest) {
  return makeKernel([nest](auto operands, auto results, void *) {
    runUnary(nest, static_cast<Out *>(results[0]),
             static_cast<const In *>(operands[0]), F());
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
    kernel = makeUnary<F, T, T>(nest);
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
      !checks.operandType(0, DType::F32) ||
      !checks.resultType(0, DType::Bool)) {
    return nullptr;
  }
  return makeUnary<F, uint8_t, float>(nest);
}

static std::unique_ptr<PreparedKernel> prepareCast(const CallSite &site,
                                                   std::string &error) {
  Checks checks(site, error);
  Nest<2> nest;
  if (!makeUnaryNest(site, checks, nest)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> kernel;
  dispatch<AllTypes>(site.operands[0].type, [&](auto from) {
    using From = decltype(from);
    dispatch<AllTypes>(site.results[0].type, [&](auto to) {
      using To = decltype(to);
      kernel = makeUnary<Cast<To>, To, From>(nest);
    });
  });
  if (!kernel) {
    checks.fail("cannot cast from " +
                std::string(stringify(site.operands[0].type)) + " to " +
                std::string(stringify(site.results[0].type)));
  }
  return kernel;
}

static std::unique_ptr<PreparedKernel> prepareGelu(const CallSite &site,
                                                   std::string &error) {
  static constexpr std::string_view choices[] = {"none", "tanh"};
  size_t choice = 0;
  if (!Checks(site, error).getChoice("approximate", choices, choice)) {
    return nullptr;
  }
  return choice == 0 ? prepareUnary<GeluErf, Floats>(site, error)
                     : prepareUnary<GeluTanh, Floats>(site, error);
}

std::span<const Kernel> unaryKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.neg", 1, Parts, queryInPlace, prepareUnary<Neg, Numbers>},
      {"nn.abs", 1, Parts, queryInPlace, prepareUnary<Abs, Numbers>},
      {"nn.sign", 1, Parts, queryInPlace, prepareUnary<Sign, Numbers>},
      {"nn.relu", 1, Parts, queryInPlace, prepareUnary<Relu, Numbers>},
      {"nn.sqrt", 1, Parts, queryInPlace, prepareUnary<Sqrt, Floats>},
      {"nn.rsqrt", 1, Parts, queryInPlace, prepareUnary<Rsqrt, Floats>},
      {"nn.exp", 1, Parts, queryInPlace, prepareUnary<Exp, Floats>},
      {"nn.log", 1, Parts, queryInPlace, prepareUnary<Log, Floats>},
      {"nn.erf", 1, Parts, queryInPlace, prepareUnary<Erf, Floats>},
      {"nn.sin", 1, Parts, queryInPlace, prepareUnary<Sin, Floats>},
      {"nn.cos", 1, Parts, queryInPlace, prepareUnary<Cos, Floats>},
      {"nn.tanh", 1, Parts, queryInPlace, prepareUnary<Tanh, Floats>},
      {"nn.sigmoid", 1, Parts, queryInPlace, prepareUnary<Sigmoid, Floats>},
      {"nn.floor", 1, Parts, queryInPlace, prepareUnary<Floor, Floats>},
      {"nn.ceil", 1, Parts, queryInPlace, prepareUnary<Ceil, Floats>},
      {"nn.round", 1, Parts, queryInPlace, prepareUnary<Round, Floats>},
      {"nn.gelu", 1, Parts, queryInPlace, prepareGelu},
      {"nn.not", 1, Parts, queryInPlace, prepareUnary<Not, Bools>},
      {"nn.is_nan", 1, Parts, queryInPlace, preparePredicate<IsNan>},
      {"nn.is_inf", 1, Parts, queryInPlace, preparePredicate<IsInf>},
      {"nn.cast", 1, Parts, queryInPlace, prepareCast},
  };
  return kernels;
}

} // namespace divisi::rt
