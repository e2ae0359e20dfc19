//===- UserRulesTest.cpp - Rules of a user's own --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// test/endtoend/user_rules_test.py has what a prover says. These are not one.
//
//===----------------------------------------------------------------------===//

#include "divisi/Rewrite/UserRules.h"
#include "divisi/Rules/Shipped.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/TemporaryFile.h"

#include <fstream>
#include <gmock/gmock.h>
#include <sys/stat.h>

using namespace divisi;
using namespace divisi::rewrite;

static constexpr const char *kRule = R"(rule r {
  summary "-(-x) = x" shape p activation x: float[p...]
  source { a = neg(x) b = neg(a) return b } target { return x }
  class bit-exact })";

/// What becomes of kRule by a prover; `script` is that of one, if there is one.
static Status provedBy(std::string prover, const std::string &script = "") {
  auto folder = TemporaryFolder::make(temporaryFolder(), "divisi-test-");
  if (!folder) {
    return folder.status();
  }
  if (!script.empty()) {
    prover = folder->path() + "/prover";
    std::ofstream(prover) << "#!/bin/sh\n" << script;
    chmod(prover.c_str(), 0700);
  }
  std::string path = folder->path() + "/r.rules";
  if (Status status = writeFile(path, kRule); !status.isOk()) {
    return status;
  }
  return proveUserRules({path}, prover).status();
}

TEST(UserRulesTest, SaysWhatToBuildWithoutAProver) {
  Status status = provedBy("/nowhere/divisi-rules");
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_EQ(status.message(),
            "cannot read '/nowhere/divisi-rules': No such file or directory; "
            "it proves the rules of --rules: install it with divisi, or build "
            "the target divisi-rules");
}

TEST(UserRulesTest, SaysHowTheProverEnded) {
  Status status = provedBy("/bin/false");
  EXPECT_EQ(status.code(), ExitCode::Internal);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("'/bin/false prove' ended with 1: "));
}

TEST(UserRulesTest, BelievesNoAnswerThatIsBroken) {
  Status status = provedBy("", "echo nothing > $5");
  EXPECT_EQ(status.code(), ExitCode::Invalid);
  EXPECT_THAT(status.message(),
              testing::AllOf(testing::HasSubstr("the answer of '"),
                             testing::HasSubstr("the record of proofs is not "
                                                "of these axioms")));
  std::string record =
      "printf '" + printRecord({}, {}, *shippedAxioms()) + "' > $5\n";
  status = provedBy("", record + "echo '{'");
  EXPECT_EQ(status.code(), ExitCode::Internal);
  EXPECT_THAT(status.message(), testing::HasSubstr("/prover': "));
  status = provedBy("", record + "echo '{}'");
  EXPECT_EQ(status.code(), ExitCode::Differs);
  EXPECT_THAT(status.message(),
              testing::HasSubstr("the prover did not answer"));
}

TEST(UserRulesTest, BelievesNoAnswerThatIsMissing) {
  Status status = provedBy("/bin/true");
  EXPECT_EQ(status.code(), ExitCode::File);
  EXPECT_THAT(status.message(), testing::HasSubstr("cannot read '"));
}
