//===- TrainFlags.h - Flags of training steps -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_TRAINFLAGS_H
#define DIVISI_LIB_DRIVER_TRAINFLAGS_H

#include "divisi/Compiler/Options.h"

#include "llvm/Support/CommandLine.h"

#include <string>

namespace divisi {

/// What a model is trained by.
struct TrainFlags {
  /// Adds --train, and what says how, to `verb`.
  explicit TrainFlags(llvm::cl::SubCommand &verb);
  /// Copies what was given to `options`.
  void fill(GivenOptions &options) const;

  /// As they were given.
  llvm::cl::opt<bool> train;
  llvm::cl::opt<std::string> loss;
  llvm::cl::opt<std::string> lossOf;
  llvm::cl::opt<std::string> labels;
  llvm::cl::opt<bool> shiftLabels;
  llvm::cl::opt<int64_t> ignoreIndex;
  llvm::cl::opt<double> labelSmoothing;
  llvm::cl::opt<std::string> optimizer;
  llvm::cl::opt<double> rate;
  llvm::cl::opt<double> momentum;
  llvm::cl::opt<bool> nesterov;
  llvm::cl::opt<double> beta1;
  llvm::cl::opt<double> beta2;
  llvm::cl::opt<double> epsilon;
  llvm::cl::opt<double> weightDecay;
  llvm::cl::opt<std::string> schedule;
  llvm::cl::opt<int64_t> warmup;
  llvm::cl::opt<int64_t> steps;
  llvm::cl::opt<double> lossScale;
  llvm::cl::opt<int64_t> seed;
  llvm::cl::opt<bool> skipNonfinite;
  llvm::cl::opt<double> clipNorm;
  llvm::cl::list<std::string> noDecay;
  llvm::cl::list<std::string> only;
  llvm::cl::list<std::string> freeze;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_TRAINFLAGS_H
