//===- RowProgram.cpp - What is computed of each row ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RowProgram.h"
#include "divisi/runtime/kernels/Element.h"
#include "lib/Codegen/TypedFunctions.h"

#include <algorithm>
#include <span>

using namespace divisi;

using Node = RowProgram::Node;
using Kind = Node::Kind;

namespace {

/// Appends the functions of operators.
class Builder {
public:
  int load(int tensor, rt::DType type, bool isStill) {
    Node node{Kind::Load};
    node.tensor = tensor;
    node.type = computedAs(type);
    node.isStill = isStill;
    return add(std::move(node));
  }
  int constant(double value, rt::DType type) {
    Node node{Kind::Constant};
    node.value = value;
    node.type = type;
    node.isStill = true;
    return add(std::move(node));
  }
  rt::DType typeOf(int node) const { return program.nodes[node].type; }
  int map(Function function, std::vector<int> operands);
  int cast(int x, rt::DType from, rt::DType to, bool saturates = true);
  int reduce(Kind kind, int operand);
  int dequantize(std::vector<int> operands);
  int quantize(std::vector<int> operands, rt::DType code);
  int softmax(const rt::Attributes &attributes, int x);
  int rounded(int x, rt::DType type);
  int normalize(const rt::Attributes &attributes, int x);

  RowProgram program;

private:
  int add(Node node) {
    program.nodes.push_back(std::move(node));
    return static_cast<int>(program.nodes.size()) - 1;
  }
};

} // namespace

static bool isByte(rt::DType type) {
  return type == rt::DType::I8 || type == rt::DType::U8;
}

rt::DType divisi::computedAs(rt::DType type) {
  return type == rt::DType::F16 || type == rt::DType::BF16 ? rt::DType::F32
                                                           : type;
}

int Builder::map(Function function, std::vector<int> operands) {
  Node node{Kind::Map, std::move(operands)};
  node.function = function;
  bool isTest = rt::factsOf(function).has(rt::Tests);
  node.type = isTest ? rt::DType::Bool : typeOf(node.operands.back());
  node.isStill = true;
  for (int operand : node.operands) {
    node.isStill &= program.nodes[operand].isStill;
    node.pass = std::max(node.pass, program.nodes[operand].pass);
  }
  return add(std::move(node));
}

/// What is stored in fewer bits than it is computed in is rounded then.
int Builder::cast(int x, rt::DType from, rt::DType to, bool saturates) {
  rt::DType type = computedAs(to);
  if (from == to || (type == rt::DType::F32 && typeOf(x) == type)) {
    return x;
  }
  int made = map(to != type   ? Function::CastToOdd
                 : !saturates ? Function::CastUnsaturated
                              : Function::Cast,
                 {x});
  program.nodes[made].type = type;
  return made;
}

/// x as a node of its own, which is rounded to `type`.
int Builder::rounded(int x, rt::DType type) {
  int made = map(Function::Mul, {x, constant(1, typeOf(x))});
  program.nodes[made].rounded = type;
  return made;
}

int Builder::reduce(Kind kind, int operand) {
  Node node{kind, {operand}};
  node.isStill = true;
  node.type = typeOf(operand);
  node.pass = program.nodes[operand].pass + 1;
  return add(std::move(node));
}

/// x, scale, and a zero point or none, to numbers of the scale's type. The
/// difference is exact.
int Builder::dequantize(std::vector<int> operands) {
  using enum Function;
  int scale = operands[1];
  operands.erase(operands.begin() + 1);
  rt::DType code = typeOf(operands[0]);
  bool isWide = rt::byteWidth(code) > 1;
  for (int &x : operands) {
    if (isByte(code) && typeOf(scale) == rt::DType::F32) {
      x = map(Widen, {x});
      program.nodes[x].type = rt::DType::F32;
    } else {
      x = cast(x, code, isWide ? rt::DType::I64 : typeOf(scale));
    }
  }
  int x = operands.size() > 1 ? map(Sub, operands) : operands[0];
  return map(Mul, {isWide ? cast(x, rt::DType::I64, typeOf(scale)) : x, scale});
}

/// The same, to numbers that `code` holds; 0 for NaN.
int Builder::quantize(std::vector<int> operands, rt::DType code) {
  using enum Function;
  rt::DType type = typeOf(operands[0]);
  bool isVector = isByte(code) && type == rt::DType::F32;
  int number = map(Div, {operands[0], operands[1]});
  if (!rt::isFloatType(code)) {
    number = map(Round, {number});
  }
  if (operands.size() > 2) {
    int zero =
        isVector ? map(Widen, {operands[2]}) : cast(operands[2], code, type);
    program.nodes[zero].type = type;
    number = map(Add, {number, zero});
  }
  bool isSmall = (rt::typeBit(code) & rt::SmallInts) != 0;
  if (!isVector && !isSmall) {
    return cast(number, type, code);
  }
  double count = double(int64_t(1) << rt::bitWidth(code));
  double least = isUnsigned(code) ? 0 : -count / 2;
  int clipped = map(Min, {map(Max, {number, constant(least, type)}),
                          constant(least + count - 1, type)});
  if (isSmall) {
    return cast(clipped, type, code);
  }
  int made =
      map(Narrow,
          {map(Select, {map(IsNan, {number}), constant(0, type), clipped})});
  program.nodes[made].type = code;
  return made;
}

int Builder::softmax(const rt::Attributes &attributes, int x) {
  using enum Function;
  int shifted = map(Sub, {x, reduce(Kind::Max, x)});
  int e = map(Exp, {shifted});
  int sum = reduce(Kind::Sum, e);
  return attributes.getInt("log") != 0
             ? map(Sub, {shifted, map(Log, {sum})})
             : map(Mul, {e, map(Div, {constant(1, typeOf(x)), sum})});
}

int Builder::normalize(const rt::Attributes &attributes, int x) {
  using enum Function;
  Node columns{Kind::Columns};
  columns.isStill = true;
  columns.type = typeOf(x);
  int count = add(std::move(columns));
  if (attributes.getInt("center") != 0) {
    x = map(Sub, {x, map(Div, {reduce(Kind::Sum, x), count})});
  }
  int variance = map(Div, {reduce(Kind::Sum, map(Mul, {x, x})), count});
  int epsilon = constant(attributes.getFloat("epsilon"), typeOf(x));
  return map(Mul, {x, map(Rsqrt, {map(Add, {variance, epsilon})})});
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// What quantizes or dequantizes.
static std::optional<int> addScaled(const rt::RegionPart &part,
                                    const std::vector<rt::DType> &read,
                                    std::vector<int> nodes, Builder &builder) {
  bool isQuantize = part.op == "nn.quantize";
  bool adds = part.op == "nn.add_dequantized";
  rt::DType code = isQuantize ? part.results[0].type : read[adds ? 1 : 0];
  rt::DType number = read[isQuantize || adds ? 0 : 1];
  bool isKnown = (rt::typeBit(code) & (rt::Ints | rt::Stored)) != 0 &&
                 (rt::typeBit(number) & rt::Floats) != 0;
  for (size_t i = 0; i < read.size(); ++i) {
    bool isCode =
        i == size_t(adds ? 3 : 2) || (!isQuantize && i == size_t(adds));
    isKnown &= read[i] == (isCode ? code : number);
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
  switch (rt::factsOf(node.function).cost) {
  case rt::FunctionCost::Few:
    return false;
  case rt::FunctionCost::Pair:
    return node.operands[0] != node.operands[1] &&
           !nodes[node.operands[0]].isStill && !nodes[node.operands[1]].isStill;
  case rt::FunctionCost::Many:
    return true;
  }
  return true;
}

/// Whether elements are of one type that is computed with, and is in `set`.
static bool areOf(unsigned set, std::span<const rt::DType> types) {
  return std::ranges::all_of(types, [&](rt::DType type) {
    return (rt::typeBit(type) & set) != 0 &&
           computedAs(type) == computedAs(types.front());
  });
}

/// Whether elements of these types are what the function takes.
static bool takes(Function function, std::span<const rt::DType> types) {
  constexpr unsigned field = rt::typeBit(rt::DType::Field);
  bool chooses = function == Function::Select;
  return (!chooses || types.front() == rt::DType::Bool) &&
         areOf(rt::typesOf(function) & ~field, types.subspan(chooses ? 1 : 0));
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
  if (rt::findRowOperator(part.op)) {
    if (!areOf(rt::Floats, read)) {
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
    return nodes[0];
  }
  if (part.op == "nn.cast") {
    return builder.cast(nodes[0], read[0], part.results[0].type,
                        part.attributes.getInt("saturate", 1) != 0);
  }
  const rt::ScalarFacts *facts = rt::findFunction(part.op, part.attributes);
  if (!facts || !takes(facts->function, read)) {
    return std::nullopt;
  }
  return builder.map(facts->function, std::move(nodes));
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

bool RowProgram::isForVectors() const {
  auto isPlain = [](rt::DType type) {
    return type == rt::DType::F32 || type == rt::DType::Bool;
  };
  return std::all_of(nodes.begin(), nodes.end(), [&](const Node &node) {
    bool isMap = node.kind == Kind::Map;
    bool isCode =
        isByte(node.type) && (!isMap || node.function == Function::Narrow);
    bool takesCode = isMap && node.function == Function::Widen;
    return (isPlain(node.type) || isCode) &&
           (!isMap || (rt::factsOf(node.function).has(rt::ForVectors) &&
                       (takesCode || isPlain(operandType(node)))));
  });
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
    values.push_back(builder.load(static_cast<int>(o), site.operands[o].type,
                                  nest.tensors[o].strides.back() == 0));
    if (site.operands[o].type == rt::DType::Field) {
      return std::nullopt;
    }
  }
  for (const rt::RegionPart &part : site.region->parts) {
    size_t before = builder.program.nodes.size();
    std::optional<int> value = addPart(part, types, values, builder);
    if (!value) {
      return std::nullopt;
    }
    rt::DType type = part.results[0].type;
    if (computedAs(type) != type) {
      // A value of others is that type already, or cast to it.
      if (size_t(*value) >= before) {
        builder.program.nodes[*value].rounded = type;
      } else if (types[part.operands[0]] != type) {
        value = builder.rounded(*value, type);
      }
    }
    types.push_back(type);
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
