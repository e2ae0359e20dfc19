//===- TrainNote.cpp - What a module says of its training -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrainNote.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace divisi;

static constexpr StringLiteral kTrainAttr = "divisi.train";

namespace {

/// Writes every option as an attribute of its type.
struct Writer {
  Builder builder;
  NamedAttrList list;

  void operator()(StringRef name, const std::string &value) {
    list.set(name, builder.getStringAttr(value));
  }
  void operator()(StringRef name, const bool &value) {
    list.set(name, builder.getBoolAttr(value));
  }
  void operator()(StringRef name, const int64_t &value) {
    list.set(name, builder.getI64IntegerAttr(value));
  }
  void operator()(StringRef name, const double &value) {
    list.set(name, builder.getF64FloatAttr(value));
  }
  void operator()(StringRef name, const std::vector<std::string> &values) {
    SmallVector<StringRef> texts(values.begin(), values.end());
    list.set(name, builder.getStrArrayAttr(texts));
  }
};

/// The way back; names what is not there, or of another type.
struct Reader {
  DictionaryAttr attributes;
  std::string wrong;

  template <typename Attr, typename Take> void read(StringRef name, Take take) {
    auto attribute = attributes.getAs<Attr>(name);
    if (attribute) {
      take(attribute);
    } else if (wrong.empty()) {
      wrong = name.str();
    }
  }
  void operator()(StringRef name, std::string &value) {
    read<StringAttr>(name, [&](StringAttr a) { value = a.str(); });
  }
  void operator()(StringRef name, bool &value) {
    read<BoolAttr>(name, [&](BoolAttr a) { value = a.getValue(); });
  }
  void operator()(StringRef name, int64_t &value) {
    read<IntegerAttr>(
        name, [&](IntegerAttr a) { value = a.getValue().getSExtValue(); });
  }
  void operator()(StringRef name, double &value) {
    read<FloatAttr>(name, [&](FloatAttr a) { value = a.getValueAsDouble(); });
  }
  void operator()(StringRef name, std::vector<std::string> &values) {
    read<ArrayAttr>(name, [&](ArrayAttr a) {
      for (Attribute element : a) {
        if (auto text = dyn_cast<StringAttr>(element)) {
          values.push_back(text.str());
        } else {
          wrong = wrong.empty() ? name.str() : wrong;
        }
      }
    });
  }
};

} // namespace

/// Tells `field` name and reference of every option that makes a step.
template <typename Options, typename Field>
static void forEachOption(Options &options, Field &field) {
  field("loss", options.loss);
  field("loss_of", options.lossOf);
  field("labels", options.labels);
  field("shift_labels", options.shiftLabels);
  field("ignore_index", options.ignoreIndex);
  field("label_smoothing", options.labelSmoothing);
  field("optimizer", options.optimizer);
  field("rate", options.rate);
  field("momentum", options.momentum);
  field("nesterov", options.nesterov);
  field("beta1", options.beta1);
  field("beta2", options.beta2);
  field("epsilon", options.epsilon);
  field("weight_decay", options.weightDecay);
  field("schedule", options.schedule);
  field("warmup", options.warmup);
  field("steps", options.steps);
  field("micro_batches", options.microBatches);
  field("pipeline", options.isPipeline);
  field("loss_scale", options.lossScale);
  field("skip_nonfinite", options.skipNonfinite);
  field("clip_norm", options.clipNorm);
  field("no_decay", options.noDecay);
}

void divisi::noteTraining(ModuleOp module, const TrainOptions &options) {
  Writer writer{Builder(module.getContext()), {}};
  forEachOption(options, writer);
  module->setAttr(kTrainAttr, writer.list.getDictionary(module.getContext()));
}

void divisi::dropTrainingNote(ModuleOp module) {
  module->removeAttr(kTrainAttr);
}

Expected<TrainOptions> divisi::notedTraining(ModuleOp module) {
  TrainOptions options;
  Attribute attribute = module->getAttr(kTrainAttr);
  if (!attribute) {
    return options;
  }
  Reader reader{dyn_cast<DictionaryAttr>(attribute), ""};
  if (!reader.attributes) {
    reader.attributes = DictionaryAttr::get(module.getContext());
  }
  forEachOption(options, reader);
  bool isLoss = llvm::is_contained(lossNames(), options.loss);
  bool isOptimizer = llvm::is_contained(optimizerNames(), options.optimizer);
  if (reader.wrong.empty() && (!isLoss || !isOptimizer)) {
    reader.wrong = isLoss ? "optimizer" : "loss";
  }
  if (!reader.wrong.empty()) {
    return makeError(ExitCode::Invalid, kTrainAttr.str(), " has no '",
                     reader.wrong,
                     "' such as --train writes; dump the module again, or "
                     "remove the attribute to compile the model as it is");
  }
  return options;
}
