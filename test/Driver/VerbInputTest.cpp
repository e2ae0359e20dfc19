//===- VerbInputTest.cpp --------------------------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Driver/VerbInput.h"

#include "lib/Driver/Sessions.h"
#include "lib/Driver/Verbs.h"

#include <gmock/gmock.h>

using namespace divisi;
using testing::HasSubstr;

/// A new option has to say what it acts on, or it would be ignored in silence
/// where that is decided.
TEST(VerbInput, EveryOptionSaysWhatItActsOn) {
  for (auto *make : {&makeCompileVerb, &makePlanVerb, &makeRunVerb,
                     &makeCheckVerb, &makeExplainVerb}) {
    Verb &verb = *make().release(); // LLVM's parser knows its options.
    EXPECT_GT(verb.command.OptionsMap.size(), 3u);
    for (auto [name, option] : verb.command.OptionsMap) {
      bool isGeneric =
          option->Categories.front()->getName() == "Generic Options";
      EXPECT_TRUE(isGeneric || stepOf(*option))
          << verb.command.getName().str() << " --" << name.str();
    }
  }
}

/// What one process of a session may be told in another way, another may wait
/// for in vain.
TEST(VerbInput, ProcessesTellEachOtherAllFlagsOfASession) {
  llvm::cl::SubCommand verb("session");
  SessionFlags flags(verb);
  std::vector<std::string> names, told;
  for (auto [name, option] : verb.OptionsMap) {
    if (stepOf(*option)) { // no option of LLVM's
      names.push_back(name.str());
    }
  }
  for (llvm::StringRef value : flags.alike.values()) {
    EXPECT_TRUE(value.consume_front("--"));
    told.push_back(value.split('=').first.str());
  }
  EXPECT_GE(names.size(), 12u);
  EXPECT_THAT(told, testing::UnorderedElementsAreArray(names));
}

TEST(VerbInput, StepsBehindAreRefused) {
  VerbInput model("m", VerbInput::Kind::Model);
  VerbInput artifact("m", VerbInput::Kind::Artifact);
  for (ActsOn step : allSteps()) {
    bool isImport = step == ActsOn::Import || step == ActsOn::Train,
         isPlan = step == ActsOn::Plan, isRewrite = step == ActsOn::Rewrite,
         isSchedule = step == ActsOn::Schedule, isLower = step == ActsOn::Lower;
    for (bool replan : {false, true}) {
      EXPECT_EQ(model.refusal(step, replan), "");
      EXPECT_EQ(artifact.refusal(step, replan) != "",
                isImport || isRewrite || isPlan || isSchedule || isLower);
      for (Stage stage : allStages()) {
        bool isDropped = stage <= Stage::Plan && replan;
        bool isOpen = stage < Stage::Plan || isDropped;
        bool isAsImported = stage <= Stage::Train || isDropped;
        EXPECT_EQ(VerbInput("m", stage).refusal(step, replan) != "",
                  isImport || (isPlan && !isOpen) ||
                      (isRewrite && !isAsImported) ||
                      (isSchedule && stage >= Stage::Schedule) ||
                      (isLower && stage == Stage::Lower));
      }
    }
  }
}

TEST(VerbInput, ReasonsSayWhatWouldHelp) {
  EXPECT_EQ(VerbInput("p.mlir", Stage::Plan).refusal(ActsOn::Plan, false),
            "'p.mlir' is a plan; --replan plans it again, or give the model");
  EXPECT_EQ(VerbInput("p.mlir", Stage::Lower).refusal(ActsOn::Plan, false),
            "'p.mlir' has been through the stage lower; give the model, or a "
            "plan with --replan");
  EXPECT_EQ(VerbInput("p.mlir", Stage::Import).refusal(ActsOn::Import, false),
            "'p.mlir' is IR, which has its shapes; give the model");
  EXPECT_EQ(VerbInput("p.mlir", Stage::Import).refusal(ActsOn::Train, false),
            "'p.mlir' is IR, in which weights may be folded; give the model");
  EXPECT_EQ(
      VerbInput("a", VerbInput::Kind::Artifact).refusal(ActsOn::Import, false),
      "'a' is an artifact; give the model");
}
