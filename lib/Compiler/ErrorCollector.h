//===- ErrorCollector.h - MLIR's errors as a Status -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_ERRORCOLLECTOR_H
#define DIVISI_LIB_COMPILER_ERRORCOLLECTOR_H

#include "divisi/Support/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace divisi {

/// While one lives, it takes the diagnostics of a context: errors become the
/// message of a Status, one a line with its notes; others are dropped. The
/// error of a Status (StatusDiagnostic.h) stands first and gives its exit code.
class ErrorCollector {
public:
  /// Stands before other handlers of `context`, which must outlive it.
  explicit ErrorCollector(mlir::MLIRContext *context);

  /// A failure with what was collected, or with `what` if nothing was; its code
  /// is `code` where no error brought one.
  Status failure(ExitCode code, llvm::StringRef what) const;

private:
  void add(mlir::Diagnostic &diagnostic);

  std::string text_;
  Status status_; ///< The first that came as such.
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_ERRORCOLLECTOR_H
