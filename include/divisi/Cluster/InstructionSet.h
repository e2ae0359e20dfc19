//===- InstructionSet.h - Instruction sets of processors --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The description of a processor names its instruction set; what is compiled
// for it follows from that name, on whatever host the compiler runs:
//
//   avx2                x86-64-v3, no products of bytes
//   avx512_core_vnni    x86-64-v4, products of bytes
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_CLUSTER_INSTRUCTIONSET_H
#define DIVISI_CLUSTER_INSTRUCTIONSET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace divisi {

/// One of x86-64, as oneDNN tells them apart.
struct InstructionSet {
  llvm::StringLiteral name; ///< oneDNN's, in lower case.
  /// The level of the x86-64 psABI that generated code may use; empty: none is
  /// generated.
  llvm::StringLiteral codeLevel;
  /// Whether it multiplies and sums bytes exactly (VNNI).
  bool sumsBytes;
  unsigned parts; ///< A bit each, as oneDNN numbers them.
};

/// All of them; what contains another comes behind it.
llvm::ArrayRef<InstructionSet> instructionSets();

/// That of this name; null: there is none.
const InstructionSet *findInstructionSet(llvm::StringRef name);

/// The name of the largest that both contain; empty if there is none, or if one
/// is not stated.
llvm::StringRef commonInstructionSet(llvm::StringRef a, llvm::StringRef b);

} // namespace divisi

#endif // DIVISI_CLUSTER_INSTRUCTIONSET_H
