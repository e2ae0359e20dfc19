//===- TensorFile.cpp - Tensors in files ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/TensorFile.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/OutputFile.h"
#include "runtime/tensors/Npy.h"
#include "runtime/tensors/Zip.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <sys/stat.h>

using namespace divisi;
using namespace divisi::rt;

GivenTensor::GivenTensor(TensorLabel label, HostTensor tensor)
    : label(std::move(label)),
      head{tensor.type(), tensor.dims(), tensor.isOpaque()} {
  read_ = [kept = std::make_shared<HostTensor>(std::move(tensor))] {
    return std::move(*kept);
  };
}

Expected<HostTensor> GivenTensor::take() const {
  Expected<HostTensor> tensor = read_();
  if (tensor) {
    tensor->setName(label.name);
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

/// `where` names it in messages.
static Expected<HostTensor> unpackArray(const ZipEntry &entry,
                                        const std::string &where) {
  AlignedBytes room;
  Expected<std::span<const std::byte>> content = unpack(entry, room);
  if (!content) {
    return content.status().in(where);
  }
  Expected<HostTensor> tensor = parseNpy(*content);
  return tensor ? std::move(tensor) : tensor.status().in(where);
}

/// The array of an entry; its name is that of the entry without the ending.
static Expected<GivenTensor> arrayOf(const ZipEntry &entry,
                                     const std::string &source,
                                     std::shared_ptr<const void> owner) {
  TensorLabel label{entry.name};
  if (!label.name.ends_with(".npy")) {
    return makeError(ExitCode::Invalid, "'", source, "': entry '", entry.name,
                     "' is not an array (.npy)");
  }
  label.name.resize(label.name.size() - 4);
  std::string where = "'" + source + "': entry '" + entry.name + "'";
  Expected<AlignedBytes> begin = unpackHead(entry, maxNpyHeader);
  if (!begin) {
    return begin.status().in(where);
  }
  Expected<NpyHeader> header = readNpyHeader(begin->span(), entry.size);
  if (!header) {
    return header.status().in(where);
  }
  return GivenTensor(std::move(label), std::move(header->head),
                     [entry, where, owner = std::move(owner)] {
                       return unpackArray(entry, where);
                     });
}

//===----------------------------------------------------------------------===//
// Files and folders
//===----------------------------------------------------------------------===//

static bool beginsWith(std::span<const std::byte> bytes,
                       std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

/// Whether `tensors` are arr_0, arr_1, ..., in whatever order.
static bool areNumbered(const std::vector<GivenTensor> &tensors) {
  std::set<std::string> names;
  for (const GivenTensor &tensor : tensors) {
    names.insert(tensor.label.name);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!names.count("arr_" + std::to_string(i))) {
      return false;
    }
  }
  return !tensors.empty();
}

static Expected<std::vector<GivenTensor>>
parseArchive(std::span<const std::byte> bytes, const std::string &source,
             const std::shared_ptr<const void> &owner) {
  Expected<std::vector<ZipEntry>> entries = readZip(bytes);
  if (!entries) {
    return entries.status().in("'" + source + "'");
  }
  std::vector<GivenTensor> tensors;
  for (const ZipEntry &entry : *entries) {
    Expected<GivenTensor> tensor = arrayOf(entry, source, owner);
    if (!tensor) {
      return tensor.status();
    }
    tensors.push_back(std::move(*tensor));
  }
  if (areNumbered(tensors)) {
    std::ranges::sort(tensors, {}, [](const GivenTensor &tensor) {
      return std::pair(tensor.label.name.size(), tensor.label.name);
    });
    for (GivenTensor &tensor : tensors) {
      tensor.label.isNumbered = true;
    }
  }
  return tensors;
}

/// One that is no archive.
static Expected<GivenTensor> parseOne(std::span<const std::byte> bytes,
                                      const std::string &source,
                                      std::shared_ptr<const void> owner) {
  std::string where = "'" + source + "'";
  if (beginsWith(bytes, "\x93NUMPY") || source.ends_with(".npy")) {
    Expected<NpyHeader> header = readNpyHeader(bytes, bytes.size());
    return header ? GivenTensor({}, std::move(header->head),
                                [bytes, owner = std::move(owner)] {
                                  return parseNpy(bytes);
                                })
                  : Expected<GivenTensor>(header.status().in(where));
  }
  Expected<HostTensor> tensor = parseOnnxTensor(bytes);
  if (!tensor) {
    return tensor.status().in(where);
  }
  TensorLabel label{tensor->name()};
  return GivenTensor(std::move(label), std::move(*tensor));
}

Expected<std::vector<GivenTensor>>
divisi::rt::parseTensors(std::span<const std::byte> bytes,
                         const std::string &source,
                         std::shared_ptr<const void> owner) {
  bool isArchive =
      beginsWith(bytes, "PK\x03\x04") || beginsWith(bytes, "PK\x05\x06") ||
      (source.ends_with(".npz") && !beginsWith(bytes, "\x93NUMPY"));
  if (isArchive) {
    return parseArchive(bytes, source, owner);
  }
  Expected<GivenTensor> tensor = parseOne(bytes, source, std::move(owner));
  return tensor ? std::vector<GivenTensor>{std::move(*tensor)}
                : Expected<std::vector<GivenTensor>>(tensor.status());
}

Expected<GivenTensor> divisi::rt::onlyTensor(std::vector<GivenTensor> tensors,
                                             const std::string &source) {
  if (tensors.size() != 1) {
    return makeError(ExitCode::Invalid, "'", source, "' holds ", tensors.size(),
                     " tensors, expected one");
  }
  return std::move(tensors.front());
}

/// The numbers N of all `ROLE_N.pb` in `folder`.
static Expected<std::set<size_t>> numbersIn(const std::string &folder,
                                            const std::string &role) {
  std::error_code error;
  std::set<size_t> numbers;
  std::filesystem::directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(role + "_") || !name.ends_with(".pb")) {
      continue;
    }
    const char *first = name.data() + role.size() + 1;
    size_t number = 0;
    auto [rest, bad] =
        std::from_chars(first, name.data() + name.size(), number);
    if (bad == std::errc() && std::string_view(rest) == ".pb") {
      numbers.insert(number);
    }
  }
  if (error) {
    return makeError(ExitCode::File, "cannot read the folder '", folder,
                     "': ", error.message());
  }
  return numbers;
}

/// What the file holds, which stays mapped until all is taken.
static Expected<std::vector<GivenTensor>> readMapped(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file) {
    return file.status();
  }
  auto owner = std::make_shared<const MappedFile>(std::move(*file));
  return parseTensors(owner->bytes(), path, owner);
}

static Expected<GivenTensor> readTensor(const std::string &path) {
  auto tensors = readMapped(path);
  return tensors ? onlyTensor(std::move(*tensors), path) : tensors.status();
}

/// Files may be missing at the end of a folder, and nobody can tell; a gap is
/// seen.
static Expected<std::vector<GivenTensor>> readFolder(const std::string &folder,
                                                     const std::string &role) {
  auto numbers = numbersIn(folder, role);
  if (!numbers) {
    return numbers.status();
  }
  if (numbers->empty()) {
    return makeError(ExitCode::File, "the folder '", folder, "' has no '", role,
                     "_0.pb', with which ONNX's test data begins");
  }
  std::vector<GivenTensor> tensors;
  for (size_t number : *numbers) {
    if (number != tensors.size()) {
      return makeError(ExitCode::File, "the folder '", folder, "' has '", role,
                       "_", number, ".pb', but no '", role, "_", tensors.size(),
                       ".pb'");
    }
    auto one =
        readTensor(folder + "/" + role + "_" + std::to_string(number) + ".pb");
    if (!one) {
      return one.status();
    }
    one->label.isNumbered = true;
    tensors.push_back(std::move(*one));
  }
  return tensors;
}

Expected<std::vector<GivenTensor>>
divisi::rt::readTensors(const std::string &path, const std::string &role) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return readFolder(path, role);
  }
  return readMapped(path);
}

static Status checkType(const HostTensor &tensor) {
  if (tensor.type() != DType::Field) {
    return {};
  }
  return makeError(ExitCode::Unsupported, "the tensor '", tensor.name(),
                   "' is of the prime field, which no file holds; cast it to "
                   "i64");
}

Status divisi::rt::writeNpy(const std::string &path, const HostTensor &tensor) {
  if (Status status = checkType(tensor); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  Status status = file->write(formatNpyHeader(tensor.type(), tensor.dims()));
  if (status.isOk()) {
    status = file->write(tensor.bytes());
  }
  return status.isOk() ? file->commit() : status;
}

static Status checkEntries(std::span<const HostTensor *const> tensors) {
  std::set<std::string> names;
  for (const HostTensor *tensor : tensors) {
    if (Status status = checkType(*tensor); !status.isOk()) {
      return status;
    }
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
  if (Status status = checkEntries(tensors); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  Expected<OutputFile> file = OutputFile::create(path);
  if (!file) {
    return file.status();
  }
  ZipWriter archive(*file);
  for (const HostTensor *tensor : tensors) {
    Status status = archive.add(tensor->name() + ".npy",
                                formatNpyHeader(tensor->type(), tensor->dims()),
                                tensor->bytes());
    if (!status.isOk()) {
      return status;
    }
  }
  if (Status status = archive.finish(); !status.isOk()) {
    return status;
  }
  return file->commit();
}
