//===- ErrorCollector.cpp - MLIR's errors as a Status ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorCollector.h"

#include "dialects/NN/Locations.h"
#include "divisi/Support/VisibleText.h"
#include "passes/StatusDiagnostic.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace divisi;

ErrorCollector::ErrorCollector(MLIRContext *context)
    : handler_(context, [this](Diagnostic &diagnostic) {
        add(diagnostic);
        return success();
      }) {}

void ErrorCollector::add(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
    return;
  }
  // A Status speaks of options and models, not of a line of IR.
  if (std::optional<ExitCode> code = exitCodeOf(diagnostic);
      code && status_.isOk()) {
    status_ = Status(*code, diagnostic.str());
    return;
  }
  llvm::raw_string_ostream os(text_);
  os << (text_.empty() ? "" : "\n  ");
  auto print = [&](const Diagnostic &said) {
    std::string where = nn::describeLocation(said.getLocation());
    os << visibleLine(where + (where.empty() ? "" : ": ") + said.str());
  };
  print(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes()) {
    os << "\n  note: ";
    print(note);
  }
}

Status ErrorCollector::failure(ExitCode code, StringRef what) const {
  if (status_.isOk()) {
    return Status(code, text_.empty() ? what.str() : text_);
  }
  return text_.empty()
             ? status_
             : Status(status_.code(), status_.message() + "\n  " + text_);
}
