//===- OperatorTable.h - What calls compute, each once ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_ARTIFACT_OPERATORTABLE_H
#define DIVISI_LIB_ARTIFACT_OPERATORTABLE_H

#include "runtime/schema/artifact.pb.h"

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringMap.h"

namespace divisi {

/// The operators of a manifest.
class OperatorTable {
public:
  /// Adds to `manifest`, which has none yet.
  explicit OperatorTable(artifact::Manifest &manifest) : manifest_(manifest) {}

  /// The number of the operator `name` with the attributes `config`.
  uint32_t add(llvm::StringRef name, mlir::DictionaryAttr config);
  /// The number of the fused operator whose parts are those of `block`;
  /// `tensorOf` returns the number of a local tensor.
  uint32_t add(mlir::Block &block,
               llvm::function_ref<uint32_t(mlir::Type)> tensorOf);

private:
  uint32_t numberOf(const artifact::Operator &message);

  artifact::Manifest &manifest_;
  llvm::StringMap<uint32_t> numbers_; ///< By what they say.
};

} // namespace divisi

#endif // DIVISI_LIB_ARTIFACT_OPERATORTABLE_H
