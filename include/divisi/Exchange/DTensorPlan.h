//===- DTensorPlan.h - A plan as DTensor's placements -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's DTensor says per axis of a device mesh whether a tensor is sharded
// along a dimension, replicated or partial. Here a plan is said so, by the
// names of parameters and modules as the exporter kept them:
//
//   {"format": "dtensor", "version": 1,
//    "mesh": {"names": ["model"], "shape": [2]},
//    "inputs": [{"name", "shape", "dtype": "INT64", "placements"}],
//    "outputs": ["logits"],
//    "parameters": {"fc.weight": {"shape": [64, 16],
//                                 "placements": ["Shard(dim=0)"]}},
//    "modules": {"fc": {"state_shardings": {"weight": {"model":
//    "Shard(dim=0)"}},
//                       "in_dst_shardings": {"x": {"model": "Replicate()"}},
//                       "out_src_shardings": {"y": {"model": "Shard(dim=1)"}},
//                       "operators": [as planLayouts, and "torch": "linear"]}},
//    "tensors": [as planLayouts, by the names of parameters],
//    "report": ["node 'conv': …"]}
//
// Shardings of modules have the form of torchtitan's ShardingConfig; their keys
// are tensors of the model.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EXCHANGE_DTENSORPLAN_H
#define DIVISI_EXCHANGE_DTENSORPLAN_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Exchange/ModelPlan.h"

#include "llvm/Support/JSON.h"

namespace divisi {

/// The plan of `planned` for `machine`, see the file's head. What DTensor
/// cannot say stands in the report, with what the nearest strategy that it can
/// say takes more. ExitCode::Usage for a plan on several grids, and as
/// modelPlan.
Expected<llvm::json::Value> dtensorPlan(mlir::ModuleOp planned,
                                        const Cluster &machine,
                                        const ModelOutline &outline);

} // namespace divisi

#endif // DIVISI_EXCHANGE_DTENSORPLAN_H
