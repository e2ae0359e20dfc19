//===- ErrorCollector.cpp - MLIR's errors as a Status -----------*- C++ -*-===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ErrorCollector.h"

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
  llvm::raw_string_ostream os(text_);
  os << (text_.empty() ? "" : "\n  ");
  if (!isa<UnknownLoc>(diagnostic.getLocation())) {
    os << diagnostic.getLocation() << ": ";
  }
  os << diagnostic;
  for (Diagnostic &note : diagnostic.getNotes()) {
    os << "\n  note: " << note;
  }
}

Status ErrorCollector::failure(ExitCode code, StringRef what) const {
  return Status(code, text_.empty() ? what.str() : text_);
}
