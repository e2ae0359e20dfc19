//===- Rule.h - A substitution rule as plain data ---------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule says that two graphs of `nn` operators compute the same, for all sizes
// and attributes that it names:
//
//   rule matmul-distributes {
//     summary "(x + y) w = x w + y w"
//     size k, m, n
//     activation x: float[m, k]
//     activation y: float[m, k]
//     weight w: float[k, n]
//     source {
//       a = matmul(x, w) {labels = "mk,kn->mn"}
//       b = matmul(y, w) {labels = "mk,kn->mn"}
//       c = add(a, b)
//       return c
//     }
//     target {
//       s = add(x, y)
//       c = matmul(s, w) {labels = "mk,kn->mn"}
//       return c
//     }
//     class reassociates
//   }
//
// An axiom has the same form. It is not proved but believed, after it was
// evaluated at all small sizes. docs/writing-a-rule.md has the whole language.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_RULE_H
#define DIVISI_RULES_RULE_H

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace divisi::rewrite {

/// Where something stands in a text; both count from 1.
struct Position {
  int line = 0;   ///< 0: nowhere, it was not read.
  int column = 0; ///< In bytes.
};

/// An integer in terms of sizes, integers and ranks; or a real, in terms of
/// reals and numbers, which are multiplied and divided.
struct Expr {
  /// What it is made of.
  enum class Kind : uint8_t {
    Number, ///< `value`
    Name,   ///< of a size, an integer, or an index of Item
    Rank,   ///< `rank(name)`
    Extent, ///< `name[operands[0]]`
    Count,  ///< `count(name)`: how many elements have these dims.
    Real,   ///< `real`, a literal.
    Add,    ///< `operands[0] + operands[1]`, and so the others
    Sub,
    Mul,
    Div, ///< Of integers towards minus infinity.
  };
  Kind kind = Kind::Number;   ///< Which of the members below it uses.
  int64_t value = 0;          ///< Of a Number.
  double real = 0;            ///< Of a Real.
  std::string name;           ///< Of a Name; else of a shape, or the text of a
                              ///< Real where rules are written out.
  std::vector<Expr> operands; ///< Two of arithmetic, one of Extent.
  Position at;                ///< Of its first token, or of its sign.
};

/// A part of a list of integers: one of them, or one for each dim of a shape.
struct Item {
  Expr value;        ///< In terms of `index` too, if that is there.
  std::string index; ///< `value for index in shape`, which counts from 0.
  std::string shape; ///< Empty: one integer. Alone: its extents, `shape...`.
};

/// The dims of a tensor, or a list that is an attribute.
using Items = std::vector<Item>;

/// What an attribute of an operator may be. A name alone is an Expr, also that
/// of a real.
using Value = std::variant<Expr, double, bool, std::string, Items>;

/// The type of a tensor.
struct TensorType {
  std::string element; ///< `float`, `int`, `bool`, or a type: `f32`.
  Items shape;         ///< Its dims.
  Position at;         ///< Where it stands in the file.
};

/// What a variable stands for.
enum class VariableKind : uint8_t {
  Activation, ///< Any value.
  Weight,     ///< One that is the same in every run.
  Constant,   ///< One that is known when rules are applied.
};

/// A tensor that a rule does not make.
struct Variable {
  VariableKind kind = VariableKind::Activation; ///< What a match may bind.
  std::string name; ///< Unique among all names of the rule.
  TensorType type;  ///< May hold names alone, which a match then finds out.
  std::vector<std::string> comments; ///< The lines above it.
  Position at;                       ///< Where it stands in the file.
};

/// An operator, or a tensor of equal elements.
struct Node {
  std::string name;                  ///< Unique on its side of the rule.
  std::string op;                    ///< `matmul`; empty for equal elements.
  Value element;                     ///< What they all are: an Expr or double.
  std::vector<std::string> operands; ///< Variables and earlier nodes.
  std::vector<std::pair<std::string, Value>> attributes; ///< By name.
  std::optional<TensorType> type;    ///< If it is not the operator's to say.
  std::vector<std::string> comments; ///< The lines above it.
  Position at;                       ///< Where it stands in the file.
};

/// One side of a rule.
struct Graph {
  std::vector<Node> nodes;          ///< Operands before those that read them.
  std::vector<std::string> results; ///< Of nodes or variables.
  Position at;                      ///< Where it stands in the file.
};

/// How two numbers compare. Of shapes nothing but Broadcasts is said: each
/// extent of one does, to that of the other.
enum class Relation : uint8_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Divides,
  Broadcasts, ///< The left is 1, or the right.
};

/// What has to hold where the rule is applied.
struct Condition {
  Expr left;                         ///< Of integers, or reals; or a shape.
  Relation relation = Relation::Eq;  ///< `left relation right`.
  Expr right;                        ///< As `left`.
  std::vector<std::string> comments; ///< The lines above it.
  Position at;                       ///< Of `left`.
};

/// How results on floats may differ.
enum class NumericClass : uint8_t {
  BitExact,     ///< Not at all.
  Reassociates, ///< By rounding.
  ChangesRange, ///< Also by what overflows or underflows on the way.
  /// Also wholly, where rounding turns over what is compared, rounded to an
  /// integer or chosen by.
  Discontinuous,
};

/// A name for any of several operators.
struct OperatorChoice {
  std::string name;                   ///< Stands for an operator in nodes.
  std::vector<std::string> operators; ///< At least one.
  Position at;                        ///< Where it stands in the file.
};

/// Whether it is a real: a literal, one of `reals`, or made of such.
bool isReal(const Expr &expr, const std::vector<std::string> &reals);

/// Two graphs that compute the same.
struct Rule {
  bool isAxiom = false;            ///< Believed, and has no numeric class.
  std::string name;                ///< Unique in its file.
  std::string summary;             ///< One line for readers.
  std::vector<std::string> sizes;  ///< Extents, from 1 on.
  std::vector<std::string> shapes; ///< Each some dims, possibly none.
  std::vector<std::string> ints;   ///< Integers of attributes.
  std::vector<std::string> reals;  ///< Floats of attributes.
  std::vector<OperatorChoice> operators;    ///< Names for any of several.
  std::vector<Variable> variables;          ///< In the order of the file.
  std::vector<Condition> conditions;        ///< All have to hold.
  Graph source, target;                     ///< What is replaced, and by what.
  std::optional<NumericClass> numericClass; ///< Of an axiom none.
  std::optional<std::string> open; ///< Why it is not proved; off by default.
  std::vector<std::string> lemmas; ///< Rules that its proof uses.
  bool isGenerated = false;        ///< Whether the generator has written it.
  bool isAlways = false;           ///< Every compilation applies it.
  /// Of an axiom: proofs use it from its source to its target alone.
  bool isForward = false;
  /// Of an axiom: it says what the operator of its source is, of which nothing
  /// is known else where elements are followed.
  bool isDefinition = false;
  std::vector<std::string> comments;
  Position at;

  /// The variable of that name, or null.
  const Variable *findVariable(const std::string &variable) const;
  /// Whether it is a real: a literal, a name of one, or made of such.
  bool isReal(const Expr &expr) const { return rewrite::isReal(expr, reals); }
  /// Whether the condition is about two shapes.
  bool isOfShapes(const Condition &condition) const;
};

/// The rule once for each choice of its operators, with their names; of a rule
/// without such a choice itself.
std::vector<Rule> withOperators(const Rule &rule);

/// `activation`, ...: the word of the language.
const char *spell(VariableKind kind);
/// `==`, ...: the word of the language.
const char *spell(Relation relation);
/// `bit-exact`, ...: the word of the language.
const char *spell(NumericClass numericClass);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_RULE_H
