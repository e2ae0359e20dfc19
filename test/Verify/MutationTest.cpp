//===- MutationTest.cpp - verify-partition refuses every lie --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each program is partitioned, changed in one field at a time (Mutations.h),
// and judged. What is accepted is run, and must give what the unchanged program
// gives: results, and globals after two runs.
//
//===----------------------------------------------------------------------===//

#include "Mutations.h"

#include "dialects/NN/NN.h"
#include "divisi/Artifact/Emit.h"
#include "divisi/Compiler/CompareTensors.h"
#include "divisi/Compiler/Registration.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Verify/Partition.h"
#include "divisi/runtime/core/Session.h"
#include "passes/Lower/Passes.h"
#include "passes/Partition/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/Sample.h"
#include "gtest/gtest.h"

#include <iostream>
#include <map>
#include <random>
#include <set>

using namespace mlir;
using namespace divisi;

namespace {

/// What a run gives, or why there was none.
struct RunOutcome {
  std::string failure;
  std::vector<rt::HostTensor> tensors;
};

/// How the mutations of one program fared.
struct Tally {
  size_t notSaid = 0;  ///< No IR says that.
  size_t byTypes = 0;  ///< Refused by an operator's own verifier.
  size_t byProof = 0;  ///< Refused by verifyPartition.
  size_t bySyntax = 0; ///< Accepted by the proof, refused by the dialects.
  size_t harmless = 0; ///< Accepted, and computes the same.
  /// Of those by the proof: what the dialects alone would have let run, and
  /// how much of it fails or computes something else.
  size_t wouldRun = 0, wouldDiffer = 0;
};

class PartitionMutations : public testing::TestWithParam<const char *> {
protected:
  PartitionMutations() {
    DialectRegistry registry;
    registerAllDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
    context_.allowUnregisteredDialects();
  }

  void load(const std::string &name);
  RunOutcome run(ModuleOp partitioned);
  /// Judges one mutation; the name of what is wrong with the judgement.
  std::string judge(const Mutation &mutation, Tally &tally);

  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  std::vector<rt::HostTensor> inputs_;
  RunOutcome expected_;
};

/// Drops what passes and verifiers report: refusals are the rule here.
struct Silence {
  explicit Silence(MLIRContext *context)
      : handler(context, [](Diagnostic &) { return success(); }) {}
  ScopedDiagnosticHandler handler;
};

} // namespace

/// Values that tell shards apart; inside `test.range` if the argument has one.
static rt::HostTensor inputOf(func::FuncOp function, unsigned index) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
  auto range =
      function.getArgAttrOfType<DenseI64ArrayAttr>(index, "test.range");
  std::mt19937 random(index + 1);
  auto made = rt::HostTensor::zeros(*fromMLIRType(type.getElementType()),
                                    rt::Dims(type.getShape()));
  rt::HostTensor tensor = std::move(*made);
  if (tensor.type() == rt::DType::F32) {
    std::uniform_real_distribution<float> value(-2, 2);
    for (float &element : tensor.as<float>()) {
      element = value(random);
    }
    return tensor;
  }
  std::uniform_int_distribution<int64_t> value(range[0], range[1]);
  for (int64_t &element : tensor.as<int64_t>()) {
    element = value(random);
  }
  return tensor;
}

void PartitionMutations::load(const std::string &name) {
  module_ = parseSourceFile<ModuleOp>(
      std::string(DIVISI_PROGRAMS) + "/" + name + ".mlir", &context_);
  ASSERT_TRUE(module_);
  auto forward = module_->lookupSymbol<func::FuncOp>("forward");
  for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
    inputs_.push_back(inputOf(forward, i));
  }
  PassManager passes(&context_);
  buildPartitionPipeline(passes);
  ASSERT_TRUE(succeeded(passes.run(*module_)));
  OwningOpRef<ModuleOp> copy = module_->clone();
  expected_ = run(*copy);
  ASSERT_EQ(expected_.failure, "");
}

RunOutcome PartitionMutations::run(ModuleOp partitioned) {
  PassManager passes(&context_);
  buildLowerPipeline(passes);
  if (failed(passes.run(partitioned))) {
    return {"cannot be lowered", {}};
  }
  GlobalStore store;
  auto artifact = emitTemporaryArtifact(partitioned, store);
  if (!artifact) {
    return {artifact.status().message(), {}};
  }
  rt::SessionOptions options;
  options.backends = {&rt::referenceBackend()};
  options.timeout = std::chrono::milliseconds(100);
  auto session = rt::Session::open(artifact->path(), options);
  if (!session) {
    return {session.status().message(), {}};
  }
  RunOutcome outcome;
  for (int repeat = 0; repeat < 2; ++repeat) {
    auto outputs = (*session)->run("forward", inputs_);
    if (!outputs) {
      return {outputs.status().message(), {}};
    }
    std::move(outputs->begin(), outputs->end(),
              std::back_inserter(outcome.tensors));
  }
  for (const rt::GlobalInfo &global : (*session)->globals()) {
    auto value = (*session)->readGlobal(global.value.name);
    if (!value) {
      return {value.status().message(), {}};
    }
    outcome.tensors.push_back(std::move(*value));
  }
  return outcome;
}

/// Why `got` is not what was expected, or nothing.
static std::string compare(const RunOutcome &got, const RunOutcome &expected) {
  if (!got.failure.empty()) {
    return "does not run: " + got.failure;
  }
  if (got.tensors.size() != expected.tensors.size()) {
    return "gives another number of tensors";
  }
  for (size_t i = 0; i < got.tensors.size(); ++i) {
    Comparison comparison = compareTensors(got.tensors[i], expected.tensors[i]);
    if (!comparison.equal) {
      return "tensor " + std::to_string(i) + ": " + comparison.message;
    }
  }
  return "";
}

/// Whether the operators of nn verify: loop nests are stated of such only.
static bool operatorsVerify(ModuleOp module) {
  bool verify = true;
  module.walk([&](nn::LoopInterface op) {
    verify &= succeeded(op->getName().verifyInvariants(op));
  });
  return verify;
}

std::string PartitionMutations::judge(const Mutation &mutation, Tally &tally) {
  Silence silence(&context_);
  OwningOpRef<ModuleOp> copy = module_->clone();
  if (!mutation.apply(*copy)) {
    ++tally.notSaid;
    return "";
  }
  if (!operatorsVerify(*copy)) {
    ++tally.byTypes;
    return "";
  }
  if (failed(verifyPartition(*copy))) {
    ++tally.byProof;
    if (succeeded(mlir::verify(*copy))) {
      ++tally.wouldRun;
      tally.wouldDiffer += !compare(run(*copy), expected_).empty();
    }
    return "";
  }
  if (failed(mlir::verify(*copy))) {
    ++tally.bySyntax;
    return "";
  }
  std::string difference = compare(run(*copy), expected_);
  if (difference.empty()) {
    ++tally.harmless;
    return "";
  }
  return mutation.name + " was accepted, but " + difference;
}

/// What is changed of which operation: `forward nn.add result lies` of
/// `forward nn.add #7: result lies as [x, *]`.
static std::string kindOf(const Mutation &mutation) {
  llvm::StringRef name = mutation.name;
  auto [where, what] = name.split(" #");
  auto [first, rest] = what.split(": ").second.split(' ');
  return (where + " " + first + " " + rest.split(' ').first).str();
}

/// A share of the mutations of each kind.
static std::vector<Mutation> sampleOfKinds(const std::vector<Mutation> &all) {
  std::map<std::string, std::vector<size_t>> kinds;
  for (size_t i = 0; i != all.size(); ++i) {
    kinds[kindOf(all[i])].push_back(i);
  }
  std::set<size_t> kept;
  for (const auto &[kind, numbers] : kinds) {
    for (size_t number : test::sampleOf(numbers, kind)) {
      kept.insert(number);
    }
  }
  std::vector<Mutation> mutations;
  for (size_t number : kept) {
    mutations.push_back(all[number]);
  }
  return mutations;
}

TEST_P(PartitionMutations, WhatIsAcceptedComputesTheSame) {
  load(GetParam());
  std::vector<Mutation> mutations = sampleOfKinds(listMutations(*module_));
  Tally tally;
  size_t wrong = 0;
  for (const Mutation &mutation : mutations) {
    std::string complaint = judge(mutation, tally);
    if (!complaint.empty()) {
      ++wrong;
      ADD_FAILURE() << complaint;
    }
  }
  size_t tried = mutations.size() - tally.notSaid;
  std::cout << GetParam() << ": " << tried << " mutations, refused "
            << tally.byProof + tally.byTypes + tally.bySyntax << " ("
            << tally.byProof << " by verify-partition, "
            << tally.byTypes + tally.bySyntax
            << " by verifiers of operators), accepted " << tally.harmless
            << " that compute the same and " << wrong << " that do not; of "
            << tally.wouldRun << " that only verify-partition refuses, "
            << tally.wouldDiffer << " do not run or compute something else\n";
  // Programs without collectives or with few fields would prove little.
  EXPECT_GE(tally.byProof, test::isSweep() ? 100u : 1u);
}

INSTANTIATE_TEST_SUITE_P(, PartitionMutations,
                         testing::Values("megatron", "convolution", "embedding",
                                         "two_grids", "state", "windows"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });
