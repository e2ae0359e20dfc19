//===- Help.cpp - What divisi-opt shows of itself -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Help.h"

#include "divisi/Compiler/Stage.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;
using namespace divisi;

/// The passes of the stages, in the order in which their pipelines run them.
static constexpr StringLiteral kPasses[] = {
    "nn-spell-products",
    "apply-rules",
    "nn-unflatten",
    "nn-fuse-attention",
    "nn-fold-scales",
    "nn-move-codes",
    "nn-integer-products",
    "nn-lower-precision",
    "nn-hoist-init",
    "verify-import",
    "nn-train",
    "write-attention",
    "search-rules",
    "draw-rules",
    "micro-batches",
    "isolate-bodies",
    "fold-micro-batches",
    "nn-plan",
    "verify-plan",
    "write-micro-batches",
    "order-steps",
    "spmd-partition",
    "spmd-route",
    "split-ranks",
    "verify-partition",
    "fuse-operators",
    "schedule-overlap",
    "lower-to-exec",
    "split-kinds",
    "place-spaces",
    "join-attention",
    "choose-formats",
    "fuse-weight-gradients",
    "write-carried",
    "write-globals",
    "generate-code",
    "ask-kernels",
    "plan-memory",
    "order-queues",
    "verify-lower",
};

bool divisi::wantsHelp(ArrayRef<char *> arguments) {
  return any_of(arguments, [](StringRef argument) {
    return argument == "--help" || argument == "-help" || argument == "-h";
  });
}

void divisi::printHelp() {
  SmallVector<const mlir::PassRegistryEntry *> pipelines, passes;
  for (Stage stage : allStages()) {
    pipelines.push_back(mlir::PassPipelineInfo::lookup(
        ("divisi-" + stringifyStage(stage)).str()));
  }
  for (StringRef pass : kPasses) {
    passes.push_back(mlir::PassInfo::lookup(pass));
  }
  size_t width = 0;
  for (const auto &list : {pipelines, passes}) {
    for (const mlir::PassRegistryEntry *entry : list) {
      width = std::max(width, entry->getOptionWidth() + 4);
    }
  }
  outs() << "divisi-opt: runs stages, or single passes, on the text of a "
            "module\n"
            "usage: divisi-opt [options] [FILE.mlir]     (or stdin)\n\n"
            "Stages, as divisi runs them:\n";
  for (const mlir::PassRegistryEntry *entry : pipelines) {
    entry->printHelpStr(/*indent=*/2, width);
  }
  outs() << "\nPasses, in the order of the stages:\n";
  for (const mlir::PassRegistryEntry *entry : passes) {
    entry->printHelpStr(/*indent=*/2, width);
  }
  outs() << "\nOptions:\n"
            "  -o FILE                        where the module goes (stdout)\n"
            "  --mlir-print-debuginfo=false   without locations\n"
            "  --help-hidden                  all that MLIR and LLVM bring\n";
}
