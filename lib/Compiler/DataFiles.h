//===- DataFiles.h - Which files the text of a module reads -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A text comes from anywhere, and what it names goes into artifacts:
//
//   nn.global @w parameter : tensor<4x8xf32> from "../model.onnx" [1024, 128]
//
// So a file is read only if the text knows its hash and it lies beneath the
// text's own folder, or if the caller has named it. A caller names
//
//   a file    which stands for the one that the text calls by the same last
//             name, and needs no hash (but is compared with one that is there);
//   a folder  beneath which files may lie as well as beneath the text's own:
//             "../weights/a.bin" is FOLDER/weights/a.bin, or FOLDER/a.bin.
//
// What the caller names comes first. What is not to be had is an error for
// whoever asks for its bytes: nobody else needs the file.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COMPILER_DATAFILES_H
#define DIVISI_LIB_COMPILER_DATAFILES_H

#include "divisi/Support/GlobalStore.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// What files have to be, by normalName() of what the text calls them.
using FileIdentities = std::map<std::string, FileIdentity>;

/// `name` without detours: `a/../b//c` is `b/c`.
std::string normalName(llvm::StringRef name);

/// See the file's head.
class DataFiles {
public:
  /// Of a text whose names lead from `folder`, which is absolute, and which
  /// says what these files are; `given` are the files and folders that the
  /// caller names. `store`, which gets the files, and `given` outlive this.
  DataFiles(std::string folder, llvm::ArrayRef<std::string> given,
            FileIdentities identities, GlobalStore &store);

  /// The whole name under which the store has the file that the text calls
  /// `name`, or the reason why it is not read.
  std::string find(llvm::StringRef name);

  /// ExitCode::Usage for a file that the caller has named and the text has not.
  Status checkUsed() const;

private:
  /// A file that may be the one that is meant.
  struct Candidate {
    std::string place; ///< Its whole name.
    Expected<MappedFile> file;
    bool isNamed = false; ///< By the caller, itself: not by its folder.
  };
  std::vector<Candidate> amongGiven(const std::string &name);
  std::string add(Candidate candidate, const FileIdentity *identity);
  std::string addBeneath(const std::string &name, const FileIdentity *identity);
  std::string addNew(const std::string &name);

  std::string folder_;
  llvm::ArrayRef<std::string> given_;
  std::vector<bool> used_; ///< Of the given ones.
  FileIdentities identities_;
  GlobalStore &store_;
  std::map<std::string, std::string> found_; ///< By normalName.
};

} // namespace divisi

#endif // DIVISI_LIB_COMPILER_DATAFILES_H
