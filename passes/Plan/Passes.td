//===- Passes.td - Passes of the Plan stage ----------------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_PLAN_PASSES_TD
#define DIVISI_PASSES_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def IsolateBodies : Pass<"isolate-bodies", "::mlir::ModuleOp"> {
  let summary = "give every body one loop that runs it, and no globals";
  let description = [{
    Precondition: values are global.

    Effect: an `nn.if` becomes two `nn.loop`, one for each branch, that run at
    most once. A body that several loops run is copied for each. Globals that a
    body reads become its arguments, which the loop provides. A body that
    updates a global is an error.

    Postcondition: bodies touch no globals, and each is run by one `nn.loop`.

    ```mlir
    func.func private @step(%i: tensor<i64>, %x: T) -> T {
      %w = nn.read @w : T
      …
    }
    %y = nn.loop @step(%n, %x) max 3 : …
    // becomes
    func.func private @step(%i: tensor<i64>, %x: T, %w: T) -> T { … }
    %w = nn.read @w : T
    %y = nn.loop @step(%n, %x, %w) max 3 : …
    ```
  }];
  let dependentDialects = ["::divisi::nn::NNDialect",
                           "::mlir::func::FuncDialect"];
}

def MicroBatches : Pass<"micro-batches", "::mlir::ModuleOp"> {
  let summary = "let a call take several batches, one after the other";
  let description = [{
    Precondition: values are global; entries update no globals.

    Effect: arguments of entries that have a batch, and all results, have
    `count` times as many rows. The operators of the first batch stand for those
    of all (`pipe.each`); they take its rows.

    Postcondition: as of `fold-micro-batches`.

    ```mlir
    func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = nn.relu %x : …
      return %y : …
    }
    // becomes, with count=2
    func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32>
        attributes {pipe.micro_batches = 2 : i64} {
      %x0 = nn.slice %x {limits = array<i64: 4>, …, pipe.each} : …
      %y0 = nn.relu %x0 {pipe.each} : …
      %y = nn.concat %y0, %y0 {axis = 0, pipe.join} : …
      return %y : …
    }
    ```
  }];
  let options = [
    Option<"count", "count", "int64_t", "1", "how many batches">,
  ];
  let dependentDialects = ["::divisi::nn::NNDialect",
                           "::divisi::pipe::PipeDialect",
                           "::mlir::func::FuncDialect"];
}

def FoldMicroBatches : Pass<"fold-micro-batches", "::mlir::ModuleOp"> {
  let summary = "let the first micro-batch of a loop of them stand for all";
  let description = [{
    Precondition: values are global; `isolate-bodies` has run. A body with
    `nn.micro_batches` is one micro-batch an iteration (Train makes these for
    pipelines), of which the entry that runs it has no other.

    Effect: the loop is replaced by what its first iteration does. What depends
    on the iteration has `pipe.each`; what is carried, `pipe.gives` and
    `pipe.takes`. A row that the iteration takes of reshaped values is a slice
    of these.

    Postcondition: the entry has `pipe.micro_batches`, and no such loop.
    Operators without `pipe.each` use of those with it what is carried, which is
    that of the last micro-batch, and what they join.
  }];
  let dependentDialects = ["::divisi::nn::NNDialect",
                           "::divisi::pipe::PipeDialect",
                           "::mlir::func::FuncDialect"];
}

def WriteMicroBatches : Pass<"write-micro-batches", "::mlir::ModuleOp"> {
  let summary = "write out the micro-batches that the first one stands for";
  let description = [{
    Precondition: that of `fold-micro-batches` has held. Plans may have been
    made.

    Effect: operators with `pipe.each` are there for each micro-batch, one after
    the other, with the attributes of the first one; their `pipe.step`, which
    they get here where there is no schedule, says whose they are. Slices of the
    inputs take the rows of their own. What is carried goes from one to the
    next; a sum begins with the first summand.

    With `most`, of more than so many the first ones are there alone, in the
    order that they have among all, and the last of them stands for others that
    are joined. Nobody can run that, but what devices would hold is known by it
    (Plan/FewBatches.h).

    Postcondition: no attribute of micro-batches is left but `pipe.step` and
    `pipe.schedule`.
  }];
  let options = [
    Option<"most", "most", "int64_t", /*default=*/"0",
           "micro-batches to write out, 0: all">];
  let dependentDialects = ["::divisi::nn::NNDialect",
                           "::divisi::pipe::PipeDialect",
                           "::mlir::func::FuncDialect"];
}

def OrderSteps : Pass<"order-steps", "::mlir::func::FuncOp"> {
  let summary = "order operators as the schedule of a pipeline says";
  let description = [{
    Precondition: values are global; operators of an entry with `pipe.schedule`
    have `pipe.step` (dialects/Pipe).

    Effect: the operators of each stage are in the order of its steps. One that
    needs what a later step makes comes directly behind that; one of no step
    before its first user, or, if it joins micro-batches, behind its last
    operand.

    Postcondition: the same program. Running the pass again changes nothing.

    ```mlir
    func.func @f(…) attributes {pipe.schedule = {…,
        order = ["0.F0 0.F1", "1.F0 1.F1"]}} {
      %0 = nn.relu %a {pipe.step = "0.F0"}
      %1 = nn.relu %b {pipe.step = "0.F1"}
      %2 = nn.relu %0 {pipe.step = "1.F0"}
    // becomes
      %0 = nn.relu %a {pipe.step = "0.F0"}
      %2 = nn.relu %0 {pipe.step = "1.F0"}
      %1 = nn.relu %b {pipe.step = "0.F1"}
    ```
  }];
  let dependentDialects = ["::divisi::pipe::PipeDialect"];
}

def NNPlan : Pass<"nn-plan", "::mlir::ModuleOp"> {
  let summary = "choose grids, and a strategy for every operator and value";
  let description = [{
    Precondition: `nn` functions over global shapes.

    Effect: the module gets a grid; every operator of the entry functions gets
    `spmd.split`, every global, argument and result `spmd.place`, and values
    with several users `spmd.places` if their layout should differ from that of
    their producer. All entries are planned together, because they share
    globals. Existing annotations are kept. The module records the stage, and
    the cluster if one was named.

    Postcondition: `verify-plan` holds.

    ```mlir
    nn.global @w parameter : tensor<64x64xf32>
    %w = nn.read @w : tensor<64x64xf32>
    %y = nn.matmul %x, %w {labels = "mk,kn->mn"} : …
    // becomes
    spmd.grid @g (x0 = 2)
    nn.global @w parameter : tensor<64x64xf32>
        {spmd.place = #spmd.place<@g: [*, x0]>}
    %y = nn.matmul %x, %w {labels = "mk,kn->mn",
                           spmd.split = #spmd.split<@g: n@x0>} : …
    ```
  }];
  let options = [
    Option<"cluster", "cluster", "std::string", "",
           "a preset: cpu:N, dgx-h100:N">,
    Option<"devices", "devices", "std::optional<int64_t>", "std::nullopt",
           "the number of devices">,
    Option<"mesh", "mesh", "std::string", "", "2x4 or data=2,model=4">,
    Option<"dataParallel", "data-parallel-size", "std::optional<int64_t>",
           "std::nullopt",
           "devices that share the batch">,
    Option<"tensorParallel", "tensor-parallel-size", "std::optional<int64_t>",
           "std::nullopt",
           "devices that share the parameters">,
    Option<"pipelineStages", "pipeline-parallel-size", "int64_t", "1",
           "the stages of a pipeline, each on an equal part of the devices">,
    ListOption<"stageDevices", "stage-devices", "int64_t",
               "how many devices each stage has, if they are unequal">,
    Option<"searchesStageDevices", "search-stage-devices", "bool", "false",
           "whether these numbers are searched">,
    Option<"dividesBranches", "branch-parallel", "bool", "false",
           "whether branches may run beside each other, on parts of the "
           "devices">,
    Option<"chunksPerStage", "num-stages-per-device", "int64_t", "0",
           "chunks of the model that a stage of a pipeline has">,
    Option<"schedule", "schedule", "std::string", "\"auto\"",
           "the order of a pipeline's steps: auto, 1f1b, …">,
    Option<"batchDim", "batch-dim", "int64_t", "0",
           "the dimension of the inputs that is the batch">,
    Option<"memoryLimit", "memory-limit", "std::optional<int64_t>",
           "std::nullopt",
           "bytes per device; without, what a device of the cluster has">,
    Option<"zero", "zero", "std::string", "\"\"",
           "where states of a training step rest: 0 to 3, or 8,8,64">,
    Option<"recompute", "recompute", "std::string", "\"auto\"",
           "what a training step computes again: auto, none or full">,
    Option<"judge", "judge", "std::string", "\"simulated\"",
           "what decides between plans: simulated, the time with overlap, or "
           "sum, that of all operators and collectives">,
    Option<"solver", "solver", "std::string", "\"auto\"",
           "auto, another solver of the search, or random">,
    Option<"seed", "seed", "uint64_t", "0", "the seed of the solver">,
    Option<"maxAxes", "max-axes", "std::optional<int64_t>", "std::nullopt",
           "the maximum number of axes of a grid">,
    Option<"work", "work", "int64_t", "::divisi::PlanOptions().work",
           "the budget of the solver, in matrix entries">,
    Option<"gap", "gap", "double", "::divisi::PlanOptions().gap",
           "the relative gap at which the solver may stop">,
    Option<"maxStrategies", "max-strategies", "size_t",
           "::divisi::PlanOptions().maxStrategies",
           "the maximum number of strategies of an operator or value">,
    Option<"report", "report", "bool", "false",
           "print the predicted time and memory as a remark">,
  ];
  let statistics = [
    Statistic<"numNodes", "nodes", "nodes of the planning problem">,
    Statistic<"numEdges", "edges", "edges of the planning problem">,
  ];
  let dependentDialects = ["::divisi::pipe::PipeDialect",
                           "::divisi::spmd::SPMDDialect"];
}

def VerifyPlan : Pass<"verify-plan", "::mlir::ModuleOp"> {
  let summary = "check that everything has a legal strategy";
  let description = [{
    Every operator of the entry functions has a strategy that is legal on its
    grid, every global that they read, every argument and every result a place
    that holds all of the tensor; no two grids overlap without one holding the
    other.
  }];
}

#endif // DIVISI_PASSES_PLAN_PASSES_TD
