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
// RUN: not divisi-opt %s --nn-plan="devices=2 mesh=2 solver=random" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANDOM
// RUN: divisi-opt %s --nn-plan="devices=2" \
// RUN:   | not divisi-opt --nn-plan="devices=2 solver=random" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=AGAIN
// RUN: divisi-opt %s --nn-plan="devices=2" \
// RUN:   | not divisi-opt --nn-plan="mesh=2x2" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OTHER

// ZERO: error: the number of devices is 0, expected 1 to 4096
// MANY: error: the number of devices is 4097, expected 1 to 4096
// DEGREE: error: the tensor parallel size 3 does not divide the number of devices, 4
// BATCH: error: the batch dimension is -2, expected at least 0
// SOLVER: error: no solver is called 'oracle'; there are random, auto
// MEMORY: error: no plan fits into the memory limit: at time 1 at least 98304 bytes are in use, 68304 more than the limit of 30000 (nn.matmul at {{.*}}); the globals have 65536 bytes over 2 devices; raise --memory-limit or take more devices
// RANDOM: error: the solver random takes a number of devices and a seed, no mesh, no degrees of parallelism and no memory limit
// AGAIN: error: the module has strategies already, which the solver random would overwrite; plan a module without
// OTHER: error: the module has the grid @g, which is not the mesh that is asked for; remove one of them
module {
  nn.global @w parameter : tensor<128x128xf32>
  func.func @forward(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %w = nn.read @w : tensor<128x128xf32>
    %y = nn.matmul %x, %w {labels = "mk,kn->mn"}
      : (tensor<128x128xf32>, tensor<128x128xf32>) -> tensor<128x128xf32>
    return %y : tensor<128x128xf32>
  }
}
