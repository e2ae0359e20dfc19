//===- ReadCheckpoint.cpp - Reading checkpoints ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/Checkpoint.h"

#include "divisi/Support/CheckedMath.h"
#include "divisi/Support/MappedFile.h"
#include "divisi/Support/Sha256.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;

/// `f32[4, 8]`
static std::string shapeOf(const StoredTensor &tensor) {
  return describe(tensor.type, tensor.dims);
}

/// Names that are in one of both alone.
static Status checkTensor(const Checkpoint &checkpoint,
                          const GlobalInfo &global) {
  const auto &tensors = checkpoint.tensors();
  auto found =
      std::ranges::find(tensors, global.value.name, &StoredTensor::name);
  if (found == tensors.end()) {
    return makeError(ExitCode::Usage, "it has no '", global.value.name,
                     "', which the program updates");
  }
  if (found->type != global.value.type || found->dims != global.value.dims) {
    return makeError(ExitCode::Usage, "'", global.value.name, "' is ",
                     shapeOf(*found), ", and ",
                     describe(global.value.type, global.value.dims),
                     " in the program");
  }
  return {};
}

Status Checkpoint::checkProgram(const Session &session) const {
  Status status;
  size_t updated = 0;
  for (const GlobalInfo &global : session.globals()) {
    if (!status.isOk()) {
      break;
    }
    auto frozen = frozen_.find(global.value.name);
    if (global.isUpdated) {
      ++updated;
      status = checkTensor(*this, global);
    } else if (frozen != frozen_.end() &&
               frozen->second != toHex(global.sha256)) {
      status = makeError(ExitCode::Usage, "the weight '", global.value.name,
                         "', which is not trained, has other values");
    }
  }
  for (const StoredTensor &tensor : tensors_) {
    if (!status.isOk() || updated == tensors_.size()) {
      break;
    }
    bool isKnown =
        std::ranges::any_of(session.globals(), [&](const GlobalInfo &global) {
          return global.isUpdated && global.value.name == tensor.name;
        });
    if (!isKnown) {
      status = makeError(ExitCode::Usage, "it has '", tensor.name,
                         "', which the program does not update");
    }
  }
  return status.in("the checkpoint '" + path_ +
                   "' is of another model or optimizer");
}

/// The bytes are the reader's own before they are hashed.
Expected<AlignedBytes> Checkpoint::readStored(const StoredTensor &tensor,
                                              const StoredBox &stored) const {
  const std::string &name = files_[stored.file];
  Expected<OpenFile> file = OpenFile::openBeneath(path_, name);
  if (!file) {
    return file.status();
  }
  int64_t bytes = stored.box.count() * byteWidth(tensor.type);
  if (stored.offset > file->size() || bytes > file->size() - stored.offset) {
    return makeError(ExitCode::Invalid, "'", path_, "/", name,
                     "' is damaged: it ends within '", tensor.name, "'");
  }
  Expected<AlignedBytes> own = AlignedBytes::allocate(bytes);
  Status status = own ? file->read(stored.offset, own->span()) : own.status();
  if (!status.isOk()) {
    return status;
  }
  if (toHex(Sha256::of(std::as_const(*own).span())) != stored.sha256) {
    return makeError(ExitCode::Invalid, "'", path_, "/", name,
                     "' is damaged: the bytes of '", tensor.name,
                     "' do not have their SHA-256");
  }
  // Kernels expect booleans to be 0 or 1, whoever has made the hash.
  auto clean =
      HostTensor::copyOf(tensor.type, stored.box.extents(), own->span());
  if (!clean) {
    return clean.status();
  }
  std::memcpy(own->data(), clean->data(), size_t(bytes));
  return own;
}

Status Checkpoint::read(const StoredTensor &tensor, const Box &box,
                        std::span<std::byte> to) const {
  std::vector<Box> owners;
  for (const StoredBox &stored : tensor.boxes) {
    owners.push_back(stored.box);
  }
  std::vector<size_t> order(owners.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Fetch> fetches;
  if (!planFetches(byteWidth(tensor.type), box, owners, order, fetches)) {
    return makeError(ExitCode::Invalid, "'", path_, "' is damaged: a part of '",
                     tensor.name, "' is in none of its files");
  }
  std::ranges::stable_sort(fetches, {}, &Fetch::owner);
  AlignedBytes bytes;
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (i == 0 || fetches[i].owner != fetches[i - 1].owner) {
      auto stored = readStored(tensor, tensor.boxes[fetches[i].owner]);
      if (!stored) {
        return stored.status();
      }
      bytes = std::move(*stored);
    }
    fetches[i].copy.run(bytes.data(), to.data());
  }
  return {};
}

Expected<HostTensor> Checkpoint::read(const StoredTensor &tensor) const {
  auto whole = HostTensor::allocate(tensor.type, tensor.dims, tensor.name);
  if (!whole) {
    return whole;
  }
  Status status = read(tensor, Box::whole(tensor.dims),
                       {whole->data(), size_t(whole->byteSize())});
  return status.isOk() ? whole : status;
}

Status Checkpoint::load(Session &session) const {
  return session.loadState(
      [&](const StateBox &box, std::span<std::byte> bytes) {
        const std::string &name = session.globals()[box.global].value.name;
        auto tensor = std::ranges::find(tensors_, name, &StoredTensor::name);
        return read(*tensor, box.box, bytes);
      });
}
