//===- TensorArguments.cpp - Tensors named on the command line ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorArguments.h"

#include "divisi/Support/Assignment.h"
#include "divisi/runtime/tensors/TensorFile.h"

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
      std::as_bytes(std::span<const char>(bytes.data(), bytes.size())), source,
      std::shared_ptr<const MemoryBuffer>(std::move(*buffer)));
}

static divisi::Expected<std::vector<rt::GivenTensor>>
readPath(const std::string &path, const std::string &role) {
  sys::fs::file_status status;
  bool isPipe = !sys::fs::status(path, status) &&
                status.type() == sys::fs::file_type::fifo_file;
  return path == "-" || isPipe ? readStream(path) : rt::readTensors(path, role);
}

/// The one tensor of the file at `path`, named `name`.
static divisi::Expected<rt::GivenTensor>
readNamed(StringRef name, const std::string &path, const std::string &role) {
  auto tensors = readPath(path, role);
  if (!tensors) {
    return tensors.status();
  }
  auto tensor = rt::onlyTensor(std::move(*tensors), path);
  if (!tensor) {
    return tensor.status();
  }
  tensor->label = {name.str()};
  return tensor;
}

/// A file whose name holds a '=' is a file.
static divisi::Expected<std::vector<rt::GivenTensor>>
readArgument(const std::string &argument, const std::string &role) {
  auto assignment = splitAssignment(argument);
  if (!assignment || sys::fs::exists(argument)) {
    return readPath(argument, role);
  }
  auto one =
      readNamed(assignment->first, std::string(assignment->second), role);
  if (!one) {
    return one.status();
  }
  std::vector<rt::GivenTensor> named;
  named.push_back(std::move(*one));
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

/// Those of --constant, then those of --constants-from; all have a name.
static divisi::Expected<std::vector<rt::GivenTensor>>
readNamedTensors(ArrayRef<std::string> assignments,
                 ArrayRef<std::string> files) {
  std::vector<rt::GivenTensor> all;
  for (const std::string &text : assignments) {
    auto parts = splitAssignment(text);
    if (!parts) {
      return makeError(ExitCode::Usage, "--constant '", text,
                       "': expected INPUT=FILE");
    }
    auto one = readNamed(parts->first, std::string(parts->second), "input");
    if (!one) {
      return one.status();
    }
    all.push_back(std::move(*one));
  }
  for (const std::string &file : files) {
    auto tensors = readPath(file, "input");
    if (!tensors) {
      return tensors.status();
    }
    for (rt::GivenTensor &given : *tensors) {
      if (given.label.name.empty() || given.label.isNumbered) {
        return makeError(ExitCode::Usage, "--constants-from '", file,
                         "': a tensor in it has no name; give it by "
                         "--constant INPUT=FILE");
      }
      all.push_back(std::move(given));
    }
  }
  return all;
}

divisi::Expected<std::map<std::string, rt::HostTensor>>
divisi::readConstants(ArrayRef<std::string> assignments,
                      ArrayRef<std::string> files) {
  auto tensors = readNamedTensors(assignments, files);
  if (!tensors) {
    return tensors.status();
  }
  std::map<std::string, rt::HostTensor> constants;
  for (rt::GivenTensor &given : *tensors) {
    const std::string &name = given.label.name;
    if (constants.count(name)) {
      return makeError(ExitCode::Usage, "the constant '", name,
                       "' is given twice; give it once");
    }
    auto tensor = given.take();
    if (!tensor) {
      return tensor.status();
    }
    constants.emplace(name, std::move(*tensor));
  }
  return constants;
}
