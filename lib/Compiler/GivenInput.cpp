//===- GivenInput.cpp - Which options an input leaves open ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/GivenInput.h"

#include "divisi/Support/MappedFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

#include <array>
#include <map>
#include <span>

using namespace llvm;
using namespace divisi;

bool divisi::isArtifact(const std::string &path) {
  std::array<char, 6> head = {};
  if (!sys::fs::is_regular_file(path)) {
    return false; // opening a pipe would take it from who reads it next
  }
  auto file = OpenFile::open(path);
  return file &&
         file->read(0, std::as_writable_bytes(std::span(head))).isOk() &&
         StringRef(head.data(), head.size()) == "DIVISI";
}

std::string GivenInput::refusalBehind(Stage step) const {
  if (kind_ == Kind::Artifact) {
    return "'" + path_ + "' is an artifact; give the model, or a dump";
  }
  return kind_ == Kind::IR && stage_ >= step
             ? "'" + path_ + "' has been through the stage " +
                   stringifyStage(stage_).str() +
                   "; give the model, or an earlier dump"
             : "";
}

std::string GivenInput::refusal(ActsOn step, bool replan) const {
  bool isPlan = step == ActsOn::Plan || step == ActsOn::Rewrite;
  if (step == ActsOn::Schedule || step == ActsOn::Lower) {
    return refusalBehind(step == ActsOn::Lower ? Stage::Lower
                                               : Stage::Schedule);
  }
  bool isOfModels = step == ActsOn::Import || step == ActsOn::Train;
  if (kind_ == Kind::Model || (!isPlan && !isOfModels)) {
    return "";
  }
  std::string model =
      isPlan ? "; give the model, or a plan with --replan" : "; give the model";
  std::string name = "'" + path_ + "'";
  if (kind_ == Kind::Artifact) {
    return name + " is an artifact" + model;
  }
  if (!isPlan) {
    return name +
           (step == ActsOn::Train ? " is IR, in which weights may be folded"
                                  : " is IR, which has its shapes") +
           model;
  }
  Stage last = step == ActsOn::Rewrite ? Stage::Train : Stage::Rewrite;
  if (stage_ <= last || (stage_ <= Stage::Plan && replan)) {
    return "";
  }
  return stage_ == Stage::Plan
             ? name + " is a plan; --replan plans it again, or give the model"
             : name + " has been through the stage " +
                   stringifyStage(stage_).str() + model;
}

/// What --replan asks for: strategies that can be taken off.
Status GivenInput::checkReplan() const {
  if (kind_ == Kind::Model) {
    return Status(ExitCode::Usage, "--replan is for a plan: '" + path_ +
                                       "' is a model, which has none");
  }
  if (kind_ == Kind::IR && stage_ <= Stage::Plan) {
    return Status();
  }
  std::string state =
      kind_ == Kind::Artifact
          ? " is an artifact"
          : " has been through the stage " + stringifyStage(stage_).str();
  return Status(ExitCode::Usage,
                "--replan is for a plan, whose strategies can be dropped: '" +
                    path_ + "'" + state +
                    "; give the plan that it was made from, or the model");
}

Status GivenInput::check(ArrayRef<GivenOption> given, bool replan) const {
  if (replan) {
    if (Status status = checkReplan(); !status.isOk()) {
      return status;
    }
  }
  std::map<std::string, std::vector<std::string>> refused; // By reason.
  for (const GivenOption &option : given) {
    if (std::string why = refusal(option.step, replan); !why.empty()) {
      refused[why].push_back(option.name);
    }
  }
  std::vector<std::string> mistakes;
  for (auto &[why, names] : refused) {
    llvm::sort(names);
    mistakes.push_back(join(names, " and ") +
                       (names.size() > 1 ? " are" : " is") +
                       " decided already: " + why);
  }
  return mistakes.empty() ? Status()
                          : Status(ExitCode::Usage, join(mistakes, "; "));
}
