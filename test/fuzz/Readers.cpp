//===- Readers.cpp - What every answer of a reader must have --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include <cstdio>
#include <cstdlib>

using namespace divisi;

void fuzz::require(bool holds, const char *what) {
  if (!holds) {
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
  }
}

void fuzz::requireFailure(const Status &status) {
  require(status.code() == ExitCode::Invalid ||
              status.code() == ExitCode::Unsupported ||
              status.code() == ExitCode::File ||
              status.code() == ExitCode::Version ||
              status.code() == ExitCode::Device,
          "an exit code of bad input");
  require(!status.message().empty(), "a message");
}
