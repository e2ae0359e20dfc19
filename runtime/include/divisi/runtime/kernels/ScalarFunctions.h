//===- ScalarFunctions.h - The table of functions of elements ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an elementwise operator computes of the elements at one place is one
// function, or one of a few that an attribute chooses among:
//
//   nn.exp                          Exp
//   nn.gelu {approximate = "tanh"}  GeluTanh
//
// All that is known of a function beside its kernel is a row of this table: the
// reference kernels, the generated code, regions and the backends read it. A
// function of elements is added by its name, its row, its kernel and its code.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_SCALARFUNCTIONS_H
#define DIVISI_RUNTIME_KERNELS_SCALARFUNCTIONS_H

#include "divisi/runtime/kernels/Attributes.h"
#include "divisi/runtime/kernels/Element.h"

#include <array>
#include <string_view>

namespace divisi::rt {

/// A function of elements, in the order of the table. Those of logical values
/// are bitwise, too.
enum class ScalarFunction : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Max,
  Min,
  Neg,
  Abs,
  Sign,
  Relu,
  Sqrt,
  Rsqrt,
  Exp,
  Log,
  Erf,
  Tanh,
  Sigmoid,
  Silu,
  HardSwish,
  GeluErf,
  GeluTanh,
  Floor,
  Ceil,
  Round,
  Not,
  And,
  Or,
  Xor,
  IsNan,
  IsInf,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Select,
  Widen,  ///< An integer of 8 bits as f32.
  Narrow, ///< The opposite, of a number that it holds.
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Asinh,
  Acosh,
  Atanh,
  Pow,
  FMod,     ///< With the dividend's sign.
  FloorMod, ///< With the divisor's sign.
  ShiftLeft,
  ShiftRight,
  Cast,            ///< As rt::convertElement().
  CastUnsaturated, ///< The same to f8, without saturation.
  CastToOdd,       ///< To f32 that is rounded once more, as rt::roundToOdd().
};

/// What computing a function again costs.
enum class FunctionCost : uint8_t {
  Few,  ///< A few instructions for each element.
  Pair, ///< The same, and two tensors are read.
  Many, ///< Many instructions for each element: those of an exponential.
};

/// What oneDNN has for a function of a value on its way to memory.
enum class PostOpKind : uint8_t {
  NoPostOp,
  Eltwise, ///< An algorithm of its own.
  Clip,    ///< A clip at a number, in which NaN is lost.
  Binary,  ///< An algorithm of the value and a tensor.
};

/// What the reference kernel makes of elements of the prime field.
enum class FieldMeaning : uint8_t {
  NoField, ///< It does not take them.
  Exact,   ///< What is true of small integers: the arithmetic is exact.
  Ordered, ///< It asks for an order, which arithmetic in the field breaks.
  Named,   ///< A value that depends on the names of functions alone: equals of
           ///< equals, and no other equation holds.
};

/// What else is true of a function.
enum ScalarTraits : unsigned {
  NoTraits = 0,
  ForVectors = 1, ///< Code is made for vectors of f32, too.
  Tests = 2,      ///< The result is a boolean.
  Commutes = 4,   ///< Its two operands may change places.
  // Of real numbers, as far as proofs need it:
  Odd = 8,        ///< f(-x) = -f(x)
  Even = 16,      ///< f(-x) = f(x)
  Ascending = 32, ///< f(x) <= f(y) where x <= y
  Integral = 64,  ///< f(x) is an integer
};

/// A row of the table.
struct ScalarFacts {
  ScalarFunction function; ///< Its number is that of the row.
  /// The operator that computes it, "nn.gelu"; empty: generated code alone
  /// does.
  std::string_view op;
  size_t operands; ///< How many it takes.
  /// The element types that its operands may have, all of one type. Of `Select`
  /// the first operand is a boolean.
  unsigned types;
  FieldMeaning field;
  FunctionCost cost;
  PostOpKind postOp;
  unsigned traits; ///< ScalarTraits
  /// The attribute of the operator that chooses the function by `choice`: a
  /// string, or "true" or "false" for a flag; empty: there is no other.
  std::string_view attribute = {};
  std::string_view choice = {};

  /// Whether it has the trait.
  constexpr bool has(ScalarTraits trait) const { return (traits & trait) != 0; }
};

/// Names of the columns' values without those of their types.
namespace scalar {
using enum ScalarFunction; ///< Column `function`.
using enum FieldMeaning;   ///< Column `field`.
using enum FunctionCost;   ///< Column `cost`.
using enum PostOpKind;     ///< Column `postOp`.

/// The table, a row for each function, in their order.
inline constexpr auto scalarFacts = std::to_array<ScalarFacts>({
    {Add, "nn.add", 2, Numbers, Exact, Pair, Binary, ForVectors | Commutes},
    {Sub, "nn.sub", 2, Numbers, Exact, Pair, Binary, ForVectors},
    {Mul, "nn.mul", 2, Numbers, Exact, Pair, Binary, ForVectors | Commutes},
    {Div, "nn.div", 2, Numbers, Exact, Pair, Binary, ForVectors},
    {Max, "nn.max", 2, Comparable, Ordered, Pair, Clip, ForVectors | Commutes},
    {Min, "nn.min", 2, Comparable, Ordered, Pair, Clip, ForVectors | Commutes},
    {Neg, "nn.neg", 1, Numbers, Exact, Few, NoPostOp, ForVectors},
    {Abs, "nn.abs", 1, Numbers, Ordered, Few, NoPostOp, ForVectors},
    {Sign, "nn.sign", 1, Numbers, Ordered, Few, NoPostOp,
     ForVectors | Odd | Ascending | Integral},
    {Relu, "nn.relu", 1, Numbers, Ordered, Few, Clip, ForVectors},
    {Sqrt, "nn.sqrt", 1, Reals, Named, Few, NoPostOp, ForVectors | Ascending},
    {Rsqrt, "nn.rsqrt", 1, Reals, Named, Few, NoPostOp, ForVectors},
    {Exp, "nn.exp", 1, Reals, Named, Many, NoPostOp, ForVectors | Ascending},
    {Log, "nn.log", 1, Reals, Named, Many, NoPostOp, ForVectors},
    {Erf, "nn.erf", 1, Reals, Named, Many, NoPostOp,
     ForVectors | Odd | Ascending},
    {Tanh, "nn.tanh", 1, Reals, Named, Many, Eltwise,
     ForVectors | Odd | Ascending},
    {Sigmoid, "nn.sigmoid", 1, Reals, Named, Many, Eltwise,
     ForVectors | Ascending},
    {Silu, "nn.silu", 1, Reals, Named, Many, Eltwise, ForVectors},
    {HardSwish, "nn.hard_swish", 1, Reals, Ordered, Few, Eltwise, ForVectors},
    {GeluErf, "nn.gelu", 1, Reals, Named, Many, Eltwise, ForVectors,
     "approximate", "none"},
    {GeluTanh, "nn.gelu", 1, Reals, Named, Many, Eltwise, ForVectors,
     "approximate", "tanh"},
    {Floor, "nn.floor", 1, Reals, Named, Few, NoPostOp,
     ForVectors | Ascending | Integral},
    {Ceil, "nn.ceil", 1, Reals, Named, Few, NoPostOp, ForVectors},
    {Round, "nn.round", 1, Reals, Named, Few, NoPostOp,
     ForVectors | Odd | Ascending | Integral},
    {Not, "nn.not", 1, Logical, NoField, Few, NoPostOp, ForVectors},
    {And, "nn.and", 2, Logical, NoField, Few, NoPostOp, ForVectors | Commutes},
    {Or, "nn.or", 2, Logical, NoField, Few, NoPostOp, ForVectors | Commutes},
    {Xor, "nn.xor", 2, Logical, NoField, Few, NoPostOp, ForVectors | Commutes},
    {IsNan, "nn.is_nan", 1, Reals, Exact, Few, NoPostOp, ForVectors | Tests},
    {IsInf, "nn.is_inf", 1, Reals, Exact, Few, NoPostOp, ForVectors | Tests},
    {Eq, "nn.compare", 2, Comparable, Exact, Few, NoPostOp,
     ForVectors | Tests | Commutes, "predicate", "eq"},
    {Ne, "nn.compare", 2, Comparable, Exact, Few, NoPostOp,
     ForVectors | Tests | Commutes, "predicate", "ne"},
    {Lt, "nn.compare", 2, Comparable, Ordered, Few, NoPostOp,
     ForVectors | Tests, "predicate", "lt"},
    {Le, "nn.compare", 2, Comparable, Ordered, Few, NoPostOp,
     ForVectors | Tests, "predicate", "le"},
    {Gt, "nn.compare", 2, Comparable, Ordered, Few, NoPostOp,
     ForVectors | Tests, "predicate", "gt"},
    {Ge, "nn.compare", 2, Comparable, Ordered, Few, NoPostOp,
     ForVectors | Tests, "predicate", "ge"},
    {Select, "nn.select", 3, AllTypes, Exact, Few, NoPostOp, ForVectors},
    {Widen, "", 1, Ints, NoField, Few, NoPostOp, ForVectors},
    {Narrow, "", 1, Floats, NoField, Few, NoPostOp, ForVectors},
    {Sin, "nn.sin", 1, Reals, Named, Few, NoPostOp, Odd},
    {Cos, "nn.cos", 1, Reals, Named, Few, NoPostOp, Even},
    {Tan, "nn.tan", 1, Reals, Named, Few, NoPostOp, Odd},
    {Asin, "nn.asin", 1, Reals, Named, Few, NoPostOp, Odd},
    {Acos, "nn.acos", 1, Reals, Named, Few, NoPostOp, NoTraits},
    {Atan, "nn.atan", 1, Reals, Named, Few, NoPostOp, Odd | Ascending},
    {Sinh, "nn.sinh", 1, Reals, Named, Few, NoPostOp, Odd | Ascending},
    {Cosh, "nn.cosh", 1, Reals, Named, Few, NoPostOp, Even},
    {Asinh, "nn.asinh", 1, Reals, Named, Few, NoPostOp, Odd | Ascending},
    {Acosh, "nn.acosh", 1, Reals, Named, Few, NoPostOp, NoTraits},
    {Atanh, "nn.atanh", 1, Reals, Named, Few, NoPostOp, Odd},
    {Pow, "nn.pow", 2, Numbers, Exact, Few, NoPostOp, NoTraits},
    {FMod, "nn.mod", 2, Numbers, Named, Few, NoPostOp, NoTraits, "fmod",
     "true"},
    {FloorMod, "nn.mod", 2, Numbers, Named, Few, NoPostOp, NoTraits, "fmod",
     "false"},
    {ShiftLeft, "nn.shift", 2, Ints, NoField, Few, NoPostOp, NoTraits, "left",
     "true"},
    {ShiftRight, "nn.shift", 2, Ints, NoField, Few, NoPostOp, NoTraits, "left",
     "false"},
    {Cast, "nn.cast", 1, AllTypes, Exact, Few, NoPostOp, NoTraits},
    {CastUnsaturated, "", 1, AllTypes, NoField, Few, NoPostOp, NoTraits},
    {CastToOdd, "", 1, AllTypes, NoField, Few, NoPostOp, NoTraits},
});
} // namespace scalar

/// The table.
using scalar::scalarFacts;

/// The row of `function`.
constexpr const ScalarFacts &factsOf(ScalarFunction function) {
  return scalarFacts[static_cast<size_t>(function)];
}
// Rows stand in the order of their functions.
static_assert([] {
  for (size_t row = 0; row != scalarFacts.size(); ++row) {
    if (scalarFacts[row].function != static_cast<ScalarFunction>(row)) {
      return false;
    }
  }
  return true;
}());

/// The element types that operands of `function` may have.
constexpr unsigned typesOf(ScalarFunction function) {
  return factsOf(function).types;
}

/// The row of the function that an operator computes with these attributes;
/// null if it is none of elements at one place.
const ScalarFacts *findFunction(std::string_view op,
                                const Attributes &attributes);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_SCALARFUNCTIONS_H
