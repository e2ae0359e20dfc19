//===- InputFile.cpp - A model or a module as it comes in -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFile.h"

#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>

using namespace llvm;
using namespace divisi;

/// How many bytes tell a text from a model.
static constexpr size_t kLooked = 4096;

std::string divisi::resolvedPath(const std::string &path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error);
  std::filesystem::path folder =
      std::filesystem::weakly_canonical(whole.parent_path(), error);
  return error ? whole.string() : (folder / whole.filename()).string();
}

std::string divisi::folderOfNames(const std::string &path) {
  std::error_code error;
  return isWrittenInPlace(path)
             ? std::filesystem::current_path(error).string()
             : std::filesystem::path(resolvedPath(path)).parent_path().string();
}

/// A protobuf has control characters among its first tags and lengths; a text
/// has none but white space.
static bool isText(StringRef head) {
  return none_of(head.take_front(kLooked), [](char c) {
    return (c >= 0 && c < ' ' && !StringRef("\t\n\v\f\r").contains(c)) ||
           c == '\x7f';
  });
}

/// Says by its first bytes what `file` holds. Of what is text, or empty, the
/// name decides: a model that is none (a page that says why there is no
/// download) is to be reported as a model.
static Status recognise(InputFile &file, StringRef head) {
  if (head.starts_with("DIVISI")) {
    return Status(ExitCode::Invalid,
                  "'" + file.name +
                      "' is an artifact, which run, check and explain take; "
                      "expected an ONNX model or a dump (.mlir)");
  }
  if (head.starts_with("ML\xefR")) {
    return Status(ExitCode::Invalid,
                  "'" + file.name +
                      "' is MLIR's bytecode, which is not read; expected the "
                      "text of a module, as divisi-opt prints it");
  }
  file.isModule = isText(head) && !StringRef(file.name).ends_with(".onnx");
  return Status();
}

/// A device has no end, or no content.
static bool isDevice(const std::string &path) {
  sys::fs::file_status status;
  return path != "-" && !sys::fs::status(path, status) &&
         (status.type() == sys::fs::file_type::block_file ||
          (status.type() == sys::fs::file_type::character_file &&
           !StringRef(path).starts_with("/dev/std") &&
           !StringRef(path).starts_with("/dev/fd/")));
}

/// Whether there is memory for so many bytes. The tools end where malloc() has
/// none, without saying what for.
static bool hasMemoryFor(int64_t bytes) {
  void *memory = std::aligned_alloc(alignof(std::max_align_t), size_t(bytes));
  std::free(memory);
  return memory || bytes == 0;
}

/// All of a file, in memory of our own: what is parsed cannot change meanwhile.
static divisi::Expected<std::unique_ptr<MemoryBuffer>>
readAll(const OpenFile &opened, const std::string &path) {
  std::unique_ptr<WritableMemoryBuffer> content;
  if (hasMemoryFor(opened.size())) {
    content = WritableMemoryBuffer::getNewUninitMemBuffer(size_t(opened.size()),
                                                          path);
  }
  if (!content) {
    return makeError(ExitCode::File, "cannot read '", path, "': it has ",
                     opened.size(), " bytes, for which there is no memory");
  }
  Status status =
      opened.read(0, std::as_writable_bytes(std::span<char>(
                         content->getBufferStart(), size_t(opened.size()))));
  return status.isOk() ? divisi::Expected<std::unique_ptr<MemoryBuffer>>(
                             std::move(content))
                       : status;
}

static divisi::Expected<std::unique_ptr<MemoryBuffer>>
readStream(const std::string &path, const std::string &name) {
  auto content = MemoryBuffer::getFileOrSTDIN(path);
  if (!content) {
    return makeError(ExitCode::File, "cannot read '", name,
                     "': ", content.getError().message());
  }
  return std::move(*content);
}

divisi::Expected<InputFile> InputFile::open(const std::string &path,
                                            const std::string &pipeName) {
  InputFile file;
  file.isPiped = isWrittenInPlace(path) && !isDevice(path);
  file.name = path == "-" ? pipeName : path;
  file.folder = folderOfNames(path);
  std::optional<OpenFile> opened;
  if (!file.isPiped) {
    divisi::Expected<OpenFile> found = OpenFile::open(path);
    if (!found) {
      return found.status();
    }
    std::string head(std::min(size_t(found->size()), kLooked), '\0');
    Status status = found->read(0, std::as_writable_bytes(std::span(head)));
    status = status.isOk() ? recognise(file, head) : status;
    if (!status.isOk()) {
      return status;
    }
    if (!file.isModule) {
      return file;
    }
    opened.emplace(std::move(*found));
  }
  auto content = opened ? readAll(*opened, path) : readStream(path, file.name);
  if (!content) {
    return content.status();
  }
  file.content = std::move(*content);
  Status status = recognise(file, file.content->getBuffer());
  return status.isOk() ? divisi::Expected<InputFile>(std::move(file)) : status;
}
