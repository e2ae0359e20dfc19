//===- EntryOrder.cpp - The order of entries in an artifact ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EntryOrder.h"

#include "dialects/Exec/SharedInputs.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

std::vector<EntryOp> divisi::entriesInOrder(ModuleOp module) {
  std::vector<EntryOp> order;
  auto add = [&](EntryOp entry) {
    if (entry && !llvm::is_contained(order, entry)) {
      order.push_back(entry);
    }
  };
  for (auto entry : module.getOps<EntryOp>()) {
    if (!entry.getIsBody()) {
      add(entry);
    }
  }
  for (size_t next = 0; next < order.size(); ++next) {
    for (auto program : module.getOps<ProgramOp>()) {
      if (program.getEntry() != order[next].getSymName()) {
        continue;
      }
      for (auto loop : program.getBody().getOps<LoopOp>()) {
        add(module.lookupSymbol<EntryOp>(loop.getBody()));
      }
    }
  }
  for (auto entry : module.getOps<EntryOp>()) {
    add(entry); // that no loop runs: verification says so
  }
  return order;
}

void divisi::noteKind(EntryOp entry, artifact::Entry &message) {
  message.set_is_body(entry.getIsBody());
  auto shared = entry->getAttrOfType<DenseI64ArrayAttr>(kSharedInputsAttr);
  for (int64_t input = 0; shared && input != message.inputs_size(); ++input) {
    message.mutable_inputs(int(input))
        ->set_is_shared(llvm::is_contained(shared.asArrayRef(), input));
  }
}
