//===- VerbInput.h - What a verb got ----------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A verb takes a model, IR of any stage, or an artifact. What an option would
// decide may be decided already in what it got:
//
//   --devices is decided already: 'plan4.mlir' is a plan; --replan plans it
//   again, or give the model
//
// So every option says what it acts on (ActsOn.h), and once the input is known,
// those that were given are compared with how far it has come.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_VERBINPUT_H
#define DIVISI_LIB_DRIVER_VERBINPUT_H

#include "ActsOn.h"
#include "divisi/Compiler/Stage.h"
#include "divisi/Support/Status.h"

#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// An input as far as it has come.
class VerbInput {
public:
  /// What a file can be.
  enum class Kind : uint8_t { Model, IR, Artifact };

  /// A model or an artifact.
  VerbInput(std::string path, Kind kind)
      : path_(std::move(path)), kind_(kind) {}
  /// IR that has been through `stage`.
  VerbInput(std::string path, Stage stage)
      : path_(std::move(path)), kind_(Kind::IR), stage_(stage) {}

  /// Honours `option`, whatever it acts on.
  void honour(const llvm::cl::Option &option) { also_.push_back(&option); }

  /// ExitCode::Usage for the options of `verb` that were given and act on what
  /// is decided. `replan`: its plan is dropped before.
  Status check(llvm::cl::SubCommand &verb, bool replan) const;

  /// Why options on `step` have no say in it, and what would give them one;
  /// empty if they have.
  std::string refusal(ActsOn step, bool replan) const;

private:
  Status checkReplan() const;
  std::string refusalBehind(Stage step) const;

  std::string path_;
  Kind kind_;
  Stage stage_ = Stage::Import; ///< Of IR: the last that is over.
  std::vector<const llvm::cl::Option *> also_;
};

/// Whether the file `path` begins as artifacts do.
bool isArtifact(const std::string &path);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_VERBINPUT_H
