//===- ScalarFunctions.cpp - The table of functions of elements -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/kernels/ScalarFunctions.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

/// Whether the attributes are those of the row's function.
static bool isChosen(const ScalarFacts &row, const Attributes &attributes) {
  if (row.attribute.empty()) {
    return true;
  }
  std::string name(row.attribute);
  if (const auto *flag = attributes.find<int64_t>(name)) {
    return row.choice == (*flag != 0 ? "true" : "false");
  }
  return attributes.getString(name) == row.choice;
}

const ScalarFacts *divisi::rt::findFunction(std::string_view op,
                                            const Attributes &attributes) {
  auto found = std::ranges::find_if(scalarFacts, [&](const ScalarFacts &row) {
    return !row.op.empty() && row.op == op && isChosen(row, attributes);
  });
  return found == scalarFacts.end() ? nullptr : &*found;
}
