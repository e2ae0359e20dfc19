//===- RowProgram.cpp - What is computed of each row ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RowProgram.h"

#include <algorithm>
#include <map>

using namespace divisi;

using Node = RowProgram::Node;
using Kind = Node::Kind;

namespace {

/// Appends the functions of operators.
class Builder {
public:
  int load(int tensor, bool isStill) {
    Node node{Kind::Load};
    node.tensor = tensor;
    node.isStill = isStill;
    return add(std::move(node));
  }
  int constant(double value) {
    Node node{Kind::Constant};
    node.value = value;
    node.isStill = true;
    return add(std::move(node));
  }
  int map(Function function, std::vector<int> operands);
  int reduce(Kind kind, int operand);
  int dequantize(const std::vector<int> &operands);
  int quantize(const std::vector<int> &operands, rt::DType code);
  int softmax(const rt::Attributes &attributes, int x);
  int normalize(const rt::Attributes &attributes, int x);

  RowProgram program;

private:
  int add(Node node) {
    program.nodes.push_back(std::move(node));
    return static_cast<int>(program.nodes.size()) - 1;
  }
};

} // namespace

int Builder::map(Function function, std::vector<int> operands) {
  Node node{Kind::Map, std::move(operands)};
  node.function = function;
  node.isStill = true;
  for (int operand : node.operands) {
    node.isStill &= program.nodes[operand].isStill;
    node.pass = std::max(node.pass, program.nodes[operand].pass);
  }
  return add(std::move(node));
}

int Builder::reduce(Kind kind, int operand) {
  Node node{kind, {operand}};
  node.isStill = true;
  node.pass = program.nodes[operand].pass + 1;
  return add(std::move(node));
}

/// x, scale, and a zero point or none.
int Builder::dequantize(const std::vector<int> &operands) {
  using enum Function;
  int x =
      operands.size() > 2 ? map(Sub, {operands[0], operands[2]}) : operands[0];
  return map(Mul, {x, operands[1]});
}

/// The same, to numbers that `code` holds; 0 for NaN.
int Builder::quantize(const std::vector<int> &operands, rt::DType code) {
  using enum Function;
  bool isSigned = code == rt::DType::I8;
  int number = map(Round, {map(Div, {operands[0], operands[1]})});
  if (operands.size() > 2) {
    number = map(Add, {number, operands[2]});
  }
  int clipped = map(Min, {map(Max, {number, constant(isSigned ? -128 : 0)}),
                          constant(isSigned ? 127 : 255)});
  return map(Select, {map(IsNan, {number}), constant(0), clipped});
}

int Builder::softmax(const rt::Attributes &attributes, int x) {
  using enum Function;
  int shifted = map(Sub, {x, reduce(Kind::Max, x)});
  int e = map(Exp, {shifted});
  int sum = reduce(Kind::Sum, e);
  return attributes.getInt("log") != 0
             ? map(Sub, {shifted, map(Log, {sum})})
             : map(Mul, {e, map(Div, {constant(1), sum})});
}

int Builder::normalize(const rt::Attributes &attributes, int x) {
  using enum Function;
  Node columns{Kind::Columns};
  columns.isStill = true;
  int count = add(std::move(columns));
  if (attributes.getInt("center") != 0) {
    x = map(Sub, {x, map(Div, {reduce(Kind::Sum, x), count})});
  }
  int variance = map(Div, {reduce(Kind::Sum, map(Mul, {x, x})), count});
  int epsilon = constant(attributes.getFloat("epsilon"));
  return map(Mul, {x, map(Rsqrt, {map(Add, {variance, epsilon})})});
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// What an operator is of elements; nothing if it has no such function.
static std::optional<Function> functionOf(const rt::RegionPart &part) {
  using enum Function;
  static const std::map<std::string, Function, std::less<>> functions = {
      {"nn.add", Add},
      {"nn.sub", Sub},
      {"nn.mul", Mul},
      {"nn.div", Div},
      {"nn.max", Max},
      {"nn.min", Min},
      {"nn.neg", Neg},
      {"nn.abs", Abs},
      {"nn.sign", Sign},
      {"nn.relu", Relu},
      {"nn.sqrt", Sqrt},
      {"nn.rsqrt", Rsqrt},
      {"nn.exp", Exp},
      {"nn.log", Log},
      {"nn.erf", Erf},
      {"nn.tanh", Tanh},
      {"nn.sigmoid", Sigmoid},
      {"nn.silu", Silu},
      {"nn.hard_swish", HardSwish},
      {"nn.floor", Floor},
      {"nn.ceil", Ceil},
      {"nn.round", Round},
      {"nn.not", Not},
      {"nn.and", And},
      {"nn.or", Or},
      {"nn.xor", Xor},
      {"nn.is_nan", IsNan},
      {"nn.is_inf", IsInf},
      {"nn.select", Select},
  };
  static const std::map<std::string, Function, std::less<>> comparisons = {
      {"eq", Eq}, {"ne", Ne}, {"lt", Lt}, {"le", Le}, {"gt", Gt}, {"ge", Ge}};
  if (part.op == "nn.gelu") {
    return part.attributes.getString("approximate") == "tanh" ? GeluTanh
                                                              : GeluErf;
  }
  bool compares = part.op == "nn.compare";
  const auto &table = compares ? comparisons : functions;
  auto found =
      table.find(compares ? part.attributes.getString("predicate") : part.op);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

/// Whether elements of these types are what the function takes: logical values
/// where it is for those, else floats that f32 holds.
static bool takes(Function function, std::vector<rt::DType> types) {
  using enum Function;
  if (function == Select) {
    if (types.front() != rt::DType::Bool) {
      return false;
    }
    types.erase(types.begin());
  }
  bool isLogical = function == Not || function == And || function == Or ||
                   function == Xor ||
                   (function == Select && types.front() == rt::DType::Bool);
  return std::all_of(types.begin(), types.end(), [&](rt::DType type) {
    return isLogical ? type == rt::DType::Bool
                     : type == rt::DType::F32 || type == rt::DType::F16 ||
                           type == rt::DType::BF16;
  });
}

static bool isByte(rt::DType type) {
  return type == rt::DType::I8 || type == rt::DType::U8;
}

/// What quantizes or dequantizes: numbers in f32, codes of 8 bits.
static std::optional<int> addScaled(const rt::RegionPart &part,
                                    const std::vector<rt::DType> &read,
                                    std::vector<int> nodes, Builder &builder) {
  bool isQuantize = part.op == "nn.quantize";
  bool adds = part.op == "nn.add_dequantized";
  rt::DType code = isQuantize ? part.results[0].type : read[adds ? 1 : 0];
  bool isKnown = isByte(code);
  for (size_t i = 0; i < read.size(); ++i) {
    bool isCode =
        i == size_t(adds ? 3 : 2) || (!isQuantize && i == size_t(adds));
    isKnown &= read[i] == (isCode ? code : rt::DType::F32);
  }
  if (!isKnown) {
    return std::nullopt;
  }
  if (!adds) {
    return isQuantize ? builder.quantize(nodes, code)
                      : builder.dequantize(nodes);
  }
  int sum = nodes.front();
  nodes.erase(nodes.begin());
  return builder.map(Function::Add, {sum, builder.dequantize(nodes)});
}

/// Whether to compute it again costs more than to read it.
static bool isCostly(const std::vector<Node> &nodes, const Node &node) {
  using enum Function;
  Function function = node.function;
  bool isArithmetic = function <= Min;
  return (isArithmetic && node.operands[0] != node.operands[1] &&
          !nodes[node.operands[0]].isStill &&
          !nodes[node.operands[1]].isStill) ||
         function == Exp || function == Log || function == Erf ||
         function == Tanh || function == Sigmoid || function == Silu ||
         function == GeluErf || function == GeluTanh;
}

/// The node of `part`, of which `values` has those that it reads.
static std::optional<int> addPart(const rt::RegionPart &part,
                                  const std::vector<rt::DType> &types,
                                  const std::vector<int> &values,
                                  Builder &builder) {
  std::vector<rt::DType> read;
  std::vector<int> nodes;
  for (int operand : part.operands) {
    read.push_back(types[operand]);
    nodes.push_back(values[operand]);
  }
  if (rt::isRowOperator(part.op)) {
    if (!takes(Function::Add, read)) {
      return std::nullopt;
    }
    return part.op == "nn.softmax"
               ? builder.softmax(part.attributes, nodes[0])
               : builder.normalize(part.attributes, nodes[0]);
  }
  if (part.op == "nn.quantize" || part.op == "nn.dequantize" ||
      part.op == "nn.add_dequantized") {
    return addScaled(part, read, std::move(nodes), builder);
  }
  if (part.op == "nn.transpose") { // the nest says where it is read
    bool isKnown = takes(Function::Add, read) || read[0] == rt::DType::Bool;
    return isKnown ? std::optional(nodes[0]) : std::nullopt;
  }
  if (part.op == "nn.cast") {
    read.push_back(part.results[0].type);
    return takes(Function::Add, read) ? std::optional(nodes[0]) : std::nullopt;
  }
  std::optional<Function> function = functionOf(part);
  if (!function || !takes(*function, read)) {
    return std::nullopt;
  }
  return builder.map(*function, std::move(nodes));
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

std::vector<int> RowProgram::reductionsOf(int pass) const {
  std::vector<int> found;
  for (size_t n = 0; n < nodes.size(); ++n) {
    bool isReduction = nodes[n].kind == Kind::Sum || nodes[n].kind == Kind::Max;
    if (isReduction && nodes[n].pass == pass + 1) {
      found.push_back(static_cast<int>(n));
    }
  }
  return found;
}

std::vector<int> RowProgram::rootsOf(int pass) const {
  std::vector<int> roots;
  for (int reduction : reductionsOf(pass)) {
    roots.push_back(nodes[reduction].operands[0]);
  }
  if (pass + 1 == passes) {
    roots.insert(roots.end(), results.begin(), results.end());
  }
  return roots;
}

/// Lets passes find costly values that an earlier one has computed.
static void keepCostly(RowProgram &program) {
  for (int pass = 0; pass < program.passes; ++pass) {
    std::vector<int> open = program.rootsOf(pass);
    std::vector<bool> isSeen(program.nodes.size());
    while (!open.empty()) {
      int number = open.back();
      open.pop_back();
      Node &node = program.nodes[number];
      if (node.isStill || isSeen[number]) {
        continue;
      }
      isSeen[number] = true;
      if (node.kind == Kind::Map && isCostly(program.nodes, node)) {
        if (node.keptBy < 0) {
          node.keptBy = pass;
        } else if (node.keptIn < 0) {
          node.keptIn = program.keptRows++;
        }
        if (node.keptBy < pass) {
          continue; // it is found: what it was made of is not needed
        }
      }
      open.insert(open.end(), node.operands.begin(), node.operands.end());
    }
  }
}

std::optional<RowProgram> RowProgram::of(const rt::CallSite &site,
                                         const rt::RowNest &nest) {
  Builder builder;
  std::vector<rt::DType> types;
  std::vector<int> values;
  for (size_t o = 0; o < site.operands.size(); ++o) {
    types.push_back(site.operands[o].type);
    values.push_back(
        builder.load(static_cast<int>(o), nest.tensors[o].strides.back() == 0));
  }
  for (const rt::RegionPart &part : site.region->parts) {
    std::optional<int> value = addPart(part, types, values, builder);
    if (!value) {
      return std::nullopt;
    }
    types.push_back(part.results[0].type);
    values.push_back(*value);
  }
  RowProgram program = std::move(builder.program);
  for (int result : site.region->results) {
    program.results.push_back(values[result]);
    program.passes =
        std::max(program.passes, program.nodes[values[result]].pass + 1);
  }
  keepCostly(program);
  return program;
}
