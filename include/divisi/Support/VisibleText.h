//===- VisibleText.h - Text that a terminal only shows ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names come from files, and a name may hold what a terminal obeys instead of
// showing it: control characters, as bytes or in UTF-8, colour it, move the
// cursor and rename its window; others reverse the order of what follows, or
// show nothing. Such characters are escaped when they are printed:
//
//   caf\u00e9 <ESC>[2J  →  café \x1b[2J
//
// A name that ends lines could make some of its own, which look like ours; so
// where a name is printed, or a message that may hold one, the ends of lines
// are escaped as well.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_VISIBLETEXT_H
#define DIVISI_SUPPORT_VISIBLETEXT_H

#include <string>
#include <string_view>

namespace divisi {

/// How what is hidden is written.
enum class Escape {
  Bytes, ///< `\xNN` for each of its bytes.
  Line,  ///< The same; ends of lines are hidden, too.
  Json   ///< `\uNNNN`, in UTF-16; the same string for a reader of JSON.
};

/// Appends `text` with all that is hidden escaped: control characters (but the
/// end of a line unless `escape` says so), marks of direction, characters
/// without a shape, and bytes that are not UTF-8 (in JSON U+FFFD).
void appendVisible(std::string &out, std::string_view text, Escape escape);

/// `text` by Escape::Line: a part of one line, whatever it holds.
std::string visibleLine(std::string_view text);

} // namespace divisi

#endif // DIVISI_SUPPORT_VISIBLETEXT_H
