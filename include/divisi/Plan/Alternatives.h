//===- Alternatives.h - Alternatives to a plan's choices --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The planning problem of a planned module is rebuilt, with every strategy
// open, and the plan is found in it. Then every strategy of one operator, or
// place of one tensor, can be priced with all others as they are:
//
//   m@x0          the plan
//   n@x0          + 3.1 us: the result has to be gathered
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PLAN_ALTERNATIVES_H
#define DIVISI_PLAN_ALTERNATIVES_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// One strategy of an operator, or one place of a tensor.
struct Alternative {
  std::string strategy; ///< `m@x, n@y`; empty if replicated. A place: `[x, *]`.
  bool isChosen = false;   ///< Whether the plan has it.
  int64_t nanoseconds = 0; ///< What the operator takes; 0 of a tensor.
  /// What conversions to and from its neighbours take, which are as planned,
  /// and these more as they are not fused with it.
  int64_t conversionNanoseconds = 0;
  /// By how much the plan gets slower, in nanoseconds; nothing if no conversion
  /// is possible.
  std::optional<int64_t> growth;
  /// The same once the operators and tensors around it are chosen anew; only
  /// of the few that grow least.
  std::optional<int64_t> adaptedGrowth;
  int64_t bytes = 0;     ///< Of what it keeps, on the fullest device.
  int64_t peakBytes = 0; ///< Of all tensors, at the fullest time.
  bool fits = true;      ///< Whether that is within the memory limit.
};

/// A planned operator or tensor.
struct Decision {
  /// An operator, a global, an argument, a result of an entry function, or a
  /// value of several users.
  enum class Kind : uint8_t { Operator, Global, Input, Output, Value };
  Kind kind = Kind::Operator;    ///< What is decided upon.
  mlir::Operation *op = nullptr; ///< The operator, global, entry or maker.
  unsigned number = 0;           ///< Of the argument or result.
};

/// See the file's head. The module must outlive it.
class PlanAlternatives {
public:
  /// Of `module`, which has been through the stage Plan for `cluster`.
  /// ExitCode::Usage for a plan on several grids, Invalid for a module that
  /// cannot be read.
  static Expected<PlanAlternatives> of(mlir::ModuleOp module,
                                       const Cluster &cluster);
  PlanAlternatives(PlanAlternatives &&);
  ~PlanAlternatives();

  /// Everything that was decided, in program order.
  const std::vector<Decision> &decisions() const;
  /// The strategies of a decision: those that grow least first, the chosen one
  /// before others of the same growth.
  std::vector<Alternative> alternatives(size_t decision) const;
  /// What the plan takes, as it is.
  int64_t nanoseconds() const;

private:
  struct State;
  explicit PlanAlternatives(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace divisi

#endif // DIVISI_PLAN_ALTERNATIVES_H
