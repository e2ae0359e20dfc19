// Options that contradict each other or the module.
// RUN: not divisi-opt %s --nn-plan="devices=0" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ZERO
// RUN: not divisi-opt %s --nn-plan="devices=4097" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MANY
// RUN: not divisi-opt %s --nn-plan="devices=4 tensor-parallel-size=3" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DEGREE
// RUN: not divisi-opt %s --nn-plan="devices=4 batch-dim=-2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BATCH
// RUN: not divisi-opt %s --nn-plan="devices=4 solver=oracle" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SOLVER
// RUN: not divisi-opt %s --nn-plan="devices=2 memory-limit=30000" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MEMORY
// RUN: not divisi-opt %s --nn-plan="devices=2 tensor-parallel-size=2 solver=random" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANDOM
// RUN: divisi-opt %s --nn-plan="devices=2" \
// RUN:   | not divisi-opt --nn-plan="devices=2 solver=random" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=AGAIN
// RUN: divisi-opt %s --nn-plan="devices=2" \
// RUN:   | not divisi-opt --nn-plan="mesh=2x2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER

// The rest of PlanOptions, through the pipeline of the stage: each reaches the
// planner, which refuses it or plans otherwise.
// RUN: not divisi-opt %s --divisi-plan="devices=-1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NEGATIVE
// RUN: not divisi-opt %s --divisi-plan="devices=2 cluster=abacus" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=CLUSTER
// RUN: not divisi-opt %s --divisi-plan="devices=4 data-parallel-size=3" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=DATA
// RUN: not divisi-opt %s --divisi-plan="devices=2 work=-1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WORK
// RUN: not divisi-opt %s --divisi-plan="devices=2 gap=-0.5" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GAP
// RUN: not divisi-opt %s --divisi-plan="devices=2 max-strategies=0" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STRATEGIES
// RUN: not divisi-opt %s --divisi-plan="devices=2 max-axes=0" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=AXES
// RUN: not divisi-opt %s --divisi-plan="devices=2 recompute=some" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RECOMPUTE
// RUN: not divisi-opt %s --divisi-plan="devices=2 zero=1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=STAGE
// RUN: divisi-opt %s --divisi-plan="devices=4 solver=random seed=1" > %t.1
// RUN: divisi-opt %s --divisi-plan="devices=4 solver=random seed=2" > %t.2
// RUN: not diff -q %t.1 %t.2
// RUN: not divisi-opt %s --divisi-plan="devices=two" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NUMBER
// RUN: not divisi-opt %s --divisi-plan="no-such-option=1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN

// ZERO: error: the number of devices is 0, expected 1 to 4096
// MANY: error: the number of devices is 4097, expected 1 to 4096
// DEGREE: error: the tensor parallel size 3 does not divide the number of devices, 4
// BATCH: error: the batch dimension is -2, expected at least 0
// SOLVER: error: no solver is called 'oracle'; there are random, auto
// MEMORY: error: no plan fits into the memory limit of 30000 bytes per device (--memory-limit): at {{.*}} (nn.matmul) at least 130561 bytes are in use, 100561 more than the limit of 30000; the globals have 65536 bytes over 2 devices; raise --memory-limit or take more devices
// RANDOM: error: the solver random takes a number of devices or a mesh and a seed, no degrees of parallelism and no memory limit
// AGAIN: error: the module has strategies already, which the solver random would overwrite; plan a module without
// OTHER: error: the module has the grid @g, which is not the requested mesh; remove one of them
// NEGATIVE: error: the number of devices is -1, expected 1 to 4096
// CLUSTER: error: {{.*}}abacus
// DATA: error: the data parallel size 3 does not divide the number of devices, 4
// WORK: error: the budget of work is -1, expected at least 0
// RECOMPUTE: error: what is computed again is 'some', expected auto, none or full
// STAGE: error: ZeRO is for training steps, and the module updates no parameter by a gradient; leave --zero out, or add --train
// GAP: error: the gap is -0.5, expected at least 0
// STRATEGIES: error: the most strategies of an operator are 0, expected at least 1
// AXES: error: the most axes of a grid are 0, expected at least 1
// NUMBER: 'two' value invalid for an integer
// UNKNOWN: no such option no-such-option
module {
  nn.global @w parameter : tensor<128x128xf32>
  func.func @forward(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = nn.read @w : tensor<128x128xf32>
    %y = nn.matmul %x, %w {labels = "mk,kn->mn"}
      : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    return %y : tensor<128x128xf32>
  }
}
