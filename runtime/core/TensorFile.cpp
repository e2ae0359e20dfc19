//===- TensorFile.cpp - Tensors in files ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/TensorFile.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "runtime/core/Zip.h"

#include <set>
#include <sys/stat.h>

using namespace divisi;
using namespace divisi::rt;

Expected<std::vector<HostTensor>>
divisi::rt::parseNpz(std::span<const std::byte> bytes) {
  Expected<std::vector<ZipEntry>> entries = readZip(bytes);
  if (!entries) {
    return entries.status();
  }
  std::vector<HostTensor> tensors;
  for (const ZipEntry &entry : *entries) {
    std::string name = entry.name;
    if (!name.ends_with(".npy")) {
      return makeError(ExitCode::Invalid, "entry '", name,
                       "' is not an array (.npy)");
    }
    name.resize(name.size() - 4);
    Expected<AlignedBytes> content = unpack(entry);
    if (!content) {
      return content.status().in("entry '" + entry.name + "'");
    }
    Expected<HostTensor> tensor = parseNpy(content->span());
    if (!tensor) {
      return tensor.status().in("entry '" + entry.name + "'");
    }
    tensor->setName(std::move(name));
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

static Expected<std::vector<HostTensor>> onlyOne(Expected<HostTensor> tensor) {
  if (!tensor) {
    return tensor.status();
  }
  std::vector<HostTensor> tensors;
  tensors.push_back(std::move(*tensor));
  return tensors;
}

static Expected<std::vector<HostTensor>>
parseByEnding(const std::string &path, std::span<const std::byte> bytes) {
  if (path.ends_with(".npy")) {
    return onlyOne(parseNpy(bytes));
  }
  if (path.ends_with(".npz")) {
    return parseNpz(bytes);
  }
  return onlyOne(parseOnnxTensor(bytes));
}

Expected<std::vector<HostTensor>>
divisi::rt::readTensors(const std::string &path) {
  if (!path.ends_with(".npy") && !path.ends_with(".npz") &&
      !path.ends_with(".pb")) {
    return makeError(ExitCode::Usage, "cannot tell what tensors '", path,
                     "' holds; expected a name ending in .npy, .npz or .pb");
  }
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file) {
    return file.status();
  }
  Expected<std::vector<HostTensor>> tensors =
      parseByEnding(path, file->bytes());
  if (!tensors) {
    return tensors.status().in("'" + path + "'");
  }
  return tensors;
}

Expected<std::vector<HostTensor>>
divisi::rt::readOnnxFolder(const std::string &folder, const std::string &role) {
  struct stat info;
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return makeError(ExitCode::File, "'", folder, "' is not a folder");
  }
  std::vector<HostTensor> tensors;
  while (true) {
    std::string path =
        folder + "/" + role + "_" + std::to_string(tensors.size()) + ".pb";
    if (stat(path.c_str(), &info) != 0) {
      break;
    }
    Expected<std::vector<HostTensor>> one = readTensors(path);
    if (!one) {
      return one.status();
    }
    tensors.push_back(std::move(one->front()));
  }
  return tensors;
}

Status divisi::rt::writeNpy(const std::string &path, const HostTensor &tensor) {
  Expected<std::string> header = formatNpyHeader(tensor.type(), tensor.dims());
  if (!header) {
    return header.status().in("'" + path + "'");
  }
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  Status status = file->write(*header);
  if (status.isOk()) {
    status = file->write(tensor.bytes());
  }
  return status.isOk() ? file->commit() : status;
}

static Status checkNames(std::span<const HostTensor *const> tensors) {
  std::set<std::string> names;
  for (const HostTensor *tensor : tensors) {
    const std::string &name = tensor->name();
    if (name.empty()) {
      return makeError(ExitCode::Usage,
                       "a tensor without a name cannot stand in an .npz");
    }
    if (!names.insert(name).second) {
      return makeError(ExitCode::Usage, "two tensors are named '", name, "'");
    }
  }
  return {};
}

Status divisi::rt::writeNpz(const std::string &path,
                            std::span<const HostTensor *const> tensors) {
  if (Status status = checkNames(tensors); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  ZipWriter archive(*file);
  for (const HostTensor *tensor : tensors) {
    Expected<std::string> header =
        formatNpyHeader(tensor->type(), tensor->dims());
    if (!header) {
      return header.status().in("tensor '" + tensor->name() + "'");
    }
    Status status =
        archive.add(tensor->name() + ".npy", *header, tensor->bytes());
    if (!status.isOk()) {
      return status;
    }
  }
  if (Status status = archive.finish(); !status.isOk()) {
    return status;
  }
  return file->commit();
}
