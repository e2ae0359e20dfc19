//===- Instance.h - A rule at one assignment --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// At an assignment every node of a rule is an operator of `nn` on tensors of
// static shape. The operator itself infers type and shape of its result and
// verifies that it is legal; its reference kernel computes it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_INSTANCE_H
#define DIVISI_RULES_INSTANCE_H

#include "divisi/Rules/Assignment.h"
#include "divisi/Rules/ElementTypes.h"
#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/Attributes.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace divisi::rewrite {

/// What a tensor is but for its elements.
struct TensorForm {
  rt::DType type = rt::DType::F32; ///< Field where a family of floats is tried.
  rt::Dims dims;                   ///< None of a scalar.
  /// Equal in both.
  bool operator==(const TensorForm &) const = default;
};

/// What operators take, to be compared in the order of the members.
struct Effort {
  double contractionFlops = 0; ///< Of those that multiply operands and sum.
  int64_t contractions = 0;    ///< How many these are.
  int64_t operators = 0;       ///< How many there are in all.
  double elements = 0;         ///< Of all results.
  /// The sum of both.
  Effort operator+(const Effort &other) const {
    return {contractionFlops + other.contractionFlops,
            contractions + other.contractions, operators + other.operators,
            elements + other.elements};
  }
  /// By the first member in which they differ.
  auto operator<=>(const Effort &) const = default;
};

/// A node at an assignment. Values are numbered: the variables, then the nodes.
struct Call {
  std::string op;               ///< `nn.matmul`; empty for equal elements.
  rt::Attributes attributes;    ///< Of the operator, at the assignment.
  std::vector<size_t> operands; ///< Values.
  double element = 0;           ///< What they all are.
  TensorForm result;            ///< Of its one result.
  Effort effort;                ///< None of equal elements.
  bool isElementwise = false;   ///< Each element is of those at its place.
};

/// One side at an assignment.
struct CallGraph {
  std::vector<Call> calls;     ///< Operands before those that read them.
  std::vector<size_t> results; ///< Numbers of values.
};

/// A rule at an assignment.
struct Instance {
  std::vector<TensorForm> variables; ///< In the order of the rule.
  CallGraph source, target;          ///< Both number the variables first.

  /// What value `number` of that side is.
  const TensorForm &form(const CallGraph &side, size_t number) const {
    return number < variables.size()
               ? variables[number]
               : side.calls[number - variables.size()].result;
  }
};

/// Makes instances. One may be used by one thread at a time.
class Instantiator {
public:
  /// With a context of its own, in which nothing but operators of nn is built.
  Instantiator();
  ~Instantiator();

  /// One side, whose values begin with the variables. Fails with Invalid where
  /// an operator may not be so, in its own words behind the name of the node;
  /// and with Unsupported where there is no such operator in rules.
  Expected<CallGraph> instantiate(const Rule &rule, const Graph &side,
                                  const std::vector<TensorForm> &variables,
                                  const Assignment &assignment,
                                  const TypeChoice &types);

  /// What the variables are. Fails with Invalid where an extent has no value or
  /// a negative one.
  static Expected<std::vector<TensorForm>>
  variables(const Rule &rule, const Assignment &assignment,
            const TypeChoice &types);

private:
  std::unique_ptr<mlir::MLIRContext> context_;
};

/// The results of a side on the values of the variables, by the reference
/// kernels.
Expected<std::vector<rt::HostTensor>>
evaluate(const CallGraph &side, const std::vector<rt::HostTensor> &variables);

} // namespace divisi::rewrite

#endif // DIVISI_RULES_INSTANCE_H
