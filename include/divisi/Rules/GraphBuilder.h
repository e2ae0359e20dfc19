//===- GraphBuilder.h - One side of a rule as operators ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RULES_GRAPHBUILDER_H
#define DIVISI_RULES_GRAPHBUILDER_H

#include "divisi/Rules/Instance.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

#include <map>

namespace divisi::rewrite {

/// What a type of the language is. Nothing where an extent has no value or a
/// negative one, or there are more elements than an int64 counts.
std::optional<TensorForm> formOf(const TensorType &type,
                                 const Assignment &assignment,
                                 const TypeChoice &types);

/// A form as a type of values.
mlir::RankedTensorType toMLIR(mlir::MLIRContext *context,
                              const TensorForm &form);
/// The form of a type that toMLIR() gives.
TensorForm fromMLIR(mlir::Type type);

/// Builds one side of a rule where `builder` stands.
class GraphBuilder {
public:
  /// Of the rule at an assignment; all outlive this.
  GraphBuilder(mlir::OpBuilder &builder, mlir::Location location,
               const Assignment &assignment, const TypeChoice &types)
      : builder_(builder), location_(location), assignment_(assignment),
        types_(types) {}

  /// Builds `side` on the values of the variables. Fails as
  /// Instantiator::instantiate does, having built what comes before.
  Expected<CallGraph> run(const Rule &rule, const Graph &side,
                          mlir::ValueRange variables);

  /// What was built, in order.
  llvm::ArrayRef<mlir::Operation *> operators() const { return operators_; }
  /// Value `number` of the side.
  mlir::Value value(size_t number) const { return values_[number]; }

private:
  void name(const std::string &name, mlir::Value value) {
    numbers_[name] = values_.size();
    values_.push_back(value);
  }
  void add(const std::string &name, mlir::Operation *op) {
    operators_.push_back(op);
    this->name(name, op->getResult(0));
  }
  Expected<Call> call(const Node &node);
  Status build(const Node &node, const std::optional<TensorForm> &type,
               Call &call);

  mlir::OpBuilder &builder_;
  mlir::Location location_;
  const Assignment &assignment_;
  const TypeChoice &types_;
  llvm::SmallVector<mlir::Operation *> operators_;
  std::vector<mlir::Value> values_;
  std::map<std::string, size_t> numbers_;
};

} // namespace divisi::rewrite

#endif // DIVISI_RULES_GRAPHBUILDER_H
