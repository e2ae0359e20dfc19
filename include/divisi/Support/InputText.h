//===- InputText.h - The text of a file, inflated if gzip -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of a few megabytes of gzip holds a hundred of text, and a hostile one
// holds gigabytes. The text is inflated in one go into address space that is
// reserved for the most that is accepted; memory is only what is written. So
// the size that the file states is not trusted.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_INPUTTEXT_H
#define DIVISI_SUPPORT_INPUTTEXT_H

#include "divisi/Support/Status.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace divisi {

/// No text is longer: offsets into it are 32 bits wide.
inline constexpr size_t kMostText = (size_t(4) << 30) - 4096;

/// What `compressed` bytes of gzip may hold: real problems shrink to a
/// thirtieth or a sixtieth, but deflate can do a thousandth.
constexpr size_t mostInflated(size_t compressed) {
  constexpr size_t always = size_t(64) << 20, ratio = 256;
  if (compressed >= kMostText / ratio) {
    return kMostText;
  }
  return compressed * ratio > always ? compressed * ratio : always;
}

/// Owns a text that zeros follow: a parser may read beyond the end.
class InputText {
public:
  /// Bytes of zeros behind the text.
  static constexpr size_t kPadding = 64;

  /// The content of the file, "-" being stdin, inflated if it is gzip. Fails with File if the
  /// file cannot be read, with Invalid if it is too long or damaged.
  static Expected<InputText> readFile(const std::string &path);
  /// The same of bytes in memory.
  static Expected<InputText> read(std::string_view bytes);

  InputText(InputText &&other) noexcept;
  InputText &operator=(InputText &&) = delete;
  ~InputText();

  /// The text; valid as long as this object.
  std::string_view text() const { return {begin_, size_}; }

private:
  InputText() = default;
  /// Reserves `most` bytes and the padding. `large` if much of it will be
  /// written.
  static Expected<InputText> reserve(size_t most, bool large);
  static Expected<InputText> inflate(std::string_view gzip);
  /// Keeps `size` bytes; the rest of the reservation is given back.
  void shrink(size_t size);

  char *begin_ = nullptr;
  size_t size_ = 0, reserved_ = 0;
};

} // namespace divisi

#endif // DIVISI_SUPPORT_INPUTTEXT_H
