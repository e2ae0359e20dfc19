//===- StatePairs.h - Inputs and outputs that are one state -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step of a decoder takes the cache that the step before gave. Who says so
// (--state past=present) has a program that keeps the cache where its devices
// have it: the input is a state, and the output its next value.
//
//   %past = nn.read @past                    of the step before; first zeros,
//   …                                        or the input's initializer
//   nn.update @past, %present
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_STATEPAIRS_H
#define DIVISI_LIB_IMPORT_STATEPAIRS_H

#include "OnnxModel.h"
#include "divisi/Import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace divisi {

/// An input of the graph, and the output that is its next value.
struct StatePair {
  std::string input;  ///< Of one pair alone.
  std::string output; ///< The same.
  /// The input's initializer: its value before the first run; null: zeros.
  const OnnxTensor *initial = nullptr;
};

/// The pairs of `graph` that `options` name. ExitCode::Usage for a name that is
/// no input's, or no output's, and for one that is in two pairs.
Expected<std::vector<StatePair>> resolveStates(const OnnxGraph &graph,
                                               const ImportOptions &options);

/// The pair of an input; null if it is no state.
const StatePair *findState(const std::vector<StatePair> &states,
                           const std::string &input);

/// Makes updates of those of `values`, called `names`, that are next values;
/// `reads` are those of the states, by their inputs. ExitCode::Usage where type
/// or shape of a next value are others.
Status updateStates(mlir::OpBuilder &builder,
                    const std::vector<StatePair> &states,
                    const std::map<std::string, mlir::Value> &reads,
                    std::vector<mlir::Value> &values,
                    std::vector<std::string> &names);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_STATEPAIRS_H
