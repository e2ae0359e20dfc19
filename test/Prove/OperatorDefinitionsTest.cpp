//===- OperatorDefinitionsTest.cpp - Definitions and kernels --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each operator of whose elements the prover has a definition, or a law, the
// element that these make is what the reference kernel computes, on random
// numbers at all places of small tensors; so is the shape.
//
//===----------------------------------------------------------------------===//

#include "test/Rules/ParsedRules.h"

#include "divisi/Prove/ElementProver.h"
#include "divisi/Rules/Instance.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <set>

using namespace divisi;
using namespace divisi::rewrite;

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

namespace {

/// What instances are made of.
struct Operand {
  const char *name, *type, *dims;
};

} // namespace

static constexpr Operand operands[] = {
    {"x", "f64", "[2, 3, 4]"},    {"y", "f64", "[1, 3, 4]"},
    {"w", "f64", "[2, 1, 2]"},    {"k", "f64", "[2, 3, 2]"},
    {"d", "f64", "[3, 1, 2]"},    {"r", "f64", "[2, 3, 2]"},
    {"q", "f64", "[1, 4, 3, 2]"}, {"u", "f64", "[1, 4, 4, 2]"},
    {"v", "f64", "[1, 2, 4, 2]"}, {"f", "f64", "[1, 3, 1]"},
    {"c", "bool", "[2, 3, 4]"},   {"e", "bool", "[1, 3, 4]"},
    {"m", "i32", "[2, 3, 4]"},    {"n", "i32", "[1, 3, 4]"},
    {"b", "i8", "[2, 3, 4]"},     {"z", "i8", "[1, 3, 1]"},
    {"i", "i64", "[2, 3]"},       {"l", "i64", "[2, 3, 4]"},
    {"o", "i64", "[]"},
};

/// Whether the operand's name stands among those of `op`.
static bool reads(const std::string &op, const std::string &name) {
  return op.find("(" + name + ",") != std::string::npos ||
         op.find("(" + name + ")") != std::string::npos ||
         op.find(" " + name + ",") != std::string::npos ||
         op.find(" " + name + ")") != std::string::npos;
}

/// A rule whose source is the operator alone.
static std::string ruleOf(const std::string &op, bool isTest) {
  std::string text = "rule r {\n  summary \"\"\n";
  for (const Operand &operand : operands) {
    if (reads(op, operand.name)) {
      text += "  activation " + std::string(operand.name) + ": " +
              operand.type + operand.dims + "\n";
    }
  }
  std::string again = isTest ? "not" : "neg";
  return text + "  source {\n    result = " + op +
         "\n    return result\n  }\n" + "  target {\n    t = " + op +
         "\n    s = " + again + "(t)\n    result = " + again +
         "(s)\n    return result\n  }\n" + "  class bit-exact\n}\n";
}

/// A function of scalars by the reference kernel; nothing if it has none.
static std::optional<double> evaluateScalars(const std::string &op,
                                             const rt::Attributes &attributes,
                                             rt::DType from, rt::DType to,
                                             const std::vector<double> &x) {
  std::vector<rt::HostTensor> tensors;
  std::vector<rt::TensorInfo> infos;
  std::vector<const void *> data;
  for (size_t i = 0; i != x.size(); ++i) {
    bool isZero = op == "nn.quantize" && i == 2;
    auto wide = rt::HostTensor::zeros(rt::DType::F64, {});
    wide->as<double>()[0] = x[i];
    tensors.push_back(*wide->castTo(isZero ? to : from));
    infos.push_back(rt::TensorInfo::whole(tensors[i].type(), {}));
  }
  for (const rt::HostTensor &tensor : tensors) {
    data.push_back(tensor.data());
  }
  auto result = rt::HostTensor::zeros(to, {});
  rt::TensorInfo info = rt::TensorInfo::whole(to, {});
  void *at = result->data();
  Status status =
      rt::evaluate(op, attributes, infos, data, {&info, 1}, {&at, 1});
  return status.isOk() ? std::optional(result->floatAt(0)) : std::nullopt;
}

/// "tanh of f64", "cast of f64 to i32", and "exp" and "log" of reals.
static std::optional<double> functionBy(const std::string &name,
                                        std::vector<double> x) {
  size_t of = name.find(" of "), to = name.find(" to ");
  std::string op = "nn." + name.substr(0, of);
  if (of == std::string::npos) {
    return name == "exp" || name == "log"
               ? evaluateScalars(op, {}, rt::DType::F64, rt::DType::F64, x)
               : std::nullopt;
  }
  bool isCast = to != std::string::npos;
  auto from = rt::parseDType(name.substr(of + 4, isCast ? to - of - 4 : to));
  auto result = isCast ? rt::parseDType(name.substr(to + 4)) : from;
  rt::Attributes attributes;
  if (op == "nn.quantize") { // of a number that has been divided by the scale
    attributes = {{"axis", int64_t(0)}, {"block", int64_t(1)}};
    x.insert(x.begin() + 1, 1);
  }
  return from && result ? evaluateScalars(op, attributes, *from, *result, x)
                        : std::nullopt;
}

/// Small numbers of the operand's type: indices count within 2, from the end if
/// they are negative, and scales are positive.
static rt::HostTensor drawn(const Operand &operand, const TensorForm &form,
                            std::mt19937 &random) {
  auto tensor = rt::HostTensor::zeros(rt::DType::F64, form.dims);
  for (double &each : tensor->as<double>()) {
    each = form.type == rt::DType::Bool  ? double(random() % 2)
           : form.type == rt::DType::I64 ? double(random() % 4) - 2
           : operand.name[0] == 'f'      ? double(random() % 3 + 1) / 2
           : form.type == rt::DType::F64 ? double(random() % 15) / 2 - 3.5
                                         : double(random() % 9) - 4;
  }
  return *tensor->castTo(form.type);
}

namespace {

/// How many elements of an operator were compared, and how many have no
/// definition.
struct Compared {
  size_t elements = 0, open = 0;
};

} // namespace

/// Compares all elements of what the operator makes.
static Compared compareWithKernel(const std::string &op, bool isTest = false) {
  Compared counts;
  std::vector<Rule> rules = parsed(ruleOf(op, isTest));
  if (rules.empty()) {
    return counts;
  }
  const Rule &rule = rules[0];
  Instantiator instantiator;
  TypeBinding binding;
  TypeChoice types = typeChoices(rule)[0];
  for (const auto &[word, type] : types) {
    binding[word] = word;
  }
  auto symbolic = makeSymbolic(rule, {}, binding, instantiator);
  auto forms = Instantiator::variables(rule, {}, types);
  EXPECT_TRUE(symbolic) << op;
  EXPECT_TRUE(forms) << op;
  if (!symbolic || !forms) {
    return counts;
  }
  auto side = instantiator.instantiate(rule, rule.source, *forms, {}, types);
  EXPECT_TRUE(side) << op << ": " << side.status().message();
  if (!side) {
    return counts;
  }
  std::mt19937 random(7);
  std::vector<rt::HostTensor> inputs;
  for (const Operand &operand : operands) {
    if (reads(op, operand.name)) {
      inputs.push_back(drawn(operand, (*forms)[inputs.size()], random));
    }
  }
  auto results = evaluate(*side, inputs);
  EXPECT_TRUE(results) << op << results.status().message();
  if (!results) {
    return counts;
  }
  const rt::HostTensor &result = (*results)[0];
  auto elements = [&](size_t variable, const std::vector<int64_t> &index) {
    int64_t flat = 0;
    for (size_t i = 0; i != index.size(); ++i) {
      flat = flat * inputs[variable].dims()[i] + index[i];
    }
    return inputs[variable].floatAt(flat);
  };
  EXPECT_EQ(shapeByElements(*symbolic), result.dims()) << op;
  for (int64_t flat = 0; flat != result.count(); ++flat) {
    std::vector<int64_t> index(result.dims().size());
    int64_t rest = flat;
    for (size_t i = index.size(); i-- != 0;) {
      index[i] = rest % result.dims()[i];
      rest /= result.dims()[i];
    }
    auto element = evaluateElement(*symbolic, index, elements, functionBy);
    double wanted = result.floatAt(flat);
    bool isSame =
        element && (std::abs(*element - wanted) <= 1e-9 || *element == wanted ||
                    (std::isnan(*element) && std::isnan(wanted)));
    ++counts.elements;
    counts.open += !element;
    EXPECT_TRUE(isSame || !element)
        << op << " " << flat << ": " << *element << ", expected " << wanted;
  }
  return counts;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Convolutions of x with k, or with d in groups, and its windows.
static std::vector<std::string> windowOperators() {
  std::vector<std::string> all;
  for (int stride : {1, 2}) {
    for (int dilation : {1, 2}) {
      for (int pad : {0, 1, 2}) {
        auto window = "strides = [" + std::to_string(stride) +
                      "], dilations = [" + std::to_string(dilation) +
                      "], pads_lo = [" + std::to_string(pad) +
                      "], pads_hi = [1]";
        all.push_back("conv(x, k) {" + window + ", groups = 1}");
        all.push_back("conv(x, d) {" + window + ", groups = 3}");
        auto pool = "kernel = [1, 2, 2], strides = [1, 1, " +
                    std::to_string(stride) + "], dilations = [1, 1, " +
                    std::to_string(dilation) + "], pads_lo = [0, 0, " +
                    std::to_string(pad) + "], pads_hi = [0, 0, 1]}";
        all.push_back("pool_sum(x) {" + pool);
        all.push_back("pool_max(x) {" + pool);
      }
    }
  }
  return all;
}

/// Products of tensors, and what moves elements.
static std::vector<std::string> movingOperators() {
  std::vector<std::string> all = {
      R"(matmul(x, y) {labels = "abc,dbc->ad"})",
      R"(matmul(x, w) {labels = "abc,ade->bcde"})",
      R"(matmul(x, y) {labels = "abc,dbc->badc"})",
      "concat(x, y) {axis = 0}",
      "concat(x, x, y) {axis = 0}",
      "concat(x, x) {axis = 2}",
      "broadcast(y) {dims = [0, 2, 3]} : f64[2, 2, 3, 4]",
      "reshape(x) : f64[4, 3, 2]",
      "reshape(x) : f64[2, 2, 1, 2, 3]",
      "reshape(x) : f64[3, 4, 2]",
      "reshape(y) : f64[3, 1, 2, 2]"};
  for (const char *permutation :
       {"0, 1, 2", "0, 2, 1", "1, 0, 2", "1, 2, 0", "2, 0, 1", "2, 1, 0"}) {
    all.push_back("transpose(x) {permutation = [" + std::string(permutation) +
                  "]}");
  }
  for (int start : {0, 1, 2}) {
    for (int step : {1, 2, 3}) {
      auto from = std::to_string(start), by = std::to_string(step);
      all.push_back("slice(x) {starts = [0, 0, " + from +
                    "], limits = [2, 3, 4], steps = [1, 1, " + by + "]}");
      all.push_back("slice(x) {starts = [1, 2, " + from +
                    "], limits = [-1, 0, -1], steps = [-1, -1, -" + by + "]}");
    }
  }
  for (int lo : {-1, 0, 2}) {
    for (int hi : {-1, 0, 1}) {
      all.push_back("pad(x) {lo = [" + std::to_string(lo) + ", 0, " +
                    std::to_string(hi) + "], hi = [1, 0, " +
                    std::to_string(hi) + "], value = 1.5}");
    }
  }
  return all;
}

/// Sums, products, extremes and weighted means.
static std::vector<std::string> foldingOperators() {
  std::vector<std::string> all;
  for (const char *kind : {"sum", "prod", "max", "min"}) {
    for (const char *axes : {"0", "1", "2", "0, 2", "0, 1, 2"}) {
      all.push_back("reduce(x) {kind = \"" + std::string(kind) +
                    "\", axes = [" + axes + "]}");
    }
  }
  for (int axis : {0, 1, 2}) {
    for (const char *flags : {"exclusive = false, reverse = false",
                              "exclusive = true, reverse = false",
                              "exclusive = false, reverse = true",
                              "exclusive = true, reverse = true"}) {
      all.push_back("cumulate(x) {axis = " + std::to_string(axis) +
                    ", kind = \"sum\", " + flags + "}");
      all.push_back("cumulate(x) {axis = " + std::to_string(axis) +
                    ", kind = \"prod\", " + flags + "}");
    }
  }
  for (const char *kind : {"sum", "prod", "max", "min"}) {
    all.push_back("reduce(m) {kind = \"" + std::string(kind) +
                  "\", axes = [1]}");
  }
  for (const char *kind : {"and", "or"}) {
    all.push_back("reduce(c) {kind = \"" + std::string(kind) +
                  "\", axes = [0, 2]}");
  }
  for (const char *heads : {"u", "v"}) {
    all.push_back("attention(q, " + std::string(heads) + ", " + heads +
                  ") {scale = 0.5, softcap = 0.0, left = -1, right = -1, "
                  "offset = 0, labels = \"bhsd,bhtd,bhte->bhse\", nan = true}");
  }
  return all;
}

/// By integers that are elements, and to codes and back.
static std::vector<std::string> indexingOperators() {
  std::vector<std::string> all;
  for (int axis : {0, 1, 2}) {
    auto at = "{axis = " + std::to_string(axis);
    all.push_back("iota() " + at + "} : i64[2, 3, 4]");
    all.push_back("gather(x, i) " + at + ", batch_dims = 0}");
    all.push_back("take_along(x, l) " + at + "}");
  }
  all.push_back("gather(x, i) {axis = 1, batch_dims = 1}");
  all.push_back("insert(x, r, o) {axis = 2}");
  all.push_back("insert(x, y, o) {axis = 0}");
  all.push_back("quantize(x, f) {axis = 0, block = 1} : i8[2, 3, 4]");
  all.push_back("quantize(x, f, z) {axis = 0, block = 1} : i8[2, 3, 4]");
  all.push_back("dequantize(b, f) {axis = 0, block = 1}");
  all.push_back("dequantize(b, f, z) {axis = 0, block = 1}");
  return all;
}

TEST(OperatorDefinitionsTest, AreWhatKernelsCompute) {
  std::vector<std::string> defined = operatorsByElements();
  std::set<std::string> open(defined.begin(), defined.end());
  size_t count = 0;
  std::vector<std::string> operators;
  for (const auto &some : {windowOperators(), movingOperators(),
                           foldingOperators(), indexingOperators()}) {
    operators.insert(operators.end(), some.begin(), some.end());
  }
  for (const std::string &op : operators) {
    Compared counts = compareWithKernel(op, reads(op, "c"));
    EXPECT_GT(counts.elements, 0u) << op;
    EXPECT_EQ(counts.open, 0u) << op << " has no definition";
    open.erase(op.substr(0, op.find('(')));
    ++count;
  }
  EXPECT_GT(count, 110u);
  EXPECT_TRUE(open.empty()) << *open.begin() << " is compared with no kernel";
}

/// An elementwise operator on operands of one of these names.
static std::string elementwise(const rt::ScalarFacts &row, const char *first,
                               const char *second) {
  std::string op(row.op.substr(3));
  op += row.function == rt::ScalarFunction::Select
            ? "(c, " + std::string(first) + ", " + second
            : "(" + std::string(first) +
                  (row.operands == 2 ? std::string(", ") + second : "");
  bool isFlag = row.choice == "true" || row.choice == "false";
  std::string quote = isFlag ? "" : "\"";
  return op + ")" +
         (row.attribute.empty()
              ? ""
              : " {" + std::string(row.attribute) + " = " + quote +
                    std::string(row.choice) + quote + "}");
}

TEST(OperatorDefinitionsTest, OfScalarFunctionsAreWhatKernelsCompute) {
  std::set<std::string> open;
  size_t elements = 0;
  for (const rt::ScalarFacts &row : rt::scalarFacts) {
    if (row.op.empty() || row.function == rt::ScalarFunction::Cast) {
      continue;
    }
    for (auto [type, first, second] : {std::tuple(rt::DType::F64, "x", "y"),
                                       {rt::DType::I32, "m", "n"},
                                       {rt::DType::Bool, "c", "e"}}) {
      bool isTaken = (row.types & rt::typeBit(type)) != 0;
      bool isLogical =
          (row.types & rt::typeBit(rt::DType::F64)) == 0 || row.has(rt::Tests);
      if (!isTaken || (type == rt::DType::Bool && !isLogical)) {
        continue; // nn takes no booleans for numbers
      }
      bool isTest = row.has(rt::Tests) || type == rt::DType::Bool;
      std::string op = elementwise(row, first, second);
      Compared counts = compareWithKernel(op, isTest);
      EXPECT_GT(counts.elements, 0u) << op;
      elements += counts.elements - counts.open;
      if (counts.open != 0) {
        open.insert(std::string(row.op) + " of " +
                    std::string(rt::stringify(type)));
      }
    }
  }
  EXPECT_GT(elements, 1000u);
  // Of these nothing is known but the name, or what an axiom says.
  const std::set<std::string> named = {
      "nn.acos of f64",   "nn.acosh of f64",      "nn.div of i32",
      "nn.gelu of f64",   "nn.hard_swish of f64", "nn.is_inf of f64",
      "nn.is_nan of f64", "nn.mod of f64",        "nn.mod of i32",
      "nn.pow of f64",    "nn.pow of i32",        "nn.relu of f64",
      "nn.relu of i32",   "nn.rsqrt of f64",      "nn.shift of i32",
      "nn.sign of i32",   "nn.silu of f64"};
  EXPECT_EQ(open, named);
}

TEST(OperatorDefinitionsTest, OfCastsAreWhatKernelsCompute) {
  for (const char *op : {"cast(x) : i32[2, 3, 4]", "cast(x) : f32[2, 3, 4]",
                         "cast(m) : f64[2, 3, 4]", "cast(m) : i8[2, 3, 4]",
                         "cast(b) : u8[2, 3, 4]", "cast(c) : f64[2, 3, 4]"}) {
    Compared counts = compareWithKernel(op);
    EXPECT_GT(counts.elements, 0u) << op;
    EXPECT_EQ(counts.open, 0u) << op;
  }
}
