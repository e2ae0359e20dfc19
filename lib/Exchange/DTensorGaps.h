//===- DTensorGaps.h - What DTensor cannot say ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EXCHANGE_DTENSORGAPS_H
#define DIVISI_LIB_EXCHANGE_DTENSORGAPS_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Layout/Layout.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace divisi {

/// Why DTensor has no placements for `layout`; empty if it has. It knows shards
/// of torch.chunk, divided by the axes of the mesh in their order.
std::string whyNoPlacement(const Layout &layout);

/// A sentence for each operator whose operands or results have no placements:
/// why, and what the nearest strategy that has some takes more, others chosen
/// anew where that is known.
Expected<std::vector<std::string>> dtensorGaps(mlir::ModuleOp planned,
                                               const Cluster &machine);

} // namespace divisi

#endif // DIVISI_LIB_EXCHANGE_DTENSORGAPS_H
