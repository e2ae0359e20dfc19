//===- ModuleTextTest.cpp - Tests of what the parser may be given ---------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Compiler/ModuleText.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace divisi;
using testing::HasSubstr;

/// `count` times `unit`.
static std::string times(int count, const std::string &unit) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += unit;
  }
  return text;
}

/// Aliases `#a0`, `#a1`, …; each is `before`, the one before it, `after`.
static std::string chain(int count, const std::string &before,
                         const std::string &after) {
  std::string text = "#a0 = 1 : i64\n";
  for (int i = 1; i < count; ++i) {
    text += "#a" + std::to_string(i) + " = " + before + "#a" +
            std::to_string(i - 1) + after + "\n";
  }
  return text;
}

static std::string message(const std::string &text) {
  Status status = checkModuleText(text, "m.mlir");
  EXPECT_EQ(status.code(), status.isOk() ? ExitCode::Ok : ExitCode::Invalid);
  return status.message();
}

TEST(ModuleTextTest, takesWhatIsNotDeep) {
  EXPECT_EQ(message(times(kMostTextDepth, "[") + times(kMostTextDepth, "]")),
            "");
  EXPECT_EQ(message(times(5000, "[{(<1>)}] ")), "");
  // An arrow closes nothing, and what text and comments hold is no bracket.
  EXPECT_EQ(message("!f<" + times(300, "() -> (), ") + ">"), "");
  EXPECT_EQ(message("\"" + times(300, "\\\"[") + "\" // " + times(300, "{")),
            "");
}

TEST(ModuleTextTest, refusesEveryBracketThatIsDeep) {
  for (const char *open : {"[", "(", "{", "<", "{a = ", "tuple<", "#nn.x<[",
                           "\"builtin.module\"() ({\n", "loc(\"n\"("}) {
    EXPECT_THAT(message(times(20000, open)),
                HasSubstr("nested more than 256 deep"))
        << open;
  }
  EXPECT_EQ(message("module {\n" + times(300, "[")),
            "m.mlir:2:256: brackets and aliases are nested more than 256 deep");
}

/// Neither brackets of another kind, nor an arrow, nor those in texts and
/// comments make it less deep.
TEST(ModuleTextTest, nothingHidesDepth) {
  for (const char *closer : {"", ">", "->", "\"]\"", "// ]\n", "//\r[", ")"}) {
    EXPECT_THAT(message(times(300, std::string("[") + closer)),
                HasSubstr("nested more than 256 deep"))
        << closer;
  }
}

TEST(ModuleTextTest, countsAliasesOfAliases) {
  EXPECT_THAT(message(chain(20000, "[", "]")),
              HasSubstr("nested more than 256 deep"));
  EXPECT_THAT(message(chain(20000, "", "")),
              HasSubstr("nested more than 256 deep"));
  EXPECT_THAT(message(chain(20000, "[\n", "\n]")),
              HasSubstr("nested more than 256 deep"));
  // An alias of each line's own is none of another.
  std::string flat = "#a = 1 : i64\n";
  for (int i = 0; i < 5000; ++i) {
    flat += "#b" + std::to_string(i) + " = [#a, #a]\n";
  }
  EXPECT_EQ(message(flat), "");
}

TEST(ModuleTextTest, refusesWhatAliasesMakeLarge) {
  for (std::string between : {", ", "\n,\n", "] : [", "]\n: ["}) {
    std::string text = "#a0 = 1\n";
    for (int i = 1; i < 40; ++i) {
      std::string before = "#a" + std::to_string(i - 1);
      text +=
          "#a" + std::to_string(i) + " = [" + before + between + before + "]\n";
    }
    EXPECT_THAT(message(text),
                HasSubstr("an alias stands for more than 65536 tokens"))
        << between;
  }
  std::string wide = "#a = [" + times(30000, "1,") + "]\n";
  wide += "[" + times(60000, "#a,") + "]\n";
  EXPECT_THAT(message(wide), HasSubstr("with its aliases the text stands for"));
}

/// An operation behind the last alias is none of its definition.
TEST(ModuleTextTest, aDefinitionEnds) {
  std::string uses = times(100000, "x(#a)\n");
  EXPECT_EQ(message("#a = loc(\"x\")\nmodule {\n" + uses + "}\n#b = [#a]\n"),
            "");
  EXPECT_EQ(message("#a = loc(\"x\") module {\n" + uses + "}"), "");
}

TEST(ModuleTextTest, refusesWhatTheParserIsBrokenBy) {
  for (const char *array :
       {"array<index: 1>", "array < // of\n index : 1>", "array<!i: 1>"}) {
    EXPECT_THAT(message(std::string("a = ") + array),
                HasSubstr("expected integers or floats whose type stands here"))
        << array;
  }
  EXPECT_EQ(message("array<i64: 1> \"array<index: 1>\" myarray<index>"), "");
  EXPECT_THAT(message("affine_map<(d) -> (----d)>"),
              HasSubstr("affine_map has no meaning in a module of Divisi"));
  EXPECT_THAT(message("affine_set<(d) : (d >= 0)>"),
              HasSubstr("affine_set has no meaning in a module of Divisi"));
}
