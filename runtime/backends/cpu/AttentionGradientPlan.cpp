//===- AttentionGradientPlan.cpp - What a call of gradients does ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/AttentionGradientPlan.h"
#include "runtime/backends/cpu/OneDnn.h"

#include <algorithm>
#include <numeric>

namespace divisi::rt::cpu {

/// Keys are cut finer where there are fewer units of work for a team.
static constexpr int64_t leastUnits = 16;

void GradientPlan::cutKeys() {
  int64_t blocks = std::max<int64_t>(1, ceilDiv(plan.keys, blockKeys));
  int64_t heads = std::max<int64_t>(1, plan.extents[0] * keyHeads());
  chunks = std::clamp<int64_t>(ceilDiv(leastUnits, heads), 1, blocks);
  chunkKeys = ceilDiv(blocks, chunks) * blockKeys;
  chunks = std::max<int64_t>(1, ceilDiv(plan.keys, chunkKeys));
}

GradientPlan::Workspace GradientPlan::workspace(int threads) const {
  Workspace workspace;
  int64_t block =
      blockQueries * std::min(plan.keys, blockKeys) * int64_t(sizeof(float));
  WorkspaceParts own, shared;
  workspace.weights = own.add(block);
  workspace.gradients = own.add(block);
  workspace.slopes = own.add(plan.softcap > 0 ? block : 0);
  workspace.perThread = own.bytes();
  shared.add(partials() * queryCount() * int64_t(sizeof(float)));
  workspace.bytes = shared.bytes() + threads * workspace.perThread;
  return workspace;
}

/// Adds the gradient of one operator to the plan; false if it is of another
/// attention.
static bool addTarget(const CallSite &site, size_t at, GradientPlan &made) {
  std::string ignored;
  Target target{{}, at, site.results[0].count()};
  if (site.operands.empty() || site.operands[0].type != DType::F32 ||
      site.results[0].type != DType::F32 ||
      !makeAttentionPlan(site, Checks(site, ignored), target.plan)) {
    return false;
  }
  bool isFirst = std::ranges::none_of(
      made.targets, [](const auto &known) { return known.has_value(); });
  std::optional<Target> &mine = made.targets[target.plan.of];
  if (mine || (!isFirst && !made.plan.isSameAttention(target.plan))) {
    return false;
  }
  made.plan = target.plan;
  mine = target;
  return true;
}

/// Of a region of gradients, each of all operands of the call.
static bool addTargets(const CallSite &site, GradientPlan &made) {
  const std::vector<RegionPart> &parts = site.region->parts;
  std::vector<int> operands(site.operands.size()), results(parts.size());
  std::iota(operands.begin(), operands.end(), 0);
  std::iota(results.begin(), results.end(), int(operands.size()));
  if (parts.size() < 2 || site.region->results != results) {
    return false;
  }
  for (size_t at = 0; at < parts.size(); ++at) {
    const RegionPart &part = parts[at];
    CallSite own{part.op, part.attributes, site.operands, part.results};
    if (part.op != "nn.attention_gradient" || part.operands != operands ||
        !addTarget(own, at, made)) {
      return false;
    }
  }
  return true;
}

bool makeGradientPlan(const CallSite &site, GradientPlan &made) {
  bool isMade = site.op == fusedOp ? site.region && addTargets(site, made)
                                   : addTarget(site, 0, made);
  if (!isMade || made.plan.depth == 0 || made.plan.features == 0) {
    return false;
  }
  made.cutKeys();
  return true;
}

} // namespace divisi::rt::cpu
