//===- StatusDiagnostic.h - Errors of passes with an exit code --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass can only fail. What kind of failure it is (options that contradict the
// model, a plan that does not fit) goes with the error that it reports, for who
// runs the pass.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_STATUSDIAGNOSTIC_H
#define DIVISI_PASSES_STATUSDIAGNOSTIC_H

#include "divisi/Support/Status.h"

#include "mlir/IR/Diagnostics.h"

#include <optional>

namespace divisi {

/// Reports `status`, which is a failure, at `location`.
inline void emitStatus(mlir::Location location, const Status &status) {
  mlir::InFlightDiagnostic error = mlir::emitError(location)
                                   << status.message();
  error.getUnderlyingDiagnostic()->getMetadata().push_back(
      mlir::DiagnosticArgument(int64_t(status.code())));
}

/// The exit code of an error that emitStatus reports; nothing of another.
inline std::optional<ExitCode> exitCodeOf(mlir::Diagnostic &diagnostic) {
  for (const mlir::DiagnosticArgument &note : diagnostic.getMetadata()) {
    if (note.getKind() ==
        mlir::DiagnosticArgument::DiagnosticArgumentKind::Integer) {
      return ExitCode(note.getAsInteger());
    }
  }
  return std::nullopt;
}

} // namespace divisi

#endif // DIVISI_PASSES_STATUSDIAGNOSTIC_H
