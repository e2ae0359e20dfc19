//===- SetSplit.cpp - Edit strategies of a plan ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Plan/SetSplit.h"

#include "dialects/NN/Locations.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/LayoutSyntax.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace divisi;

divisi::Expected<std::vector<Operation *>>
divisi::operatorsNamed(ModuleOp planned, StringRef name) {
  std::vector<Operation *> operators;
  planned.walk([&](Operation *op) {
    if (spmd::getSplit(op) && isa<nn::LoopInterface>(op) &&
        !isa<nn::ReadOp, nn::UpdateOp, nn::ConstantOp>(op) &&
        (name.empty() || nn::isNamed(op, name))) {
      operators.push_back(op);
    }
  });
  if (operators.empty() && !name.empty()) {
    return makeError(ExitCode::Usage, "no operator is called '", name.str(),
                     "'; expected the name of a node or a scope, or an "
                     "operator such as nn.matmul; * and ? stand for any "
                     "characters");
  }
  return operators;
}

/// The strategy that `text` is, on the grid called `grid`.
static divisi::Expected<spmd::SplitAttr> parse(spmd::GridOp grid,
                                               StringRef text) {
  StringRef rest = text.trim();
  if (rest.consume_front("@")) {
    auto [name, behind] = rest.split(':');
    rest = behind.trim();
    if (name.trim() != grid.getSymName()) {
      return makeError(ExitCode::Usage, "the strategy '", text.str(),
                       "' is of the grid @", name.trim().str(),
                       "; the plan's is @", grid.getSymName().str());
    }
  }
  std::optional<spmd::NamedSplit> split =
      rest.empty() ? spmd::NamedSplit() : spmd::readSplit(rest);
  if (!split) {
    return makeError(ExitCode::Usage, "'", text.str(),
                     "' is no strategy; expected loops and the axes that "
                     "split them, such as 'm@x, n@y.z'");
  }
  return spmd::SplitAttr::get(
      grid.getContext(), FlatSymbolRefAttr::get(grid.getSymNameAttr()), *split);
}

/// Whether `op` has all loops that `split` names; adds the names of its loops
/// to `known`: `m, n, k of nn.matmul`.
static bool hasLoops(Operation *op, const spmd::NamedSplit &split,
                     std::vector<std::string> &known) {
  LoopNest nest = cast<nn::LoopInterface>(op).getLoopNest();
  std::string loops;
  for (const Loop &loop : nest.loops) {
    loops += (loops.empty() ? "" : ", ") + loop.name;
  }
  loops += " of " + op->getName().getStringRef().str();
  if (!llvm::is_contained(known, loops)) {
    known.push_back(loops);
  }
  return llvm::all_of(split.loops, [&](const spmd::NamedLoopSplit &part) {
    return nest.find(part.loop).has_value();
  });
}

Status divisi::setSplit(ModuleOp planned, StringRef operators,
                        StringRef split) {
  SmallVector<spmd::GridOp> grids(planned.getOps<spmd::GridOp>());
  if (grids.size() != 1) {
    return makeError(ExitCode::Usage, "the plan has ", grids.size(),
                     " grids; strategies are set only in plans on one grid: "
                     "edit the dump of the plan, and compile that");
  }
  divisi::Expected<spmd::SplitAttr> strategy = parse(grids.front(), split);
  if (!strategy) {
    return strategy.status();
  }
  divisi::Expected<std::vector<Operation *>> named =
      operatorsNamed(planned, operators);
  if (!named) {
    return named.status();
  }
  std::vector<std::string> known;
  llvm::erase_if(*named, [&](Operation *op) {
    return !hasLoops(op, strategy->getSplit(), known);
  });
  if (named->empty()) {
    return makeError(ExitCode::Usage, "no operator that is called '",
                     operators.str(), "' has the loops of '", split.str(),
                     "'; loops are ", llvm::join(known, "; "));
  }
  for (Operation *op : *named) {
    op->setAttr(spmd::SPMDDialect::kSplit, *strategy);
  }
  return Status();
}
