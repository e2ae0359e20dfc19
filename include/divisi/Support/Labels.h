//===- Labels.h - Dimensions of products by letters -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_LABELS_H
#define DIVISI_SUPPORT_LABELS_H

#include <string_view>
#include <vector>

namespace divisi {

/// What `labels` says of each operand, and of the result, which is last:
/// {"mk", "kn", "mn"} for "mk,kn->mn". They point into it. Empty if there is no
/// "->"; letters are not checked.
inline std::vector<std::string_view> splitLabels(std::string_view labels) {
  std::vector<std::string_view> tensors;
  size_t arrow = labels.find("->");
  if (arrow == labels.npos) {
    return tensors;
  }
  std::string_view operands = labels.substr(0, arrow);
  size_t comma = operands.find(',');
  while (comma != operands.npos) {
    tensors.push_back(operands.substr(0, comma));
    operands.remove_prefix(comma + 1);
    comma = operands.find(',');
  }
  tensors.push_back(operands);
  tensors.push_back(labels.substr(arrow + 2));
  return tensors;
}

} // namespace divisi

#endif // DIVISI_SUPPORT_LABELS_H
