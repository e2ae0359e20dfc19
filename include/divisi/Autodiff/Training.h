//===- Training.h - From a model to its training step -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A model becomes a step in two parts. Before anything of it is folded,
// markTrained() says which globals are trained: they keep their values to
// themselves from then on, as if some entry updated them (NN/Known.h). When
// dims and operators are final, makeTrainingStep() makes of
//
//   @forward(inputs) -> outputs
//
//   @train_step(inputs, labels) -> loss
//
// which updates what is trained and the optimizer's state.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_AUTODIFF_TRAINING_H
#define DIVISI_AUTODIFF_TRAINING_H

#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace divisi {

/// The name of the entry that makes a step.
inline constexpr llvm::StringLiteral kTrainStep = "train_step";
/// The names of what it returns: the loss, and whether it has changed nothing
/// since gradients were not finite, where that is asked for.
inline constexpr llvm::StringLiteral kLossOutput = "loss";
inline constexpr llvm::StringLiteral kSkippedOutput = "skipped";
/// What a step's input for its learning rate is called, a number of f64, and
/// the schedule that asks for it.
inline constexpr llvm::StringLiteral kRateInput = "lr";
inline constexpr llvm::StringLiteral kInputSchedule = "input";

/// What a user asks for. Numbers are as PyTorch's options of the same name.
struct TrainOptions {
  /// One of lossNames(); empty: the model is not trained.
  std::string loss;
  std::string lossOf;            ///< Of which output; empty: of the first.
  std::string labels = "labels"; ///< The name of the input that has them.
  bool shiftLabels = false;   ///< Position i is to predict the label of i + 1.
  int64_t ignoreIndex = -100; ///< Labels that do not count.
  double labelSmoothing = 0;  ///< What all classes share of a label.

  std::string optimizer = "adamw"; ///< One of optimizerNames().
  double rate = 1e-3;              ///< The learning rate, if it is no input.
  double momentum = 0;             ///< Of sgd.
  bool nesterov = false;           ///< Of sgd.
  double beta1 = 0.9;              ///< Of adam and adamw.
  double beta2 = 0.999;            ///< Of adam and adamw.
  double epsilon = 1e-8;           ///< Of adam and adamw.
  double weightDecay = 0;          ///< Decoupled from gradients in adamw.
  /// How the rate changes, one of scheduleNames(): it rises through `warmup`
  /// steps, and falls to 0 at step `steps`.
  std::string schedule = "constant";
  int64_t warmup = 0; ///< Steps.
  int64_t steps = 0;  ///< Of linear and cosine.
  /// How many batches of the model's shapes a step takes, as one of so many
  /// times the first extent.
  int64_t microBatches = 1;
  /// Whether the planner takes one for all, as of a pipeline, so that each is
  /// an iteration of a loop; else a few are written out, and many are a loop of
  /// a few each.
  bool isPipeline = false;
  /// Gradients are of the loss times this at first, which doubles after 2000
  /// steps and halves where a gradient is not finite; 0: they are of the loss.
  double lossScale = 0;
  bool skipNonfinite =
      false;           ///< A step of gradients that are not changes none.
  int64_t seed = 0;    ///< Of what dropout draws.
  double clipNorm = 0; ///< What gradients' common norm is cut to; 0: it is not.
  std::vector<std::string> noDecay; ///< Names of weights that do not decay.

  std::vector<std::string> only;   ///< Names of weights; empty: as a rule says.
  std::vector<std::string> freeze; ///< Names of weights that are not trained.

  /// Whether there is a step to make.
  bool isWanted() const { return !loss.empty(); }
};

/// `cross_entropy`, `mse`, …
llvm::ArrayRef<llvm::StringLiteral> lossNames();
/// `sgd`, `adam`, `adamw`
llvm::ArrayRef<llvm::StringLiteral> optimizerNames();
/// `constant`, `linear`, `cosine`, `input`
llvm::ArrayRef<llvm::StringLiteral> scheduleNames();

/// Which weights of a model are trained.
struct TrainedWeights {
  int64_t count = 0;    ///< How many globals are.
  int64_t elements = 0; ///< Theirs.
  /// Floats that are not, and why.
  std::vector<std::pair<std::string, std::string>> frozen;
  /// Biases of convolutions into which their batch norms were folded by who has
  /// exported the model: these norms are trained no more.
  std::vector<std::string> foldedNorms;
};

/// `training 12 weights of 4096 elements; not 'causal' (a mask)`
std::string describe(const TrainedWeights &weights);

/// Marks what is trained of `module`, as it was read from a model, and notes
/// `options` on it for makeTrainingStep(). Unless --train-only names them,
/// these are all parameters of which the loss is a smooth function, but what
/// their use or their numbers (in `store`) show to be no weights: running
/// statistics, masks, tables of rotary embeddings. ExitCode::Usage for names
/// that mean nothing, an output that is not there, and where nothing is
/// trained.
Expected<TrainedWeights> markTrained(mlir::ModuleOp module, GlobalStore &store,
                                     const TrainOptions &options);

/// What markTrained() has noted on `module`; not wanted where it has not.
/// ExitCode::Invalid for a note that was edited badly.
Expected<TrainOptions> notedTraining(mlir::ModuleOp module);

/// Makes the step of what markTrained() has marked, and takes its note away.
/// Fails, having reported an error, if a gradient goes through an operator that
/// has none, and if the options do not fit the model.
llvm::LogicalResult makeTrainingStep(mlir::ModuleOp module,
                                     const TrainOptions &options);

} // namespace divisi

#endif // DIVISI_AUTODIFF_TRAINING_H
