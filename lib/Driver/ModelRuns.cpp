//===- ModelRuns.cpp - Running models, not artifacts ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelRuns.h"

#include "divisi/Support/VisibleText.h"

#include <algorithm>
#include <random>

using namespace divisi;

/// Values that no operator chokes on: indices are small and not negative.
static divisi::Expected<rt::HostTensor> randomTensor(const rt::ValueInfo &value,
                                                     std::mt19937_64 &random) {
  bool isFloat = rt::isFloatType(value.type);
  auto tensor = rt::HostTensor::zeros(isFloat ? rt::DType::F32 : rt::DType::I64,
                                      value.dims);
  if (!tensor) {
    return tensor.status();
  }
  if (isFloat) {
    std::normal_distribution<float> normal;
    std::ranges::generate(tensor->as<float>(), [&] { return normal(random); });
  } else {
    std::ranges::generate(tensor->as<int64_t>(), [&] { return random() % 2; });
  }
  auto result = tensor->castTo(value.type);
  if (result) {
    result->setName(value.name);
  }
  return result;
}

divisi::Expected<std::vector<rt::HostTensor>>
divisi::drawInputs(const rt::EntryInfo &entry, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<rt::HostTensor> inputs;
  for (const rt::ValueInfo &value : entry.inputs) {
    auto tensor = randomTensor(value, random);
    if (!tensor) {
      return tensor.status();
    }
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}

divisi::Expected<LoadedEntry> divisi::loadPlanned(Compilation &model,
                                                  const PlanOptions &plan,
                                                  const SessionFlags &flags,
                                                  bool isReference) {
  auto planned = model.fork(plan);
  Status status;
  if (isReference) {
    planned->setRewriteMode(RewriteMode::Off);
    status = planned->replan({});
  }
  if (status.isOk()) {
    status = planned->advanceTo(Stage::Lower);
  }
  if (!status.isOk()) {
    return status;
  }
  auto artifact = planned->emitTemporary();
  if (!artifact) {
    return artifact.status();
  }
  return flags.open(artifact->path(),
                    isReference ? RunBy::Each : RunBy::Processes);
}

divisi::Expected<LoadedEntry> divisi::loadSingle(Compilation &model,
                                                 const std::string &name,
                                                 const PlanOptions &plan,
                                                 const SessionFlags &flags) {
  if (model.stage() > Stage::Plan) {
    return Status(
        ExitCode::Usage,
        "'" + name + "' has been through the stage " +
            stringifyStage(model.stage()).str() +
            ", so it cannot be compared with one device; check the plan or the "
            "model, or compile it and check the artifact with --expect");
  }
  PlanOptions single;
  single.grid.devices = 1;
  single.hostInstructionSet = plan.hostInstructionSet;
  single.control = plan.control;
  // Nobody asked for this plan, so that nothing is to be said of it.
  single.control.onPlan = {};
  return loadPlanned(model, single, flags, /*isReference=*/true);
}

divisi::Expected<std::unique_ptr<Compilation>>
divisi::loadOriginal(const std::string &path, const std::string &flag,
                     CompileOptions options, const rt::EntryInfo &other) {
  options.rewrite.mode = RewriteMode::Off;
  options.import.misfit = ExitCode::Invalid;
  for (const rt::ValueInfo &input : other.inputs) {
    options.import.inputs[input.name] = {input.dims, input.type};
  }
  if (llvm::StringRef(path).ends_with(".onnx")) {
    options.dataFiles.clear(); // They are those of dumps.
  }
  auto original = std::make_unique<Compilation>(std::move(options));
  if (Status status = original->load(path); !status.isOk()) {
    return status.in(flag);
  }
  return original;
}

divisi::Expected<std::vector<rt::HostTensor>>
divisi::runWithStates(const LoadedEntry &loaded,
                      const std::vector<rt::HostTensor> &inputs, bool again) {
  auto first = loaded.runWhole(inputs);
  again &= loaded.entry->name != kTrainStep &&
           std::ranges::any_of(loaded.session->globals(),
                               &rt::GlobalInfo::isUpdated);
  return first && again ? loaded.runWhole(inputs) : std::move(first);
}

static std::string textOf(const std::vector<rt::ValueInfo> &values) {
  std::string text;
  for (const rt::ValueInfo &value : values) {
    text +=
        (text.empty() ? "" : ", ") +
        visibleLine(value.name + " " + rt::describe(value.type, value.dims));
  }
  return text;
}

Status divisi::checkAlike(const rt::EntryInfo &before,
                          const rt::EntryInfo &after) {
  std::string old = textOf(before.inputs) + " -> " + textOf(before.outputs);
  std::string now = textOf(after.inputs) + " -> " + textOf(after.outputs);
  return old == now ? Status()
                    : makeError(ExitCode::Invalid, "before, the program has ",
                                old, ", but rewritten ", now,
                                "; expected two forms of one program");
}
