//===- VisibleText.cpp - Text that a terminal only shows ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/VisibleText.h"

#include <algorithm>
#include <iterator>
#include <simdjson.h>

using namespace divisi;

namespace {

/// Code points from the first to the last.
struct Range {
  char32_t first, last;
};

} // namespace

/// Unicode's control and format characters, and its separators of lines.
static constexpr Range kHidden[] = {
    {0x00, 0x09},     {0x0b, 0x1f},     {0x7f, 0x9f},       {0xad, 0xad},
    {0x34f, 0x34f},   {0x600, 0x605},   {0x61c, 0x61c},     {0x180e, 0x180e},
    {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0x3164, 0x3164},
    {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

static bool isHidden(char32_t point) {
  const Range *range =
      std::ranges::lower_bound(kHidden, point, {}, &Range::last);
  return range != std::end(kHidden) && point >= range->first;
}

/// How many bytes of UTF-8 the character takes that `text` begins with; 0 if
/// that is none.
static size_t lengthOfCharacter(std::string_view text) {
  unsigned char lead = (unsigned char)text.front();
  size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return length <= text.size() && simdjson::validate_utf8(text.data(), length)
             ? length
             : 0;
}

static char32_t decode(std::string_view character) {
  constexpr unsigned char leads[] = {0x7f, 0x1f, 0x0f, 0x07};
  char32_t point =
      (unsigned char)character.front() & leads[character.size() - 1];
  for (char c : character.substr(1)) {
    point = point << 6 | ((unsigned char)c & 0x3f);
  }
  return point;
}

/// `unit` after a backslash and `mark`, in `digits` hexadecimal digits.
static void appendEscape(std::string &out, char mark, unsigned unit,
                         int digits) {
  out += {'\\', mark};
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[unit >> shift & 15];
  }
}

static void appendJson(std::string &out, char32_t point) {
  if (point < 0x10000) {
    return appendEscape(out, 'u', unsigned(point), 4);
  }
  unsigned rest = unsigned(point) - 0x10000;
  appendEscape(out, 'u', 0xd800 + (rest >> 10), 4);
  appendEscape(out, 'u', 0xdc00 + (rest & 0x3ff), 4);
}

void divisi::appendVisible(std::string &out, std::string_view text,
                           Escape escape) {
  while (!text.empty()) {
    size_t length = lengthOfCharacter(text);
    std::string_view bytes = text.substr(0, std::max<size_t>(length, 1));
    char32_t point = length ? decode(bytes) : 0xfffd;
    text.remove_prefix(bytes.size());
    bool isEnd = point == '\n' && escape == Escape::Line;
    if (length && !isHidden(point) && !isEnd) {
      out += bytes;
    } else if (escape == Escape::Json) {
      appendJson(out, point);
    } else {
      for (char c : bytes) {
        appendEscape(out, 'x', (unsigned char)c, 2);
      }
    }
  }
}

std::string divisi::visibleLine(std::string_view text) {
  std::string out;
  appendVisible(out, text, Escape::Line);
  return out;
}
