//===- CaseCount.h - How many cases a generated suite ran -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_SEARCH_CASECOUNT_H
#define DIVISI_TEST_SEARCH_CASECOUNT_H

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace divisi::search {

/// Counts the cases of a generated suite. At its end it prints their number,
/// and fails if there was none.
class CaseCount {
public:
  /// `suite` names it for people.
  explicit CaseCount(std::string suite) : suite_(std::move(suite)) {}
  CaseCount(const CaseCount &) = delete;
  CaseCount &operator=(const CaseCount &) = delete;
  ~CaseCount() {
    std::printf("counted: %s: %zu cases\n", suite_.c_str(), count_);
    EXPECT_GT(count_, 0u) << suite_ << " ran no case";
  }

  void operator++() { ++count_; }

private:
  std::string suite_;
  size_t count_ = 0;
};

} // namespace divisi::search

#endif // DIVISI_TEST_SEARCH_CASECOUNT_H
