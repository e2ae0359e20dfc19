//===- SecretFile.h - A secret in a file of the user ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_SUPPORT_SECRETFILE_H
#define DIVISI_SUPPORT_SECRETFILE_H

#include "divisi/Support/Status.h"

#include <string>

namespace divisi {

/// 32 bytes that only the user has, or a process that may write the user's
/// files anyway.
struct SecretFile {
  std::string name;    ///< In the folder of the user's data: "native.key".
  std::string purpose; ///< Of the key, in messages: "native code".

  /// $XDG_DATA_HOME/divisi/NAME, by default beneath ~/.local/share; empty if
  /// neither is known.
  std::string path() const;
  /// The bytes. ExitCode::File if there is no such file; ExitCode::Invalid for
  /// one of another length or owner, one that others can read or write, and
  /// what is no file.
  Expected<std::string> read() const;
  /// The same; one is made if there is none, for the user alone (mode 0600).
  /// Two who make one at the same time get the same.
  Expected<std::string> make() const;
};

} // namespace divisi

#endif // DIVISI_SUPPORT_SECRETFILE_H
