//===- TensorArguments.cpp - Tensors named on the command line ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorArguments.h"

#include "Flags.h"
#include "divisi/runtime/TensorFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace divisi;

/// What standard input or a pipe holds, which cannot be mapped.
static divisi::Expected<std::vector<rt::GivenTensor>>
readStream(const std::string &path) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  std::string source = path == "-" ? "standard input" : path;
  if (!buffer) {
    return makeError(ExitCode::File, "cannot read '", source,
                     "': ", buffer.getError().message());
  }
  StringRef bytes = (*buffer)->getBuffer();
  return rt::parseTensors(
      std::as_bytes(std::span<const char>(bytes.data(), bytes.size())), source);
}

static divisi::Expected<std::vector<rt::GivenTensor>>
readPath(const std::string &path, const std::string &role) {
  sys::fs::file_status status;
  bool isPipe = !sys::fs::status(path, status) &&
                status.type() == sys::fs::file_type::fifo_file;
  return path == "-" || isPipe ? readStream(path) : rt::readTensors(path, role);
}

/// A file whose name holds a '=' is a file.
static divisi::Expected<std::vector<rt::GivenTensor>>
readArgument(const std::string &argument, const std::string &role) {
  auto assignment = splitAssignment(argument);
  if (!assignment || sys::fs::exists(argument)) {
    return readPath(argument, role);
  }
  auto [name, path] = *assignment;
  auto tensors = readPath(path.str(), role);
  if (!tensors) {
    return tensors.status();
  }
  auto tensor = rt::onlyTensor(std::move(*tensors), path.str());
  if (!tensor) {
    return tensor.status();
  }
  tensor->setName(name.str());
  std::vector<rt::GivenTensor> named;
  named.push_back({{name.str()}, std::move(*tensor)});
  return named;
}

divisi::Expected<std::vector<rt::GivenTensor>>
divisi::readTensorArguments(ArrayRef<std::string> arguments,
                            const std::string &role) {
  std::vector<rt::GivenTensor> all;
  for (const std::string &argument : arguments) {
    auto tensors = readArgument(argument, role);
    if (!tensors) {
      return tensors.status();
    }
    std::move(tensors->begin(), tensors->end(), std::back_inserter(all));
  }
  return all;
}
