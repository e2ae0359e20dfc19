//===- Console.h - What may be a terminal -----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verbs print through these streams alone (test/endtoend/terminal_test.py):
// what they print holds names that come from files
// (divisi/Support/VisibleText.h). They pass on whole characters at once.
//
// What is said on standard error is a Message each:
//
//   sayNote() << "device " << rank << " waits for '" << name << "'";
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_CONSOLE_H
#define DIVISI_LIB_DRIVER_CONSOLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <string>

namespace divisi {

/// Standard output, for text.
llvm::raw_ostream &textOut();
/// Standard error, for text that is no Message.
llvm::raw_ostream &textErr();
/// Standard output, for JSON.
llvm::raw_ostream &jsonOut();

/// Something to say on standard error: said, with the end of its line, when it
/// goes. A line that is indented continues it; any other end of a line is of a
/// name, which is escaped, so that no name looks like a message.
class Message {
public:
  /// One that begins with `head`, which says what kind it is.
  explicit Message(llvm::StringRef head) : text_(head) {}
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;
  ~Message();

  /// Appends what a raw_ostream prints of `part`.
  template <typename Part> Message &operator<<(const Part &part) {
    llvm::raw_string_ostream(text_) << part;
    return *this;
  }

private:
  std::string text_;
};

/// What messages begin with.
inline constexpr llvm::StringLiteral kErrorHead = "divisi: error: ";
inline constexpr llvm::StringLiteral kWarningHead = "divisi: warning: ";
inline constexpr llvm::StringLiteral kNoteHead = "divisi: note: ";

/// One with that head.
Message sayError();
/// The same of a warning.
Message sayWarning();
/// The same of a note.
Message sayNote();

/// `text` as a Message says it: without what looks like one of its own.
std::string visibleMessage(llvm::StringRef text);

/// Who hears messages in the place of standard error, with what they begin
/// with.
using Listener = std::function<void(llvm::StringRef message)>;
/// From now on `listener` does.
void listenToMessages(Listener listener);

/// Writes out what standard output and standard error still hold.
void flushConsole();

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_CONSOLE_H
