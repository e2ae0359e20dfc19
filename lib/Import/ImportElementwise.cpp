//===- ImportElementwise.cpp - Import of elementwise operators ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"
#include "OnnxTypes.h"

using namespace divisi;
using rt::DType;

//===----------------------------------------------------------------------===//
// One operator to one operator
//===----------------------------------------------------------------------===//

namespace {
struct Pair {
  const char *onnx;
  const char *nn;
};
} // namespace

static constexpr Pair kUnary[] = {
    {"Abs", "abs"},     {"Acos", "acos"},
    {"Acosh", "acosh"}, {"Asin", "asin"},
    {"Asinh", "asinh"}, {"Atan", "atan"},
    {"Atanh", "atanh"}, {"BitwiseNot", "not"},
    {"Ceil", "ceil"},   {"Cos", "cos"},
    {"Cosh", "cosh"},   {"Exp", "exp"},
    {"Floor", "floor"}, {"HardSwish", "hard_swish"},
    {"Log", "log"},     {"Neg", "neg"},
    {"Not", "not"},     {"Relu", "relu"},
    {"Round", "round"}, {"Sigmoid", "sigmoid"},
    {"Sign", "sign"},   {"Sin", "sin"},
    {"Sinh", "sinh"},   {"Sqrt", "sqrt"},
    {"Tan", "tan"},     {"Tanh", "tanh"},
};
static constexpr Pair kBinary[] = {
    {"Add", "add"},      {"And", "and"},        {"BitwiseAnd", "and"},
    {"BitwiseOr", "or"}, {"BitwiseXor", "xor"}, {"Div", "div"},
    {"Max", "max"},      {"Min", "min"},        {"Mul", "mul"},
    {"Or", "or"},        {"Sub", "sub"},        {"Sum", "add"},
    {"Xor", "xor"},
};
static constexpr Pair kCompare[] = {
    {"Equal", "eq"}, {"Greater", "gt"},     {"GreaterOrEqual", "ge"},
    {"Less", "lt"},  {"LessOrEqual", "le"},
};

static const char *lookUp(llvm::ArrayRef<Pair> table, const std::string &op) {
  for (const Pair &pair : table) {
    if (op == pair.onnx) {
      return pair.nn;
    }
  }
  return nullptr;
}

static void importUnary(NodeImporter &node) {
  node.setResult(0, node.emitter().unary(lookUp(kUnary, node.node().opType),
                                         node.input(0)));
}

/// Of integers, too: in floats, and cut after that.
static void importErf(NodeImporter &node) {
  Emitter &emit = node.emitter();
  DType type = node.input(0)->type;
  Tensor x = emit.cast(node.input(0), exactFloat(type));
  node.setResult(0, emit.cast(emit.unary("erf", x), type));
}

/// What is only stored is tested as f32, which has all of its numbers.
static Tensor testedInput(NodeImporter &node) {
  const Tensor &x = node.input(0);
  return rt::byteWidth(x->type) == 1 ? node.emitter().cast(x, DType::F32) : x;
}

static void importIsNaN(NodeImporter &node) {
  node.setResult(0, node.emitter().unary("is_nan", testedInput(node)));
}

/// Also the variadic ones, from left to right.
static void importBinary(NodeImporter &node) {
  Tensor result = node.input(0);
  for (size_t i = 1; i < node.numInputs(); ++i) {
    result = node.emitter().binary(lookUp(kBinary, node.node().opType), result,
                                   node.input(i));
  }
  node.setResult(0, result);
}

static void importCompare(NodeImporter &node) {
  node.setResult(0, node.emitter().compare(lookUp(kCompare, node.node().opType),
                                           node.input(0), node.input(1)));
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

/// Input 0 as a power of 2: the next one up, or half of it, which is the next
/// one down if that is none itself. Halves of both are exact in x's type.
static Tensor castToPower(NodeImporter &node, bool saturates) {
  Emitter &emit = node.emitter();
  std::string mode = node.getString("round_mode", "up");
  const Tensor &given = node.input(0);
  Tensor up = emit.cast(given, DType::F8E8M0, saturates);
  if (mode == "up") {
    return up;
  }
  if (mode != "down" && mode != "nearest") {
    node.invalid("attribute 'round_mode' is \"" + mode +
                 "\", expected \"up\", \"down\" or \"nearest\"");
    return up;
  }
  DType type = given->type == DType::F64 ? DType::F64 : DType::F32;
  Tensor x = emit.cast(given, type), high = emit.cast(up, type);
  Tensor least =
      mode == "down" ? high : emit.binary("mul", high, emit.scalar(type, 0.75));
  Tensor low = emit.binary("mul", high, emit.scalar(type, 0.5));
  Tensor power = emit.select(emit.compare("ge", x, least), high, low);
  return emit.cast(power, DType::F8E8M0);
}

/// Input 0 in elements of `type`, as the attributes say.
static Tensor castAs(NodeImporter &node, DType type) {
  bool saturates = node.getInt("saturate", 1) != 0;
  return type == DType::F8E8M0
             ? castToPower(node, saturates)
             : node.emitter().cast(node.input(0), type, saturates);
}

static void importCast(NodeImporter &node) {
  auto to = static_cast<int>(node.getInt("to"));
  auto type = convertType(to);
  if (!type) {
    return node.unsupported(
        "it casts to the element type " + onnxTypeName(to) +
        ", which Divisi does not support; export the model with " +
        knownTypes());
  }
  node.setResult(0, castAs(node, *type));
}

/// Between integers of one width a cast keeps the bits; a constant is read
/// anew.
static void importBitCast(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  auto type = convertType(static_cast<int>(node.getInt("to")));
  // Of i4 two have the bits of one i8, and of i2 four.
  if (!type || rt::bitWidth(*type) != rt::bitWidth(x->type)) {
    return node.unsupported(
        "it reads elements of type " + std::string(rt::stringify(x->type)) +
        " as the element type number " + std::to_string(node.getInt("to")) +
        "; expected one of the same width");
  }
  bool isIntegers = !rt::isFloatType(*type) && !rt::isFloatType(x->type) &&
                    *type != DType::Bool;
  if (isIntegers || *type == x->type) {
    return node.setResult(0, emit.cast(x, *type));
  }
  auto bytes = emit.bytesOf(x);
  if (!bytes) {
    return node.unsupported(
        "it reads the bits of floats, or as floats, of what "
        "is computed at run time");
  }
  auto result = rt::HostTensor::copyOf(*type, x->dims, bytes->bytes());
  if (!result) {
    return node.fail(result.status().code(), result.status().message());
  }
  node.setResult(0, emit.constant(*result));
}

static void importCastLike(NodeImporter &node) {
  node.setResult(0, castAs(node, node.input(1)->type));
}

static void importClip(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor result = node.input(0);
  bool isAttribute = node.version() < 11;
  Tensor lo = node.hasInput(1) ? node.input(1) : nullptr;
  Tensor hi = node.hasInput(2) ? node.input(2) : nullptr;
  if (isAttribute && node.hasAttribute("min")) {
    lo = emit.scalar(result->type, node.getFloat("min"));
  }
  if (isAttribute && node.hasAttribute("max")) {
    hi = emit.scalar(result->type, node.getFloat("max"));
  }
  if (lo) {
    result = emit.binary("max", result, lo);
  }
  // The maximum last: it wins where min > max.
  if (hi) {
    result = emit.binary("min", result, hi);
  }
  node.setResult(0, result);
}

static void importGelu(NodeImporter &node) {
  const Tensor &x = node.input(0);
  node.setResult(0,
                 node.emitter().emit(
                     "gelu", {x},
                     {{"approximate", node.getString("approximate", "none")}},
                     x->type, x->dims));
}

static void importIdentity(NodeImporter &node) {
  node.setResult(0, node.input(0));
}

/// Zeros with the probability `ratio`, and more of all others for it.
static void dropSome(NodeImporter &node, double ratio) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  if (!emit.trains()) {
    return node.unsupported(
        "it is in training mode; export the model for inference, or make a "
        "training step by --train");
  }
  if (!(ratio > 0 && ratio < 1)) {
    return node.invalid("its ratio is " + std::to_string(ratio) +
                        ", expected 0 to 1");
  }
  Tensor kept =
      emit.compare("ge", emit.random(x->dims), emit.scalar(DType::F32, ratio));
  Tensor more = emit.binary("mul", x, emit.scalar(x->type, 1 / (1 - ratio)));
  node.setResult(0, emit.select(kept, more, emit.scalar(x->type, 0)));
  node.setResult(1, kept);
}

/// Where nothing is dropped: the identity, whose mask is all true.
static void importDropout(NodeImporter &node) {
  bool trains = node.hasInput(2) && node.constantNumber(2).value_or(0) != 0;
  double ratio = 0.5;
  if (trains && node.hasInput(1)) {
    ratio = node.constantNumber(1).value_or(0);
  }
  if (trains && ratio != 0) {
    return dropSome(node, ratio);
  }
  node.setResult(0, node.input(0));
  if (node.wantsOutput(1)) {
    Tensor yes = node.emitter().scalar(DType::Bool, 1);
    node.setResult(1, node.emitter().expand(yes, node.input(0)->dims));
  }
}

static void importIsInf(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor x = testedInput(node);
  Tensor result = emit.unary("is_inf", x);
  Tensor zero = emit.scalar(x->type, 0);
  if (node.getInt("detect_negative", 1) == 0) {
    result = emit.binary("and", result, emit.compare("gt", x, zero));
  }
  if (node.getInt("detect_positive", 1) == 0) {
    result = emit.binary("and", result, emit.compare("lt", x, zero));
  }
  node.setResult(0, result);
}

static void importMean(NodeImporter &node) {
  Tensor sum = node.input(0);
  for (size_t i = 1; i < node.numInputs(); ++i) {
    sum = node.emitter().binary("add", sum, node.input(i));
  }
  double count = static_cast<double>(node.numInputs());
  node.setResult(0, node.emitter().binary(
                        "div", sum, node.emitter().scalar(sum->type, count)));
}

static void importMod(NodeImporter &node) {
  node.setResult(0, node.emitter().binary("mod", node.input(0), node.input(1),
                                          {{"fmod", node.getInt("fmod")}}));
}

/// The result has the base's type, and is computed in floats if either is one.
/// The type in which both are exact, or nearly: the power has the base's.
static DType powerType(DType base, DType exponent) {
  if (base == exponent) {
    return base;
  }
  bool isFloat = rt::isFloatType(base) || rt::isFloatType(exponent);
  bool isShort = rt::isFloatType(base) && base != DType::F64;
  return isShort && exponent != DType::F64 ? DType::F32
         : isFloat                         ? DType::F64
                                           : DType::I64;
}

static void importPow(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &base = node.input(0), &exponent = node.input(1);
  DType type = powerType(base->type, exponent->type);
  Tensor power =
      emit.binary("pow", emit.cast(base, type), emit.cast(exponent, type));
  node.setResult(0, emit.cast(power, base->type));
}

static void importReciprocal(NodeImporter &node) {
  Emitter &emit = node.emitter();
  node.setResult(0, emit.binary("div", emit.scalar(node.input(0)->type, 1),
                                node.input(0)));
}

/// Towards 0 by `bias` beyond `lambd` on either side, and 0 between. ONNX's
/// body makes both numbers integers for integers, which they need not be.
static void importShrink(NodeImporter &node) {
  Emitter &emit = node.emitter();
  DType type = node.input(0)->type, wide = exactFloat(type);
  Tensor x = emit.cast(node.input(0), wide);
  double limit = node.getFloat("lambd", 0.5);
  Tensor bias = emit.scalar(wide, node.getFloat("bias"));
  Tensor result = emit.scalar(wide, 0);
  result = emit.select(emit.compare("gt", x, emit.scalar(wide, limit)),
                       emit.binary("sub", x, bias), result);
  result = emit.select(emit.compare("lt", x, emit.scalar(wide, -limit)),
                       emit.binary("add", x, bias), result);
  node.setResult(0, emit.cast(result, type));
}

/// max(x, 0) + log(1 + exp(-|x|)): the plain formula overflows.
static void importSoftplus(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  Tensor tail = emit.unary("exp", emit.unary("neg", emit.unary("abs", x)));
  tail = emit.unary("log", emit.binary("add", emit.scalar(x->type, 1), tail));
  node.setResult(0, emit.binary("add", emit.unary("relu", x), tail));
}

static void importBitShift(NodeImporter &node) {
  bool left = node.getString("direction") == "LEFT";
  node.setResult(0, node.emitter().binary("shift", node.input(0), node.input(1),
                                          {{"left", int64_t{left}}}));
}

static void importWhere(NodeImporter &node) {
  node.setResult(
      0, node.emitter().select(node.input(0), node.input(1), node.input(2)));
}

llvm::ArrayRef<ImporterRow> divisi::elementwiseImporters() {
  static const ImporterRow kRows[] = {
      {"Abs", importUnary},
      {"Acos", importUnary},
      {"Acosh", importUnary},
      {"Add", importBinary},
      {"And", importBinary},
      {"Asin", importUnary},
      {"Asinh", importUnary},
      {"Atan", importUnary},
      {"Atanh", importUnary},
      {"BitCast", importBitCast},
      {"BitShift", importBitShift},
      {"BitwiseAnd", importBinary},
      {"BitwiseNot", importUnary},
      {"BitwiseOr", importBinary},
      {"BitwiseXor", importBinary},
      {"Cast", importCast},
      {"CastLike", importCastLike},
      {"Ceil", importUnary},
      {"Clip", importClip},
      {"Cos", importUnary},
      {"Cosh", importUnary},
      {"Div", importBinary},
      {"Dropout", importDropout},
      {"Equal", importCompare},
      {"Erf", importErf},
      {"Exp", importUnary},
      {"Floor", importUnary},
      {"Gelu", importGelu},
      {"Greater", importCompare},
      {"GreaterOrEqual", importCompare},
      {"HardSwish", importUnary},
      {"Identity", importIdentity},
      {"IsInf", importIsInf},
      {"IsNaN", importIsNaN},
      {"Less", importCompare},
      {"LessOrEqual", importCompare},
      {"Log", importUnary},
      {"Max", importBinary},
      {"Mean", importMean},
      {"Min", importBinary},
      {"Mod", importMod},
      {"Mul", importBinary},
      {"Neg", importUnary},
      {"Not", importUnary},
      {"Or", importBinary},
      {"Pow", importPow},
      {"Reciprocal", importReciprocal},
      {"Relu", importUnary},
      {"Round", importUnary},
      {"Shrink", importShrink},
      {"Sigmoid", importUnary},
      {"Sign", importUnary},
      {"Sin", importUnary},
      {"Sinh", importUnary},
      {"Softplus", importSoftplus},
      {"Sqrt", importUnary},
      {"Sub", importBinary},
      {"Sum", importBinary},
      {"Tan", importUnary},
      {"Tanh", importUnary},
      {"Where", importWhere},
      {"Xor", importBinary},
  };
  return kRows;
}
