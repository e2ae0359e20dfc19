//===- InputFile.h - A model or a module as it comes in ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a user names is a file or a pipe, and holds an ONNX model or the text of
// a module. Its content tells which: a model that comes through a pipe has no
// name that could.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_INPUTFILE_H
#define DIVISI_LIB_COMPILER_INPUTFILE_H

#include "divisi/Support/Status.h"

#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace divisi {

/// One input, before anything of it is parsed.
struct InputFile {
  std::string name;      ///< For messages: as the user said it, or "stdin".
  std::string folder;    ///< Where relative names in it lead from; absolute.
  bool isModule = false; ///< Else it is an ONNX model.
  bool isPiped = false;  ///< It can be read once, and has been.
  /// All of it; null for an ONNX model in a file, which is mapped.
  std::unique_ptr<llvm::MemoryBuffer> content;

  /// Opens `path`, "-" being stdin. ExitCode::File, or Invalid for an artifact.
  static Expected<InputFile> open(const std::string &path,
                                  const std::string &pipeName);
};

/// `path` without symbolic links and `..` in its folder, absolute. What it ends
/// with stays, be it a link or not there.
std::string resolvedPath(const std::string &path);

/// Where names in the text that is read from or written to `path` lead from:
/// its folder, or the working directory if that is no file (stdin, a pipe).
std::string folderOfNames(const std::string &path);

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_INPUTFILE_H
