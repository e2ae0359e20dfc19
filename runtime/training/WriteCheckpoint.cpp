//===- WriteCheckpoint.cpp - Writing checkpoints --------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/Checkpoint.h"
#include "divisi/runtime/training/FiniteState.h"
#include "runtime/training/CheckpointFolder.h"

#include "divisi/Support/JsonOutput.h"
#include "divisi/Support/OutputFile.h"
#include "divisi/Support/Sha256.h"
#include "divisi/runtime/tensors/SafeTensors.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

using namespace divisi;
using namespace divisi::rt;
namespace fs = std::filesystem;

std::string divisi::rt::stateFileName(uint32_t rank) {
  char name[32];
  std::snprintf(name, sizeof(name), "rank-%05" PRIu32 ".safetensors", rank);
  return name;
}

std::string divisi::rt::checkpointPath(const std::string &folder,
                                       int64_t step) {
  char name[32];
  std::snprintf(name, sizeof(name), "step-%010" PRId64, step);
  return folder + "/" + name;
}

/// Whether `name` is one that checkpointPath() gives.
static bool isCheckpointName(std::string_view name) {
  constexpr std::string_view begin = "step-";
  return name.starts_with(begin) && name.size() >= begin.size() + 10 &&
         name.find_first_not_of("0123456789", begin.size()) ==
             std::string_view::npos;
}

static Status cannot(const std::string &what, const std::string &path,
                     const std::error_code &error) {
  return makeError(ExitCode::File, "cannot ", what, " '", path,
                   "': ", error.message());
}

/// The folders in `folder` that are named as checkpoints, the newest first.
static Expected<std::vector<fs::path>> foldersIn(const std::string &folder) {
  std::error_code error;
  std::vector<fs::path> found;
  if (!fs::exists(folder, error) && !error) {
    return found;
  }
  fs::directory_iterator at(folder, error), end;
  for (; !error && at != end; at.increment(error)) {
    std::error_code none;
    if (isCheckpointName(at->path().filename().string()) &&
        at->is_directory(none)) {
      found.push_back(at->path());
    }
  }
  if (error) {
    return cannot("read the folder", folder, error);
  }
  std::ranges::sort(found, [](const fs::path &a, const fs::path &b) {
    std::string left = a.filename().string(), right = b.filename().string();
    return std::pair(left.size(), left) > std::pair(right.size(), right);
  });
  return found;
}

Expected<std::vector<std::string>>
divisi::rt::findCheckpoints(const std::string &folder) {
  auto folders = foldersIn(folder);
  if (!folders) {
    return folders.status();
  }
  std::vector<std::string> complete;
  for (const fs::path &path : *folders) {
    std::error_code none;
    if (fs::exists(path / kManifestName, none)) {
      complete.push_back(path.string());
    }
  }
  return complete;
}

/// The manifest goes first: without it the rest is nothing.
Status divisi::rt::removeCheckpoint(const std::string &path) {
  std::error_code error;
  fs::remove(fs::path(path) / kManifestName, error);
  if (!error) {
    fs::remove_all(path, error);
  }
  return error ? cannot("remove", path, error) : Status();
}

Status divisi::rt::beginCheckpoint(const std::string &path) {
  std::error_code error;
  Status status = fs::exists(path, error) ? removeCheckpoint(path) : Status();
  if (status.isOk()) {
    fs::create_directories(path, error);
    status = error ? cannot("make the folder", path, error) : Status();
  }
  return status;
}

//===----------------------------------------------------------------------===//
// Files of ranks
//===----------------------------------------------------------------------===//

/// Who writes a box that several ranks have: each some of them.
static uint32_t writerOf(const StateBox &box) {
  return box.ranks[box.global % box.ranks.size()];
}

/// `h.0.weight[0:4, 8:16]`, or the name alone where the box is the whole.
static std::string nameOf(const ValueInfo &value, const Box &box) {
  if (box == Box::whole(value.dims)) {
    return value.name;
  }
  std::ostringstream os;
  for (size_t d = 0; d < box.rank(); ++d) {
    os << (d == 0 ? "[" : ", ") << box.begin[d] << ':' << box.end[d];
  }
  return value.name + os.str() + "]";
}

/// Lines `box offset hash`, by number of the box.
static Expected<std::string> writeStateFile(const std::string &path,
                                            const Session &session,
                                            const std::vector<StateBox> &boxes,
                                            const std::vector<size_t> &own) {
  std::vector<SafeTensor> tensors;
  for (size_t index : own) {
    const ValueInfo &value = session.globals()[boxes[index].global].value;
    tensors.push_back({nameOf(value, boxes[index].box), value.type,
                       boxes[index].box.extents()});
  }
  std::vector<std::string> hashes(own.size());
  auto begin = writeSafeTensors(
      path, tensors, [&](size_t i) -> Expected<std::span<const std::byte>> {
        auto bytes = session.readState(boxes[own[i]]);
        if (bytes) {
          Status status =
              checkFinite(session.globals()[boxes[own[i]].global], *bytes);
          if (!status.isOk()) {
            return status;
          }
          hashes[i] = toHex(Sha256::of(*bytes));
        }
        return bytes;
      });
  if (!begin) {
    return begin.status();
  }
  std::string lines;
  int64_t offset = *begin;
  for (size_t i = 0; i < own.size(); ++i) {
    lines += std::to_string(own[i]) + " " + std::to_string(offset) + " " +
             hashes[i] + "\n";
    offset += numElements(tensors[i].dims) * byteWidth(tensors[i].type);
  }
  return lines;
}

Expected<std::string> divisi::rt::writeStateFiles(const std::string &path,
                                                  const Session &session) {
  std::vector<StateBox> boxes = session.stateBoxes();
  std::string lines;
  for (uint32_t rank : session.localRanks()) {
    std::vector<size_t> own;
    for (size_t i = 0; i < boxes.size(); ++i) {
      if (writerOf(boxes[i]) == rank) {
        own.push_back(i);
      }
    }
    if (own.empty()) {
      continue;
    }
    auto written =
        writeStateFile(path + "/" + stateFileName(rank), session, boxes, own);
    if (!written) {
      return written;
    }
    lines += *written;
  }
  return lines;
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

namespace {

/// What one line of writeStateFiles() says of a box.
struct Written {
  int64_t offset = 0;
  std::string sha256;
};

} // namespace

static void writeDims(std::string &text, const Dims &dims) {
  writeJsonList(text, dims.size(),
                [&](size_t i) { text += std::to_string(dims[i]); });
}

static void writeBoxes(std::string &text, const std::vector<StateBox> &boxes,
                       std::vector<Written> &written, size_t begin,
                       size_t end) {
  writeJsonList(text, end - begin, [&](size_t i) {
    const StateBox &box = boxes[begin + i];
    text += "{\"begin\": ";
    writeDims(text, box.box.begin);
    text += ", \"end\": ";
    writeDims(text, box.box.end);
    text += ", \"file\": \"" + stateFileName(writerOf(box)) +
            "\", \"offset\": " + std::to_string(written[begin + i].offset) +
            ", \"sha256\": \"" + written[begin + i].sha256 + "\"}";
  });
}

static void writeTensors(std::string &text, const Session &session,
                         const std::vector<StateBox> &boxes,
                         std::vector<Written> &written) {
  text += ",\n \"tensors\": [";
  size_t begin = 0;
  for (size_t i = 0; i < session.globals().size(); ++i) {
    const GlobalInfo &global = session.globals()[i];
    size_t end = begin;
    while (end < boxes.size() && boxes[end].global == i) {
      ++end;
    }
    if (!global.isUpdated) {
      continue;
    }
    text += begin == 0 && text.ends_with("[") ? "\n  " : ",\n  ";
    text += "{\"name\": ";
    writeJsonString(text, global.value.name);
    text += ", \"kind\": ";
    writeJsonString(text, global.kind);
    text += ", \"type\": \"" + std::string(stringify(global.value.type)) +
            "\", \"dims\": ";
    writeDims(text, global.value.dims);
    text += ", \"boxes\": ";
    writeBoxes(text, boxes, written, begin, end);
    text += "}";
    begin = end;
  }
  text += "]";
}

/// Weights that no entry updates: they tell models with equal shapes apart.
static void writeFrozen(std::string &text, const Session &session) {
  text += ",\n \"frozen\": [";
  bool isFirst = true;
  for (const GlobalInfo &global : session.globals()) {
    if (global.isUpdated || global.kind != "parameter") {
      continue;
    }
    text += std::exchange(isFirst, false) ? "\n  " : ",\n  ";
    text += "{\"name\": ";
    writeJsonString(text, global.value.name);
    text += ", \"sha256\": \"" + toHex(global.sha256) + "\"}";
  }
  text += "]";
}

Status divisi::rt::endCheckpoint(const std::string &path,
                                 const Session &session,
                                 const TrainingState &training,
                                 const std::string &lines) {
  std::vector<StateBox> boxes = session.stateBoxes();
  std::vector<Written> written(boxes.size());
  std::istringstream in(lines);
  size_t index = 0, count = 0;
  for (Written one; in >> index >> one.offset >> one.sha256; ++count) {
    if (index < boxes.size()) {
      written[index] = one;
    }
  }
  if (count != boxes.size()) {
    return makeError(ExitCode::Internal, "'", path, "': ", count, " of ",
                     boxes.size(), " boxes of globals were written");
  }
  std::string text =
      "{\"divisi_checkpoint\": " + std::to_string(kCheckpointVersion) +
      ",\n \"step\": " + std::to_string(training.step) + ",\n \"seed\": \"" +
      std::to_string(training.seed) +
      "\",\n \"epoch\": " + std::to_string(training.position.epoch) +
      ",\n \"place\": " + std::to_string(training.position.place) +
      ",\n \"samples\": " + std::to_string(training.samples);
  writeTensors(text, session, boxes, written);
  writeFrozen(text, session);
  text += kManifestEnd + toHex(Sha256::of(text)) + kManifestLast;
  return writeFile(path + "/" + kManifestName, text);
}

Status divisi::rt::removeOldCheckpoints(const std::string &folder,
                                        int64_t keep) {
  auto folders = foldersIn(folder);
  if (!folders) {
    return folders.status();
  }
  for (const fs::path &path : *folders) {
    std::error_code none;
    bool isKept = fs::exists(path / kManifestName, none) && keep-- > 0;
    Status status = isKept ? Status() : removeCheckpoint(path.string());
    if (!status.isOk()) {
      return status;
    }
  }
  return {};
}
