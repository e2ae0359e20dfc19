//===- Locations.h - Where an operator comes from, for people ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator comes from a node of the model, which its location names, and may
// have been read from a text, where it stands at a line and column. Both are
// wanted by who reads a message: editors jump to `plan.mlir:12:5`.
//
// What substitution rules have made of a node names them, too, in the order in
// which they were applied: `loc(fused<["rule", "next-rule"]>["linear"])`.
//
// A dump says the node of each operator itself, `loc("linear")`. What is read
// from one gets its position around that, as the metadata of a fused location;
// what is written to one is without it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_LOCATIONS_H
#define DIVISI_DIALECTS_NN_LOCATIONS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"

#include <string>
#include <vector>

namespace divisi::nn {

/// What the name of a node ends with whose operators training has derived.
inline constexpr llvm::StringLiteral kGradientSuffix = ".grad";

/// The attribute of an operator that says in which module of the model it is:
/// `transformer.h.0.mlp`.
inline constexpr llvm::StringLiteral kScopeAttr = "nn.scope";

/// Lets `to` be in the scope of `from`, if that is in one.
void copyScope(mlir::Operation *from, mlir::Operation *to);

/// The node that `location` names, the first of several; empty for none.
std::string nodeName(mlir::Location location);

/// `plan.mlir:12:5: node 'linear'`, or what of it is known; empty for nothing.
std::string describeLocation(mlir::Location location);

/// The rules that `location` names.
std::vector<std::string> rulesOf(mlir::Location location);
/// `location` that also names `rules`, in this order, behind those that it does
/// already; none twice.
mlir::Location withRules(mlir::Location location,
                         const std::vector<std::string> &rules);

/// Whether `name` means `op`, or stands with `*` and `?` for a name that does:
///
///   node_linear         the operators of an ONNX node
///   transformer.h.0     those in a module scope; also h.0, h.0.mlp
///   nn.matmul, matmul   those of a kind
bool isNamed(mlir::Operation *op, llvm::StringRef name);
/// Whether `name` is `text`, or stands with `*` and `?` for it.
bool matchesName(llvm::StringRef name, llvm::StringRef text);

/// `location`, which a text itself says, with the place of the text.
mlir::Location withPosition(mlir::Location location,
                            mlir::FileLineColLoc position);
/// `location` without what withPosition has added to any part of it.
mlir::Location withoutPosition(mlir::Location location);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_LOCATIONS_H
