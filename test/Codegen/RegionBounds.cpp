//===- RegionBounds.cpp - What a region computes, and how nearly ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/RegionBounds.h"
#include "divisi/runtime/code/RowNest.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "test/Codegen/LineBounds.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace divisi;
using namespace divisi::test;
using rt::DType;

[[noreturn]] static void stop(const std::string &message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(1);
}

//===----------------------------------------------------------------------===//
// One element
//===----------------------------------------------------------------------===//

namespace {
/// An element of an operand.
struct Number {
  double value, error;
};
} // namespace

static double boundOfUnary(std::string_view op, double z, Number x) {
  double lower = x.value - x.error;
  FunctionError function = functionError(op);
  double own =
      function.mostUlps * ulpOf(std::max(std::fabs(z), function.floor));
  if (op == "nn.neg" || op == "nn.abs" || op == "nn.relu" || op == "nn.not" ||
      op == "nn.cast") {
    return x.error;
  }
  if (op == "nn.is_nan") {
    return std::isfinite(x.error) ? 0 : unknownError;
  }
  if (op == "nn.exp") {
    return z * std::expm1(x.error) + own;
  }
  if (op == "nn.log" || op == "nn.sqrt" || op == "nn.rsqrt") {
    if (x.error > 0 && lower <= 0) {
      return unknownError;
    }
    return own +
           (x.error == 0      ? 0
            : op == "nn.log"  ? std::log(x.value / lower)
            : op == "nn.sqrt" ? x.error / (2 * std::sqrt(lower))
                              : 1 / std::sqrt(lower) - z) +
           (op == "nn.rsqrt" ? 4 * roundingOf(z) : 0);
  }
  if (function.steepest > 0) {
    return function.steepest * x.error + own;
  }
  // What jumps.
  bool isSame = x.error == 0;
  for (auto [name, jump] :
       {std::pair<std::string_view, double (*)(double)>{"nn.floor", std::floor},
        {"nn.ceil", std::ceil},
        {"nn.round", std::nearbyint}}) {
    isSame |= op == name && jump(lower) == jump(x.value + x.error);
  }
  isSame |= op == "nn.sign" && std::fabs(x.value) > x.error;
  isSame |= op == "nn.is_inf" && std::fabs(x.value) + x.error < mostFloat;
  return isSame ? 0 : unknownError;
}

static double boundOfBinary(std::string_view op, double z, Number x, Number y) {
  if (op == "nn.add" || op == "nn.sub") {
    return x.error + y.error + roundingOf(z);
  }
  if (op == "nn.mul") {
    return std::fabs(x.value) * y.error + std::fabs(y.value) * x.error +
           x.error * y.error + roundingOf(z);
  }
  if (op == "nn.div") {
    double lower = std::fabs(y.value) - y.error;
    return y.error == 0 ? x.error / std::fabs(y.value) + roundingOf(z)
           : lower <= 0
               ? unknownError
               : (x.error + std::fabs(z) * y.error) / lower + roundingOf(z);
  }
  if (op == "nn.compare") {
    bool isSure = x.error + y.error == 0 ||
                  std::fabs(x.value - y.value) > x.error + y.error;
    return isSure ? 0 : unknownError;
  }
  return std::max(x.error, y.error); // max, min, and, or, xor
}

/// Whether `z`, which is no number, or infinite, is so for all that the
/// operands may be.
static bool isSurelySpecial(const Number *operands, size_t count) {
  return std::all_of(operands, operands + count, [](Number x) {
    return std::isfinite(x.error) && (!std::isfinite(x.value) || x.error == 0 ||
                                      std::fabs(x.value) > x.error);
  });
}

/// Of a code of `type`, which is round(x / scale) and a zero point: a number
/// that may lie on either side of a half may be the code on either side of it.
static double boundOfQuantize(DType type, const Number *operands,
                              size_t count) {
  Number x = operands[0], scale = operands[1];
  double quotient = x.value / scale.value;
  if (!std::isfinite(quotient)) {
    return isSurelySpecial(operands, 2) ? 0 : unknownError;
  }
  double off = boundOfBinary("nn.div", quotient, x, scale);
  double zero = count > 2 ? operands[2].value : 0;
  bool isSigned = type == DType::I8;
  auto code = [&](double number) {
    return std::clamp(std::nearbyint(number) + zero, isSigned ? -128. : 0.,
                      isSigned ? 127. : 255.);
  };
  return std::isfinite(off) ? std::max(code(quotient + off) - code(quotient),
                                       code(quotient) - code(quotient - off))
                            : unknownError;
}

/// (x - zero) * scale, of exact codes less zero points.
static double boundOfDequantize(const Number *operands, size_t count) {
  Number code = operands[0];
  code.value -= count > 2 ? operands[2].value : 0;
  return boundOfBinary("nn.mul", code.value * operands[1].value, code,
                       operands[1]);
}

/// a + (x - zero) * scale.
static double boundOfAddDequantized(double z, const Number *operands,
                                    size_t count) {
  double zero = count > 3 ? operands[3].value : 0;
  double product = (operands[1].value - zero) * operands[2].value;
  return boundOfBinary("nn.add", z, operands[0],
                       {product, boundOfDequantize(operands + 1, count - 1)});
}

static double boundOf(const rt::RegionPart &part, double z,
                      const Number *operands, size_t count) {
  std::string_view op = part.op;
  if (op == "nn.select") {
    return operands[0].error != 0 ? unknownError
                                  : operands[operands[0].value ? 1 : 2].error;
  }
  if (op == "nn.quantize") {
    return boundOfQuantize(part.results[0].type, operands, count);
  }
  if (!std::isfinite(z)) {
    return isSurelySpecial(operands, count) ? 0 : unknownError;
  }
  double bound = op == "nn.dequantize" ? boundOfDequantize(operands, count)
                 : op == "nn.add_dequantized"
                     ? boundOfAddDequantized(z, operands, count)
                 : count == 1 ? boundOfUnary(op, z, operands[0])
                              : boundOfBinary(op, z, operands[0], operands[1]);
  bool isSure = std::isfinite(bound) && std::fabs(z) + bound < mostFloat;
  return isSure ? bound : unknownError;
}

//===----------------------------------------------------------------------===//
// One part
//===----------------------------------------------------------------------===//

/// What the reference kernel makes of the operands' values, or, if it moves
/// them, of their errors, which are in f64 whatever they are of.
static std::vector<double>
evaluatePart(const rt::RegionPart &part,
             const std::vector<const Bounded *> &operands,
             std::vector<double> Bounded::*member) {
  std::vector<std::vector<std::byte>> stored;
  std::vector<rt::TensorInfo> infos, results = part.results;
  std::vector<const void *> from;
  bool isError = member == &Bounded::errors;
  results[0].type = isError ? DType::F64 : results[0].type;
  for (const Bounded *operand : operands) {
    infos.push_back(operand->info);
    infos.back().type = isError ? DType::F64 : infos.back().type;
    stored.push_back(storedFrom(infos.back(), operand->*member));
    from.push_back(stored.back().data());
  }
  std::vector<std::byte> bytes(results[0].bytes());
  void *to[] = {bytes.data()};
  Status status =
      rt::evaluate(part.op, part.attributes, infos, from, results, to);
  if (!status.isOk()) {
    stop(part.op + " is not computed: " + status.message());
  }
  return numbersFrom(results[0], bytes.data());
}

/// The bounds of an operator of elements: shapes broadcast from the last
/// dimension on.
static void boundElements(const rt::RegionPart &part,
                          const std::vector<const Bounded *> &operands,
                          Bounded &result) {
  const rt::Dims &extents = result.info.extents;
  std::vector<rt::Dims> strides;
  for (const Bounded *operand : operands) {
    rt::Dims &own = strides.emplace_back(extents.size());
    int64_t stride = 1;
    for (size_t d = operand->info.rank(), to = extents.size(); d-- > 0;) {
      own[--to] = operand->info.global[d] == 1 ? 0 : stride;
      stride *= operand->info.extents[d];
    }
  }
  std::vector<Number> numbers(operands.size());
  for (size_t i = 0; i < result.values.size(); ++i) {
    for (size_t o = 0; o < operands.size(); ++o) {
      int64_t at = 0, left = static_cast<int64_t>(i);
      for (size_t d = extents.size(); d-- > 0; left /= extents[d]) {
        at += left % extents[d] * strides[o][d];
      }
      numbers[o] = {operands[o]->values[at], operands[o]->errors[at]};
    }
    result.errors[i] =
        boundOf(part, result.values[i], numbers.data(), numbers.size());
  }
}

static Bounded computePart(const rt::RegionPart &part,
                           const std::vector<const Bounded *> &operands) {
  Bounded result;
  result.info = part.results[0];
  result.values = evaluatePart(part, operands, &Bounded::values);
  result.errors.resize(result.values.size());
  if (rt::isMovement(part.op)) {
    result.errors = evaluatePart(part, operands, &Bounded::errors);
  } else if (rt::findRowOperator(part.op)) {
    boundLines(part, *operands[0], result);
  } else {
    boundElements(part, operands, result);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// In f64, row-major.
static RegionCall plainCall(const RegionCall &call) {
  RegionCall plain = call.onFloats(DType::F64);
  for (auto *infos : {&plain.operands, &plain.results}) {
    for (rt::TensorInfo &info : *infos) {
      info.format.clear();
    }
  }
  return plain;
}

/// What the interpreter of regions makes of all parts.
static std::vector<std::vector<double>>
interpret(const RegionCall &call, const std::vector<Bounded> &operands) {
  rt::CallSite site = call.site();
  const rt::Kernel *kernel = rt::referenceBackend().find(site);
  std::string error = "no kernel";
  auto prepared = kernel ? kernel->prepare(site, error) : nullptr;
  if (!prepared) {
    stop("a region is not interpreted: " + error);
  }
  std::vector<rt::AlignedBytes> memory;
  auto allocate = [&](int64_t bytes) {
    memory.push_back(std::move(*rt::AlignedBytes::allocate(bytes)));
    return memory.back().data();
  };
  std::vector<const void *> from;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    auto bytes = storedFrom(call.operands[o], operands[o].values);
    std::byte *data = allocate(static_cast<int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), data);
    from.push_back(data);
  }
  std::vector<void *> to;
  for (const rt::TensorInfo &result : call.results) {
    to.push_back(allocate(result.bytes()));
  }
  rt::LaunchContext context{from, to,
                            allocate(kernel->query(site).workspaceBytes)};
  if (!prepared->launch(context).isOk()) {
    stop("a region is not interpreted");
  }
  std::vector<std::vector<double>> results;
  for (size_t r = 0; r < to.size(); ++r) {
    results.push_back(
        numbersFrom(call.results[r], static_cast<const std::byte *>(to[r])));
  }
  return results;
}

static bool areSame(const std::vector<double> &a,
                    const std::vector<double> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) {
                      return x == y || (std::isnan(x) && std::isnan(y));
                    });
}

namespace {
/// How a type of floats rounds.
struct Format {
  int bits, leastExponent;
  double most; ///< What is above it is infinite.
};
} // namespace

static Format formatOf(DType type) {
  return type == DType::F16    ? Format{10, -14, 65504}
         : type == DType::BF16 ? Format{7, -126, 0x1.fep127}
                               : Format{23, -126, mostFloat};
}

/// Half a unit in the last place of `most`, of the least exponent at least.
static double halfUnit(double most, DType type) {
  Format format = formatOf(type);
  int exponent = std::max(std::ilogb(most), format.leastExponent);
  return std::ldexp(0.5, exponent - format.bits);
}

/// Lets those who read `value` see it as rounded to `type`.
static void addRounding(Bounded &value, DType type) {
  if (type != DType::F16 && type != DType::BF16) {
    return;
  }
  for (size_t i = 0; i < value.values.size(); ++i) {
    double most = std::fabs(value.values[i]) + value.errors[i];
    if (std::isfinite(most)) {
      double half = halfUnit(most, type);
      value.errors[i] = most + half > formatOf(type).most
                            ? unknownError
                            : value.errors[i] + half;
    }
  }
}

std::vector<Bounded>
divisi::test::computeBounded(const RegionCall &call,
                             const std::vector<std::vector<double>> &operands) {
  RegionCall plain = plainCall(call);
  std::vector<Bounded> values;
  for (size_t o = 0; o < operands.size(); ++o) {
    values.push_back({plain.operands[o], operands[o],
                      std::vector<double>(operands[o].size())});
  }
  std::vector<Bounded> ends; // as results, which isWithin() rounds
  for (auto [number, part] : llvm::enumerate(plain.region.parts)) {
    std::vector<const Bounded *> read;
    for (int operand : part.operands) {
      read.push_back(&values[operand]);
    }
    ends.push_back(computePart(part, read));
    values.push_back(ends.back());
    addRounding(values.back(), call.region.parts[number].results[0].type);
  }
  std::vector<std::vector<double>> all = interpret(plain, values);
  std::vector<Bounded> results;
  for (size_t r = 0; r < all.size(); ++r) {
    int number = plain.region.results[r];
    bool isMade = size_t(number) >= operands.size();
    results.push_back(isMade ? ends[size_t(number) - operands.size()]
                             : values[number]);
    if (!areSame(all[r], results.back().values)) {
      stop("a region is not what its parts are:\n" + call.describe());
    }
  }
  return results;
}

bool divisi::test::isWithin(double got, double value, double error,
                            DType type) {
  if (!std::isfinite(error)) {
    return true;
  }
  if (std::isnan(value) || std::isinf(value) || type == DType::Bool) {
    return got == value || (std::isnan(got) && std::isnan(value));
  }
  if (type == DType::I8 || type == DType::U8) {
    return std::fabs(got - value) <= error;
  }
  if (value == 0 && error == 0) {
    return got == 0 && std::signbit(got) == std::signbit(value);
  }
  double most = std::fabs(value) + error, half = halfUnit(most, type);
  bool overflows = most + half > formatOf(type).most && std::isinf(got) &&
                   std::signbit(got) == std::signbit(value);
  return overflows || std::fabs(got - value) <= error + half;
}
