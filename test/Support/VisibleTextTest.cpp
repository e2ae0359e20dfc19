//===- VisibleTextTest.cpp - Tests of text that a terminal only shows -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/VisibleText.h"
#include "divisi/Support/JsonOutput.h"

#include <gtest/gtest.h>

using namespace divisi;

static std::string shown(std::string_view text, Escape escape = Escape::Bytes) {
  std::string out;
  appendVisible(out, text, escape);
  return out;
}

TEST(VisibleTextTest, keepsWhatIsShown) {
  for (const char *text :
       {"", "a name", "two\nlines", "café", "名前", "🙂 ∂x"}) {
    EXPECT_EQ(shown(text), text);
    EXPECT_EQ(shown(text, Escape::Json), text);
  }
}

TEST(VisibleTextTest, escapesWhatATerminalObeys) {
  EXPECT_EQ(shown("\x1b[2J\r\x7f\t"), "\\x1b[2J\\x0d\\x7f\\x09");
  EXPECT_EQ(shown(std::string_view("\0\b", 2)), "\\x00\\x08");
  // A control sequence's introducer, in UTF-8 and as a byte.
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(shown("\x9b"
                  "31m"),
            "\\x9b31m");
  // Marks of direction, and what shows nothing.
  EXPECT_EQ(shown("a\u202eb\u2066c\u200bd\ufeff"),
            "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa6c\\xe2\\x80\\x8bd\\xef\\xbb\\xbf");
  EXPECT_EQ(shown("\U000e0041"), "\\xf3\\xa0\\x81\\x81");
}

TEST(VisibleTextTest, escapesEndsOfLinesInNames) {
  EXPECT_EQ(visibleLine("a\nb\r\n"), "a\\x0ab\\x0d\\x0a");
  EXPECT_EQ(visibleLine("\x1b[2Jcafé"), "\\x1b[2Jcafé");
}

TEST(VisibleTextTest, escapesBytesThatAreNoUtf8) {
  EXPECT_EQ(shown("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(shown("\xe2\x80"), "\\xe2\\x80"); // cut off
  EXPECT_EQ(shown("\xc0\x9b"), "\\xc0\\x9b"); // longer than it must be
  EXPECT_EQ(shown("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(VisibleTextTest, jsonReadsAsTheSameString) {
  EXPECT_EQ(shown("\x7f\u009b\u202e\U000e0041", Escape::Json),
            "\\u007f\\u009b\\u202e\\udb40\\udc41");
  EXPECT_EQ(shown("caf\xe9", Escape::Json), "caf\\ufffd");
  std::string out;
  writeJsonString(out, "\x1b\n\"\u009b\u202e\u00e9");
  EXPECT_EQ(out, "\"\\u001b\\u000a\\\"\\u009b\\u202e\u00e9\"");
}
