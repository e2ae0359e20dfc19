//===- Wire.cpp - Messages between processes ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/messages/Wire.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;

void Wire::setPlace(int self, std::vector<bool> isNeighbour, int maxTag) {
  self_ = self;
  maxTag_ = maxTag;
  neighbours_ = static_cast<int>(
      std::count(isNeighbour.begin(), isNeighbour.end(), true));
  machine_ =
      static_cast<int>(std::find(isNeighbour.begin(), isNeighbour.end(), true) -
                       isNeighbour.begin());
  isNeighbour_ = std::move(isNeighbour);
}
