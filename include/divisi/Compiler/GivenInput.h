//===- GivenInput.h - Which options an input leaves open --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A caller gives a model, IR of any stage, or an artifact. What an option would
// decide may be decided already in what it got:
//
//   --devices is decided already: 'plan4.mlir' is a plan; --replan plans it
//   again, or give the model
//
// So every option states which stage it acts on, and once the input is known,
// the given options are checked against the input's stage.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_COMPILER_GIVENINPUT_H
#define DIVISI_COMPILER_GIVENINPUT_H

#include "divisi/Compiler/Stage.h"
#include "divisi/Support/Status.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace divisi {

/// What an option acts on, in the order in which inputs go through it.
enum class ActsOn : uint8_t {
  Answer,   ///< What the verb answers: no input has that behind it.
  Import,   ///< Models alone.
  Train,    ///< Models alone.
  Rewrite,  ///< What has no plan either, and has not been rewritten.
  Plan,     ///< What has no plan, or loses it by --replan.
  Schedule, ///< What has no schedule.
  Lower,    ///< What has no calls of kernels.
  Dump,     ///< Stages that are run; each value says which.
  Emit,     ///< Everything that is not an artifact yet.
  Run,      ///< Runs of the program.
};

/// All of them, in that order.
inline llvm::ArrayRef<ActsOn> allSteps() {
  static constexpr ActsOn kSteps[] = {
      ActsOn::Answer, ActsOn::Import,   ActsOn::Train, ActsOn::Rewrite,
      ActsOn::Plan,   ActsOn::Schedule, ActsOn::Lower, ActsOn::Dump,
      ActsOn::Emit,   ActsOn::Run};
  return kSteps;
}

/// An option that was given.
struct GivenOption {
  std::string name;             ///< As callers write it: `--devices`.
  ActsOn step = ActsOn::Answer; ///< What it acts on.
};

/// An input as far as it has come.
class GivenInput {
public:
  /// What a file can be.
  enum class Kind : uint8_t { Model, IR, Artifact };

  /// A model or an artifact.
  GivenInput(std::string path, Kind kind)
      : path_(std::move(path)), kind_(kind) {}
  /// IR that has been through `stage`.
  GivenInput(std::string path, Stage stage)
      : path_(std::move(path)), kind_(Kind::IR), stage_(stage) {}

  /// ExitCode::Usage for those of `given` that act on what is decided, and for
  /// `replan`, by which the plan is dropped before, where there is none.
  Status check(llvm::ArrayRef<GivenOption> given, bool replan) const;

  /// Why options on `step` have no say in it, and what would give them one;
  /// empty if they have.
  std::string refusal(ActsOn step, bool replan) const;

private:
  Status checkReplan() const;
  std::string refusalBehind(Stage step) const;

  std::string path_;
  Kind kind_;
  Stage stage_ = Stage::Import; ///< Of IR: the last that is over.
};

/// Whether `path` is a regular file that begins as artifacts do. Nothing else
/// is opened: a pipe can be read but once.
bool isArtifact(const std::string &path);

} // namespace divisi

#endif // DIVISI_COMPILER_GIVENINPUT_H
