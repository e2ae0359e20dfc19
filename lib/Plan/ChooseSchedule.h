//===- ChooseSchedule.h - The schedule of a planned entry -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the steps of an entry take and keep, by the plan's prices; and the order
// that is asked for by name, or the fastest that is found (PipelineSearch.h)
// whose micro-batches fit.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_CHOOSESCHEDULE_H
#define DIVISI_LIB_PLAN_CHOOSESCHEDULE_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Plan/PlaceStages.h"
#include "divisi/Plan/StepLabels.h"
#include "divisi/Stages/PipelineTimes.h"
#include "divisi/Support/Status.h"

namespace divisi::plan {

/// The stage of each chunk that `request` means.
std::vector<size_t> stagesOfChunks(const PipelineRequest &request);

/// What a micro-batch takes and keeps on each of `chunks` chunks of `entry`,
/// which is labelled and on its grids in `cluster`.
std::vector<ChunkCost> costsOfChunks(mlir::func::FuncOp entry, size_t chunks,
                                     const Cluster &cluster);

/// The schedule of `entry` by `request`. ExitCode::Usage if that names one of
/// training for a program that has no backward steps, or the other way round.
Expected<PipelineSchedule> chooseSchedule(mlir::func::FuncOp entry,
                                          const StepKinds &kinds,
                                          const PipelineRequest &request,
                                          const Cluster &cluster);

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_CHOOSESCHEDULE_H
