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
    {"Abs", "abs"},         {"Ceil", "ceil"}, {"Cos", "cos"},
    {"Erf", "erf"},         {"Exp", "exp"},   {"Floor", "floor"},
    {"IsNaN", "is_nan"},    {"Log", "log"},   {"Neg", "neg"},
    {"Not", "not"},         {"Relu", "relu"}, {"Round", "round"},
    {"Sigmoid", "sigmoid"}, {"Sign", "sign"}, {"Sin", "sin"},
    {"Sqrt", "sqrt"},       {"Tanh", "tanh"},
};
static constexpr Pair kBinary[] = {
    {"Add", "add"}, {"And", "and"}, {"Div", "div"}, {"Max", "max"},
    {"Min", "min"}, {"Mul", "mul"}, {"Or", "or"},   {"Sub", "sub"},
    {"Sum", "add"}, {"Xor", "xor"},
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

static void importCast(NodeImporter &node) {
  int64_t to = node.getInt("to");
  auto type = convertType(static_cast<int>(to));
  if (!type) {
    return node.unsupported("it casts to the element type number " +
                            std::to_string(to) +
                            ", which Divisi does not have");
  }
  node.setResult(0, node.emitter().cast(node.input(0), *type));
}

static void importCastLike(NodeImporter &node) {
  node.setResult(0, node.emitter().cast(node.input(0), node.input(1)->type));
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

/// Inference only: the identity, whose mask is all true.
static void importDropout(NodeImporter &node) {
  if (node.hasInput(2) && node.constantNumber(2).value_or(0) != 0) {
    return node.unsupported("it is in training mode; export the model for "
                            "inference (training steps come from --train)");
  }
  node.setResult(0, node.input(0));
  if (node.wantsOutput(1)) {
    Tensor yes = node.emitter().scalar(DType::Bool, 1);
    node.setResult(1, node.emitter().expand(yes, node.input(0)->dims));
  }
}

static void importIsInf(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
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
static void importPow(NodeImporter &node) {
  Emitter &emit = node.emitter();
  Tensor base = node.input(0), exponent = node.input(1);
  DType type = base->type;
  if (base->type != exponent->type) {
    base = emit.cast(base, DType::F32);
    exponent = emit.cast(exponent, DType::F32);
  }
  node.setResult(0, emit.cast(emit.binary("pow", base, exponent), type));
}

static void importReciprocal(NodeImporter &node) {
  Emitter &emit = node.emitter();
  node.setResult(0, emit.binary("div", emit.scalar(node.input(0)->type, 1),
                                node.input(0)));
}

/// max(x, 0) + log(1 + exp(-|x|)): the plain formula overflows.
static void importSoftplus(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  Tensor tail = emit.unary("exp", emit.unary("neg", emit.unary("abs", x)));
  tail = emit.unary("log", emit.binary("add", emit.scalar(x->type, 1), tail));
  node.setResult(0, emit.binary("add", emit.unary("relu", x), tail));
}

static void importTan(NodeImporter &node) {
  Emitter &emit = node.emitter();
  node.setResult(0, emit.binary("div", emit.unary("sin", node.input(0)),
                                emit.unary("cos", node.input(0))));
}

static void importWhere(NodeImporter &node) {
  node.setResult(
      0, node.emitter().select(node.input(0), node.input(1), node.input(2)));
}

llvm::ArrayRef<ImporterRow> divisi::elementwiseImporters() {
  static const ImporterRow kRows[] = {
      {"Abs", importUnary},
      {"Add", importBinary},
      {"And", importBinary},
      {"Cast", importCast},
      {"CastLike", importCastLike},
      {"Ceil", importUnary},
      {"Clip", importClip},
      {"Cos", importUnary},
      {"Div", importBinary},
      {"Dropout", importDropout},
      {"Equal", importCompare},
      {"Erf", importUnary},
      {"Exp", importUnary},
      {"Floor", importUnary},
      {"Gelu", importGelu},
      {"Greater", importCompare},
      {"GreaterOrEqual", importCompare},
      {"Identity", importIdentity},
      {"IsInf", importIsInf},
      {"IsNaN", importUnary},
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
      {"Sigmoid", importUnary},
      {"Sign", importUnary},
      {"Sin", importUnary},
      {"Softplus", importSoftplus},
      {"Sqrt", importUnary},
      {"Sub", importBinary},
      {"Sum", importBinary},
      {"Tan", importTan},
      {"Tanh", importUnary},
      {"Where", importWhere},
      {"Xor", importBinary},
  };
  return kRows;
}
