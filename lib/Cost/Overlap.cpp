//===- Overlap.cpp - What runs beside a collective ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Cost/Overlap.h"

#include "llvm/ADT/STLExtras.h"

using namespace divisi;

static double slowdownOf(Transport transport) {
  switch (transport) {
  case Transport::Memory:
    return 2.0;
  case Transport::NvLink:
    return 1.2;
  case Transport::Pci:
  case Transport::Network:
    return 1.1;
  }
  llvm_unreachable("not a transport");
}

/// Most of the time goes over the outermost level that a group reaches.
double divisi::overlapSlowdown(const Reach &reach,
                               llvm::ArrayRef<LinkLevel> levels) {
  double slowdown = 1;
  for (auto [fanout, level] : llvm::zip(reach.fanouts, levels)) {
    if (fanout > 1) {
      slowdown = slowdownOf(level.transport);
    }
  }
  return slowdown;
}
