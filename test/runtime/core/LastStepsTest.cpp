//===- LastStepsTest.cpp - Tests of what ranks did last -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/LastSteps.h"
#include "divisi/Support/InputText.h"
#include "test/runtime/core/TestBackend.h"
#include "test/runtime/core/TestSession.h"

#include <filesystem>
#include <gmock/gmock.h>

using namespace divisi;
using namespace divisi::rt;
using testing::HasSubstr;

TEST(LastStepsTest, theOldestAreForgotten) {
  LastSteps steps;
  EXPECT_TRUE(steps.notes().empty());
  for (uint32_t run = 0; run < 3; ++run) {
    steps.beginRun();
    for (uint32_t i = 0; i < 40; ++i) {
      steps.note(run, i, i % 2 == 1, int64_t(run) * 100 + i);
    }
  }
  std::vector<LastSteps::Note> notes = steps.notes();
  ASSERT_EQ(notes.size(), LastSteps::most - 1);
  for (size_t i = 0; i < notes.size(); ++i) {
    size_t number = 120 - notes.size() + i;
    EXPECT_EQ(notes[i].run, number / 40);
    EXPECT_EQ(notes[i].entry, number / 40);
    EXPECT_EQ(notes[i].instruction, number % 40);
    EXPECT_EQ(notes[i].isDone, number % 2 == 1);
    EXPECT_EQ(notes[i].time, int64_t(number / 40 * 100 + number % 40));
  }
}

// Rank 0 is held up in a kernel, for which the others wait.
TEST(LastStepsTest, sayWhoWaitsWhere) {
  pb::Manifest manifest = matmulManifest(3, MatmulSplit::M);
  manifest.mutable_entries(0)
      ->mutable_programs(0)
      ->mutable_instructions(0)
      ->mutable_call()
      ->set_op(operatorNumber(manifest, "test.slow"));
  SessionOptions options = testOptions();
  options.timeout = options.lateness = std::chrono::milliseconds(50);
  auto session = openSession(manifest, {counting(30)}, options);
  ASSERT_TRUE(session) << session.status().message();
  TestBackend::gate.close();
  auto y = (*session)->run("forward", listOf(makeTensor({4, 6}, counting(24))));
  EXPECT_EQ(y.status().code(), ExitCode::Device);
  std::string path = temporaryFile("steps.json");
  EXPECT_TRUE((*session)->writeLastSteps(path).isOk());
  TestBackend::gate.open();
  auto text = InputText::readFile(path);
  ASSERT_TRUE(text);
  EXPECT_THAT(std::string(text->text()),
              HasSubstr("{\"rank\": 0, \"works_at\": \"entry "
                        "'forward', program 0, instruction 0 (node of "
                        "test.matmul), rank 0\", \"steps\": []}"));
  EXPECT_THAT(std::string(text->text()),
              HasSubstr("{\"rank\": 1, \"works_at\": \"\", \"steps\": [\n"
                        "{\"run\": 0, \"entry\": \"forward\", "
                        "\"instruction\": 1, \"what\": \"all_gather\", "
                        "\"node\": \"move\", \"tag\": 1, \"event\": "
                        "\"came\", \"us_before\": "));
  std::filesystem::remove(path);
}
