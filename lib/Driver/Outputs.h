//===- Outputs.h - Files that a verb writes ---------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A verb names what it reads and what it will write before it begins to work:
//
//   OutputCheck files;
//   files.addInput("the model", "m.onnx");
//   if (Status status = files.addOutput("-o", "m.onnx"); !status.isOk())
//     return status;                       // ExitCode::Usage
//
// so that minutes are not spent on what cannot be written, and no input is lost
// to an output, by whatever name or link it goes.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_OUTPUTS_H
#define DIVISI_LIB_DRIVER_OUTPUTS_H

#include "divisi/Support/Status.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace divisi {

/// See the file's head. Files are compared by what the system knows of them;
/// pipes, terminals and devices may be read and written at once.
class OutputCheck {
public:
  /// `role` names the file in messages: "the model". A file that is not there
  /// is of no interest; of a folder, the tensors in it (.pb) are read.
  void addInput(const std::string &role, const std::string &path);

  /// The same of arguments as --inputs takes them: FILE, or NAME=FILE.
  void addTensors(const std::string &role,
                  llvm::ArrayRef<std::string> arguments);

  /// `flag` names who asked for it: "-o". Fails with Usage if `path` is an
  /// input or another output, with File if it could not be written.
  Status addOutput(const std::string &flag, const std::string &path);

private:
  struct File {
    std::string role;                 ///< Or the flag.
    std::string path;                 ///< As the user said it.
    std::pair<uint64_t, uint64_t> id; ///< Device and number.
  };
  void add(const std::string &role, const std::string &path);

  std::vector<File> inputs_;
  /// Their keys: of what is not there yet, its folder's and its name.
  std::vector<std::pair<std::string, std::string>> outputs_;
};

/// Fails with Usage if `path` is stdout and that is a terminal, which has no
/// use for `what`: "an artifact".
Status refuseTerminal(const std::string &path, const std::string &what);

/// Says on stderr what was written where: `wrote m.divisi: 4 devices, 1.2 MiB`.
/// Without `bytes`, the size is that of the file.
void tellWritten(const std::string &path, const std::string &what,
                 std::optional<int64_t> bytes = std::nullopt);

/// `1 device`, `2 devices`.
std::string countText(int64_t count, const std::string &what);

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_OUTPUTS_H
