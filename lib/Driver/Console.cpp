//===- Console.cpp - What may be a terminal -------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Console.h"

#include "divisi/Support/VisibleText.h"

#include "llvm/ADT/SmallVector.h"

#include <string>
#include <utility>

using namespace llvm;
using namespace divisi;

namespace {

/// Hands on what is visible. It holds back the bytes of a character that has
/// just begun: JSON comes byte by byte.
class VisibleStream : public raw_ostream {
public:
  VisibleStream(raw_ostream &to, Escape escape)
      : raw_ostream(/*unbuffered=*/true), to_(to), escape_(escape) {}
  ~VisibleStream() override { put(begun_); }

private:
  void write_impl(const char *bytes, size_t size) override;
  void put(std::string_view text);
  uint64_t current_pos() const override { return to_.tell(); }

  raw_ostream &to_;
  Escape escape_;
  std::string begun_;
};

} // namespace

/// How many bytes at the end of `text` are the beginning of a character.
static size_t bytesBegun(std::string_view text) {
  for (size_t count = 1; count <= 3 && count <= text.size(); ++count) {
    auto c = (unsigned char)text[text.size() - count];
    if ((c & 0xc0) != 0x80) {
      size_t length = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
      return count < length ? count : 0;
    }
  }
  return 0;
}

void VisibleStream::put(std::string_view text) {
  std::string visible;
  appendVisible(visible, text, escape_);
  to_ << visible;
}

void VisibleStream::write_impl(const char *bytes, size_t size) {
  std::string text = std::exchange(begun_, std::string());
  text.append(bytes, size);
  size_t begun = bytesBegun(text);
  begun_ = text.substr(text.size() - begun);
  put(std::string_view(text).substr(0, text.size() - begun));
}

raw_ostream &divisi::textOut() {
  static VisibleStream stream(outs(), Escape::Bytes);
  return stream;
}

raw_ostream &divisi::textErr() {
  static VisibleStream stream(errs(), Escape::Bytes);
  return stream;
}

raw_ostream &divisi::jsonOut() {
  static VisibleStream stream(outs(), Escape::Json);
  return stream;
}

std::string divisi::visibleMessage(StringRef text) {
  constexpr StringRef continued = "\n  ";
  SmallVector<StringRef> lines;
  text.split(lines, continued);
  std::string said;
  for (StringRef line : lines) {
    said += (said.empty() ? "" : continued.str()) +
            visibleLine(std::string_view(line));
  }
  return said;
}

/// Empty: nobody listens.
static Listener &listener() {
  static Listener listener;
  return listener;
}

void divisi::listenToMessages(Listener other) { listener() = std::move(other); }

Message::~Message() {
  std::string said = visibleMessage(text_);
  if (listener()) {
    listener()(said);
    return;
  }
  textErr() << said + "\n"; // at once: others may write there as well
}

Message divisi::sayError() { return Message(kErrorHead); }

Message divisi::sayWarning() { return Message(kWarningHead); }

Message divisi::sayNote() { return Message(kNoteHead); }

void divisi::flushConsole() {
  outs().flush();
  errs().flush();
}
