//===- ExportWeightsVerb.cpp - divisi export-weights ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "OutputFlag.h"
#include "Outputs.h"
#include "Verbs.h"
#include "divisi/Import/ExportWeights.h"
#include "divisi/runtime/tensors/TensorFile.h"
#include "divisi/runtime/training/Checkpoint.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace divisi;

namespace {

class ExportWeightsVerb : public Verb {
public:
  ExportWeightsVerb() : Verb("export-weights") {}
  Status run() override;

private:
  Status check() const;
  Status readSource(NewWeights &weights);
  Status readFolder(NewWeights &weights);

  cl::opt<std::string> source_{cl::Positional, cl::sub(command), cl::Required,
                               cl::desc("CHECKPOINT|FOLDER|STATE.npz")};
  cl::opt<std::string> model_{"model", cl::sub(command), on(ActsOn::Import),
                              cl::value_desc("M.onnx"),
                              cl::desc("the model whose weights were trained")};
  OutputFlag output_{command, "OUT.onnx|OUT.safetensors",
                     cl::desc("the file for the model with these weights, or "
                              "for the weights alone")};
  std::optional<rt::Checkpoint> checkpoint_;
  std::vector<rt::GivenTensor> tensors_;
};

} // namespace

Status ExportWeightsVerb::check() const {
  if (model_.empty() || output_.empty()) {
    return makeError(ExitCode::Usage, "export-weights needs ",
                     model_.empty() ? "--model M.onnx" : "-o OUT.onnx");
  }
  StringRef path = output_.getValue();
  if (!path.ends_with(".onnx") && !path.ends_with(".safetensors")) {
    return makeError(ExitCode::Usage, "-o '", output_.getValue(),
                     "': expected a name that ends with .onnx or "
                     ".safetensors");
  }
  OutputCheck files;
  files.addInput("the model", model_);
  files.addTensors("the state", source_.getValue());
  return files.addOutput("-o", output_);
}

/// A checkpoint, or the newest in a folder of some.
Status ExportWeightsVerb::readFolder(NewWeights &weights) {
  std::string path = source_;
  auto among = rt::findCheckpoints(path);
  if (!among) {
    return among.status();
  }
  if (!among->empty()) {
    path = among->front();
    sayNote() << "'" << path << "' is the newest checkpoint";
  }
  auto opened = rt::Checkpoint::open(path);
  if (!opened) {
    return opened.status();
  }
  checkpoint_ = std::move(*opened);
  for (const rt::StoredTensor &tensor : checkpoint_->tensors()) {
    weights.heads[tensor.name] = {tensor.type, tensor.dims,
                                  tensor.kind == "parameter"};
  }
  weights.read = [this](const std::string &name) {
    auto tensor = find_if(checkpoint_->tensors(),
                          [&](const auto &each) { return each.name == name; });
    return checkpoint_->read(*tensor);
  };
  return {};
}

Status ExportWeightsVerb::readSource(NewWeights &weights) {
  if (sys::fs::is_directory(source_)) {
    return readFolder(weights);
  }
  auto tensors = rt::readTensors(source_, "input");
  if (!tensors) {
    return tensors.status();
  }
  tensors_ = std::move(*tensors);
  for (const rt::GivenTensor &tensor : tensors_) {
    weights.heads[tensor.label.name] = {tensor.head.type, tensor.head.dims};
  }
  weights.read = [this](const std::string &name) {
    auto tensor = find_if(tensors_, [&](const rt::GivenTensor &each) {
      return each.label.name == name;
    });
    return tensor->take();
  };
  return {};
}

Status ExportWeightsVerb::run() {
  NewWeights weights;
  Status status = check();
  if (status.isOk()) {
    status = readSource(weights);
  }
  if (!status.isOk()) {
    return status;
  }
  bool isSafe = StringRef(output_).ends_with(".safetensors");
  auto written = isSafe ? writeSafeWeights(model_, weights, output_)
                        : writeOnnxWeights(model_, weights, output_);
  if (!written) {
    return written.status();
  }
  for (const auto &[from, to] : written->renamed) {
    sayNote() << "'" << from << "' is '" << to << "', transposed";
  }
  if (!checkpoint_ && !written->unused.empty()) {
    sayNote() << "the model has no '" << join(written->unused, "', '")
              << "': not written";
  }
  tellWritten(output_, countText(written->replaced, "weight") + " of '" +
                           source_.getValue() + "', " +
                           countText(written->kept, "other initializer"));
  return {};
}

std::unique_ptr<Verb> divisi::makeExportWeightsVerb() {
  return std::make_unique<ExportWeightsVerb>();
}
