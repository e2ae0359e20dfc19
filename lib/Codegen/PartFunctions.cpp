//===- PartFunctions.cpp - What operators are of elements -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/PartFunctions.h"
#include "divisi/runtime/kernels/Element.h"

#include <algorithm>
#include <map>

using namespace divisi;

std::optional<Function> divisi::functionOf(const rt::RegionPart &part) {
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
      {"nn.sin", Sin},
      {"nn.cos", Cos},
      {"nn.tan", Tan},
      {"nn.asin", Asin},
      {"nn.acos", Acos},
      {"nn.atan", Atan},
      {"nn.sinh", Sinh},
      {"nn.cosh", Cosh},
      {"nn.asinh", Asinh},
      {"nn.acosh", Acosh},
      {"nn.atanh", Atanh},
      {"nn.pow", Pow},
  };
  static const std::map<std::string, Function, std::less<>> comparisons = {
      {"eq", Eq}, {"ne", Ne}, {"lt", Lt}, {"le", Le}, {"gt", Gt}, {"ge", Ge}};
  if (part.op == "nn.gelu") {
    return part.attributes.getString("approximate") == "tanh" ? GeluTanh
                                                              : GeluErf;
  }
  if (part.op == "nn.mod") {
    return part.attributes.getInt("fmod") != 0 ? FMod : FloorMod;
  }
  if (part.op == "nn.shift") {
    return part.attributes.getInt("left") != 0 ? ShiftLeft : ShiftRight;
  }
  bool compares = part.op == "nn.compare";
  const auto &table = compares ? comparisons : functions;
  auto found =
      table.find(compares ? part.attributes.getString("predicate") : part.op);
  return found == table.end() ? std::nullopt : std::optional(found->second);
}

/// The types of elements that the function takes.
static unsigned typesOf(Function function) {
  using enum Function;
  switch (function) {
  case Add:
  case Sub:
  case Mul:
  case Div:
  case Neg:
  case Abs:
  case Sign:
  case Relu:
  case Pow:
  case FMod:
  case FloorMod:
    return rt::Floats | rt::Ints;
  case Not:
  case And:
  case Or:
  case Xor:
    return rt::Logical;
  case Max:
  case Min:
  case Eq:
  case Ne:
  case Lt:
  case Le:
  case Gt:
  case Ge:
    return rt::Floats | rt::Ints | rt::Bools;
  case ShiftLeft:
  case ShiftRight:
    return rt::Ints;
  default:
    return rt::Floats;
  }
}

bool divisi::areOf(unsigned set, const std::vector<rt::DType> &types) {
  return std::all_of(types.begin(), types.end(), [&](rt::DType type) {
    return (rt::typeBit(type) & set) != 0 &&
           computedAs(type) == computedAs(types.front());
  });
}

bool divisi::takes(Function function, std::vector<rt::DType> types) {
  if (function != Function::Select) {
    return areOf(typesOf(function), types);
  }
  bool chooses = types.front() == rt::DType::Bool;
  types.erase(types.begin());
  return chooses && areOf(rt::AllTypes & ~rt::typeBit(rt::DType::Field), types);
}
