//===- Checkpoint.h - What a training can go on from ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is a folder, `step-0000000040`, in the folder of a training:
//
//   rank-00000.safetensors ...  the boxes that this rank has written
//   manifest.json               what is where, with hashes; written last
//
// Files get their names when all of their bytes are on the disk. What has no
// manifest is no checkpoint, whenever whoever wrote it was ended. Each box of a
// global stands once, whatever number of ranks hold it; whoever reads cuts
// other boxes out of these, so that a training goes on with other devices.
//
// Manifests and files are hostile until checked: sizes are computed with
// overflow checks, names lead to files of the folder alone, and bytes are
// copied before they are compared with their hash.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_CHECKPOINT_H
#define DIVISI_RUNTIME_TRAINING_CHECKPOINT_H

#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/training/BatchReader.h"

#include <map>
#include <string>
#include <vector>

namespace divisi::rt {

/// Where a training is, beside its globals.
struct TrainingState {
  int64_t step = 0;      ///< Steps done.
  uint64_t seed = 0;     ///< Of the order of samples.
  DataPosition position; ///< Of the next sample.
  int64_t samples = 0;   ///< How many the data has.
};

/// A part of a tensor in a checkpoint.
struct StoredBox {
  Box box;            ///< Not empty.
  size_t file = 0;    ///< Which of the files.
  int64_t offset = 0; ///< In the file.
  std::string sha256; ///< Of its bytes, as hexadecimal digits.
};

/// A tensor in a checkpoint.
struct StoredTensor {
  std::string name;             ///< Of the global.
  std::string kind;             ///< Of the global: `parameter`, `state`.
  DType type = DType::F32;      ///< Of its elements.
  Dims dims;                    ///< Of the whole tensor.
  std::vector<StoredBox> boxes; ///< Together all of it.
};

/// A checkpoint that was found complete; its hashes are compared when bytes are
/// read. Errors: File where it cannot be read, Invalid where it is damaged,
/// Version where another Divisi has written it.
class Checkpoint {
public:
  /// The checkpoint that the folder at `path` is.
  static Expected<Checkpoint> open(const std::string &path);

  /// Its folder.
  const std::string &path() const { return path_; }
  /// Where the training was.
  const TrainingState &training() const { return training_; }
  /// In the order of the globals.
  const std::vector<StoredTensor> &tensors() const { return tensors_; }

  /// Whether it is of the program of `session`: the same globals are updated,
  /// and other weights are the same. ExitCode::Usage says what is not.
  Status checkProgram(const Session &session) const;
  /// Copies `box` of the tensor to `to`, row-major without gaps.
  Status read(const StoredTensor &tensor, const Box &box,
              std::span<std::byte> to) const;
  /// All of the tensor.
  Expected<HostTensor> read(const StoredTensor &tensor) const;
  /// Gives `session`, of whose program it is, the values that it has.
  Status load(Session &session) const;

private:
  friend class ManifestReader;

  Expected<AlignedBytes> readStored(const StoredTensor &tensor,
                                    const StoredBox &stored) const;

  std::string path_;
  TrainingState training_;
  std::vector<std::string> files_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, std::string> frozen_; ///< Hashes of other weights.
};

/// The complete checkpoints in `folder`, the newest first; none where there is
/// no such folder. File where it cannot be read.
Expected<std::vector<std::string>> findCheckpoints(const std::string &folder);

/// Where in `folder` the checkpoint of `step` lies.
std::string checkpointPath(const std::string &folder, int64_t step);

/// Makes room for a checkpoint at `path`, and the folder that it is in; what
/// lies there goes. File where that fails.
Status beginCheckpoint(const std::string &path);
/// Removes the checkpoint at `path`, or what there is of one.
Status removeCheckpoint(const std::string &path);
/// Writes what the ranks of `session` have to write, and returns what
/// endCheckpoint() has to know of it. Invalid, naming the global, where an
/// element is not finite.
Expected<std::string> writeStateFiles(const std::string &path,
                                      const Session &session);
/// Makes it a checkpoint, of what all sessions have returned together.
Status endCheckpoint(const std::string &path, const Session &session,
                     const TrainingState &training, const std::string &written);
/// Removes all but the newest `keep` checkpoints of `folder`, and what others
/// that were ended have left of theirs.
Status removeOldCheckpoints(const std::string &folder, int64_t keep);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_CHECKPOINT_H
