//===- Problems.cpp - Any bytes as a planning problem ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever the bytes are, the reader answers with a problem or with an error.
// A problem is valid and survives being written and read; and gzip of a text
// is read as the text itself, since hardly any random bytes are gzip.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "divisi/Search/ProblemIO.h"

#include <libdeflate.h>
#include <string>

using namespace divisi::search;
using divisi::Expected;
using divisi::fuzz::require;

static std::string gzip(std::string_view text) {
  static libdeflate_compressor *compressor = libdeflate_alloc_compressor(1);
  std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), 0);
  out.resize(libdeflate_gzip_compress(compressor, text.data(), text.size(),
                                      out.data(), out.size()));
  return out;
}

static void requireSame(const Expected<Problem> &a, const Expected<Problem> &b,
                        const char *what) {
  require(bool(a) == bool(b), what);
  require(a ? *a == *b : a.status().message() == b.status().message(), what);
}

void divisi::fuzz::readProblems(std::string_view bytes) {
  Expected<Problem> problem = readProblem(bytes);
  if (!bytes.starts_with("\x1f\x8b")) {
    requireSame(problem, readProblem(gzip(bytes)), "gzip changes nothing");
  }
  if (!problem) {
    return requireFailure(problem.status());
  }
  require(!validate(*problem), "what is read is valid");
  requireSame(problem, readProblem(writeProblem(*problem)),
              "what is written reads back equal");
}
