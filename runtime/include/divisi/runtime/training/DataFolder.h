//===- DataFolder.h - Samples in a folder of arrays -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder has shards, in the order of their names:
//
//   SHARD.npz              an array for each input that data is for
//   SHARD.INPUT.npy        the same, a file for each input
//   INPUT.npy              of a folder with one shard
//
// All arrays of a shard have as many samples: their first extent. The others
// are those of the input, whose own first extent is the batch:
//
//   input_ids: i64[8, 128]   ->  input_ids.npy: i64[50000, 128]
//
// Inputs without a batch, as a mask, are the same in every step: an array of
// their own shape, in one shard, in MASK.npy, or alike wherever it is.
//
// Files are mapped, not read: only what a batch needs comes to memory.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_DATAFOLDER_H
#define DIVISI_RUNTIME_TRAINING_DATAFOLDER_H

#include "divisi/runtime/core/LoadedArtifact.h"
#include "divisi/runtime/tensors/MappedArrays.h"

#include <set>
#include <string>
#include <vector>

namespace divisi::rt {

/// See the file's head.
class DataFolder {
public:
  /// The folder at `path` with samples of `inputs`, at least one, and with
  /// `shared`, which have no batch. Fails with File or Invalid for files that
  /// cannot be read, do not fit the inputs or each other, or are missing; with
  /// Usage if one of `inputs` has no batch, or another than the rest.
  static Expected<DataFolder> open(const std::string &path,
                                   std::span<const ValueInfo> inputs,
                                   std::span<const ValueInfo> shared = {});

  /// How many samples a batch has.
  int64_t batch() const { return batch_; }
  /// How many samples there are; at least a batch.
  int64_t samples() const { return shards_.back().end; }
  /// How many shards there are.
  size_t shards() const { return shards_.size(); }
  /// Bytes of arrays that are in memory, as they are compressed or in Fortran's
  /// order.
  int64_t bytesInMemory() const { return bytesInMemory_; }
  /// Names of arrays in .npz files that are no inputs.
  const std::set<std::string> &unused() const { return unused_; }

  /// What `shared[input]` is. Fails with Device where memory runs out.
  Expected<HostTensor> shared(size_t input) const;
  /// What sample `sample` has for `inputs[input]`, row-major.
  const std::byte *find(size_t input, int64_t sample) const;
  /// `sample 17 (row 1 of 'b.npz')`
  std::string describe(int64_t sample) const;

private:
  struct Shard {
    std::string name;                ///< Without the folder, as in messages.
    std::vector<MappedArray> arrays; ///< By input; none: elements are null.
    std::vector<std::string> files;  ///< By input, with the folder.
    int64_t begin = 0, end = 0;      ///< Its samples, among all.
  };
  /// An input without a batch, in the first file that has it.
  struct Shared {
    ValueInfo info;
    MappedArray array;
    std::string file; ///< Empty until it was found.
  };

  Status findBatch(std::span<const ValueInfo> inputs);
  Status addFile(const std::string &path, std::span<const ValueInfo> inputs);
  Status add(const std::string &shard, size_t input, MappedArray array,
             const std::string &file, std::span<const ValueInfo> inputs);
  Status addShared(Shared &to, MappedArray array, const std::string &file);
  Status addArray(const std::string &shard, size_t input, MappedArray array,
                  const std::string &file, const ValueInfo &info);
  Status countSamples(std::span<const ValueInfo> inputs);
  const Shard &shardOf(int64_t sample) const;

  std::string path_;
  int64_t batch_ = 0;
  std::vector<Shard> shards_;
  std::vector<Shared> shared_;
  std::vector<int64_t> rowBytes_; ///< By input.
  std::set<std::string> unused_;
  int64_t bytesInMemory_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_DATAFOLDER_H
