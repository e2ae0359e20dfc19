//===- EntryOrder.h - The order of entries in an artifact -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ARTIFACT_ENTRYORDER_H
#define DIVISI_LIB_ARTIFACT_ENTRYORDER_H

#include "Manifest.h"
#include "dialects/Exec/Exec.h"

#include "mlir/IR/BuiltinOps.h"

#include <vector>

namespace divisi {

/// The entries of `module`, then bodies, each behind those with the loop that
/// runs it.
std::vector<exec::EntryOp> entriesInOrder(mlir::ModuleOp module);

/// Says in `message`, which has the inputs of `entry`, whether it is a body,
/// and which of its inputs are shared.
void noteKind(exec::EntryOp entry, artifact::Entry &message);

} // namespace divisi

#endif // DIVISI_LIB_ARTIFACT_ENTRYORDER_H
