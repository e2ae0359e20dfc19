//===- PipelineFlags.cpp - Flags of pipelines and states ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Flags.h"

using namespace llvm;
using namespace divisi;

PipelineFlags::PipelineFlags(cl::SubCommand &verb)
    : stages("pipeline-parallel-size", cl::sub(verb), on(ActsOn::Plan),
             cl::value_desc("N"), cl::init(1),
             cl::desc("how many stages the layers are divided into, each on an "
                      "equal part of the devices (default: 1; of several "
                      "micro-batches the fastest number)")),
      sizes("stage-devices", cl::sub(verb), on(ActsOn::Plan),
            cl::value_desc("N,N|auto"),
            cl::desc("how many devices each stage has, as 2,1; auto: what is "
                     "fastest (default: an equal part)")),
      branches("branch-parallel", cl::sub(verb), on(ActsOn::Plan),
               cl::value_desc("auto|off"), cl::init("off"),
               cl::desc("auto: branches of the model may run beside each "
                        "other, each on a part of the devices (default: off)")),
      chunks(
          "num-stages-per-device", cl::sub(verb), on(ActsOn::Plan),
          cl::value_desc("N"), cl::init(0),
          cl::desc("how many parts of the layers each stage has (default: 1; "
                   "of interleaved and wave 2)")),
      schedule("schedule", cl::sub(verb), on(ActsOn::Plan),
               cl::value_desc("NAME"), cl::init("auto"),
               cl::desc("the order in which stages run micro-batches: stream, "
                        "gpipe, 1f1b, interleaved, zero-bubble-h1, "
                        "zero-bubble-h2, wave (default: the fastest found)")),
      microBatches("micro-batches", cl::sub(verb), on(ActsOn::Plan),
                   cl::value_desc("N|auto"), cl::init("1"),
                   cl::desc("a call takes N batches of the model's shapes, one "
                            "after the other (default: 1; inputs without a "
                            "batch are given once); auto: one, divided "
                            "into as many as is fastest (default with "
                            "--objective throughput)")),
      objective("objective", cl::sub(verb), on(ActsOn::Plan),
                cl::value_desc("latency|throughput|step"),
                cl::desc("what is to be least: the time of a run (latency; of "
                         "training: step), or from one output to the next "
                         "(throughput), each a row of the batch (default: "
                         "latency, or step)")) {}

void PipelineFlags::fill(GivenOptions &options) const {
  if (stages.getNumOccurrences() > 0) {
    options.pipelineParallel = stages;
  }
  options.stageDevices = sizes;
  if (branches.getNumOccurrences() > 0) {
    options.branchParallel = branches;
  }
  options.stagesPerDevice = chunks;
  options.schedule = schedule;
  if (microBatches.getNumOccurrences() > 0) {
    options.microBatches = microBatches;
  }
  if (objective.getNumOccurrences() > 0) {
    options.objective = objective;
  }
}

StateFlags::StateFlags(cl::SubCommand &verb)
    : zero("zero", cl::sub(verb), on(ActsOn::Plan),
           cl::value_desc("0|1|2|3|P,G,S"),
           cl::desc("of a training step: split states of the optimizer (1), "
                    "gradients, too (2), and parameters (3), over the data "
                    "axes; or each over so many devices (default: searched)")),
      recompute("recompute", cl::sub(verb), on(ActsOn::Plan),
                cl::value_desc("auto|none|full"), cl::init("auto"),
                cl::desc("of a training step: compute again what the backward "
                         "pass needs, where memory asks for it (auto), "
                         "nothing, or all that may be")) {}

void StateFlags::fill(GivenOptions &options) const {
  options.zero = zero;
  options.recompute = recompute;
}
