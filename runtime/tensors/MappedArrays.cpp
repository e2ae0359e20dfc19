//===- MappedArrays.cpp - Arrays that stay in their files -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/tensors/MappedArrays.h"

#include "divisi/Support/MappedFile.h"
#include "runtime/tensors/Npy.h"
#include "runtime/tensors/Zip.h"

using namespace divisi;
using namespace divisi::rt;

/// The array whose file is `content`, which `owner` keeps.
static Expected<MappedArray> arrayIn(std::span<const std::byte> content,
                                     std::shared_ptr<const void> owner) {
  Expected<NpyHeader> header = readNpyHeader(content, content.size());
  if (!header) {
    return header.status();
  }
  if (!header->isFortran || header->head.dims.size() < 2) {
    return MappedArray{"", std::move(header->head),
                       content.subspan(header->bytes), std::move(owner)};
  }
  Expected<HostTensor> rows = parseNpy(content);
  if (!rows) {
    return rows.status();
  }
  auto kept = std::make_shared<const HostTensor>(std::move(*rows));
  return MappedArray{"", std::move(header->head), kept->bytes(), kept, false};
}

/// The array of an entry of an archive, which `owner` keeps.
static Expected<MappedArray> arrayOf(const ZipEntry &entry,
                                     std::shared_ptr<const void> owner) {
  std::span<const std::byte> content = entry.packed;
  if (entry.isDeflated) {
    auto room = std::make_shared<AlignedBytes>();
    Expected<std::span<const std::byte>> unpacked = unpack(entry, *room);
    if (!unpacked) {
      return unpacked.status();
    }
    content = *unpacked;
    owner = std::move(room);
  }
  Expected<MappedArray> array = arrayIn(content, std::move(owner));
  if (array) {
    array->name = entry.name.substr(0, entry.name.size() - 4);
    array->isMapped &= !entry.isDeflated;
  }
  return array;
}

static Expected<std::vector<MappedArray>>
arraysOfArchive(std::span<const std::byte> bytes,
                const std::shared_ptr<const void> &owner) {
  Expected<std::vector<ZipEntry>> entries = readZip(bytes);
  if (!entries) {
    return entries.status();
  }
  std::vector<MappedArray> arrays;
  for (const ZipEntry &entry : *entries) {
    if (!entry.name.ends_with(".npy")) {
      return makeError(ExitCode::Invalid, "entry '", entry.name,
                       "' is not an array (.npy)");
    }
    Expected<MappedArray> array = arrayOf(entry, owner);
    if (!array) {
      return array.status().in("entry '" + entry.name + "'");
    }
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

Expected<std::vector<MappedArray>>
divisi::rt::mapArrays(const std::string &path) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file) {
    return file.status();
  }
  auto owner = std::make_shared<const MappedFile>(std::move(*file));
  if (path.ends_with(".npz")) {
    auto arrays = arraysOfArchive(owner->bytes(), owner);
    return arrays ? std::move(arrays) : arrays.status().in("'" + path + "'");
  }
  Expected<MappedArray> array = arrayIn(owner->bytes(), owner);
  if (!array) {
    return array.status().in("'" + path + "'");
  }
  return std::vector<MappedArray>{std::move(*array)};
}
