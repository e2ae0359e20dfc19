//===- Equation.h - Two graphs of one result --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_GENERATE_EQUATION_H
#define DIVISI_LIB_GENERATE_EQUATION_H

#include "lib/Generate/Universe.h"

#include <string>
#include <vector>

namespace divisi::rewrite {

/// An operator of the vocabulary on values, which are numbered: the equation's
/// leaves, then the steps of the side.
struct Step {
  uint16_t op = 0;              ///< Its number in the world.
  std::vector<size_t> operands; ///< Numbers of values.
};

/// One side.
struct Sketch {
  std::vector<Step> steps; ///< Operands before those that read them.
  size_t result = 0;       ///< A value.
};

/// Two sides over the same leaves.
struct Equation {
  /// Graphs of the universe that are leaves; of two that are the same only the
  /// form is, if they are not constants.
  std::vector<uint32_t> leaves;
  Sketch source, target;
};

/// The equation with every operand that is a leaf one of its own, but for
/// constants, and no step that two steps read.
Equation withoutSharing(const Universe &universe, const Equation &equation);

/// The equation with the leaf `names[i]` for each leaf i, of which some may be
/// the same, and steps that are the same once.
Equation withLeaves(const Equation &equation, const std::vector<size_t> &names);

/// `source` = `target`, with the leaves in the order in which they are met.
Equation equationOf(const Universe &universe, const Term &source,
                    const Term &target);

/// The same text for equations that differ by the names of tensors of one form,
/// or by which side comes first.
std::string canonicalText(const Universe &universe, const Term &source,
                          const Term &target);

/// How many leaves the sides have together that are not constants.
size_t countVariables(const Universe &universe, const Term &source,
                      const Term &target);

/// Whether the graph is a tensor of equal elements.
bool isConstant(const Universe &universe, uint32_t graph);

} // namespace divisi::rewrite

#endif // DIVISI_LIB_GENERATE_EQUATION_H
