//===- BatchReader.h - Batches for the ranks of a session -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each batch a session reads what its ranks hold: the samples of a rank's
// box, and of each sample the part that the box cuts out. The next batch is
// read while a step works on the last:
//
//   BatchReader reader(folder, entry, fixed, order);
//   for (…) {
//     auto batch = reader.next();
//     session.run(entry.name, batch->arguments, outputs);
//   }
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TRAINING_BATCHREADER_H
#define DIVISI_RUNTIME_TRAINING_BATCHREADER_H

#include "divisi/Support/Thread.h"
#include "divisi/runtime/core/TensorView.h"
#include "divisi/runtime/training/DataFolder.h"

#include <map>
#include <optional>

namespace divisi::rt {

/// Where in its data a training is.
struct DataPosition {
  int64_t epoch = 0; ///< From 0.
  int64_t place = 0; ///< In the epoch's order: of the next sample.
  friend bool operator==(const DataPosition &, const DataPosition &) = default;
};

/// What a step takes.
struct Batch {
  DataPosition position;                 ///< Of its first sample.
  std::vector<int64_t> samples;          ///< All of them, in order.
  std::vector<HostTensor> tensors;       ///< That `arguments` show.
  std::vector<TensorArgument> arguments; ///< In the order of the entry.
};

/// See the file's head. Not movable: a thread works on it.
class BatchReader {
public:
  /// Reads for the inputs of a session's `entry`: those that are not `fixed`,
  /// by index, from `folder`, which has been opened for just these, in their
  /// order. From `position` on, in the orders of `seed`. What it refers to
  /// outlives it.
  BatchReader(const DataFolder &folder, const EntryInfo &entry,
              const std::map<size_t, HostTensor> &fixed, uint64_t seed,
              DataPosition position);
  BatchReader(const BatchReader &) = delete;
  ~BatchReader();

  /// The next batch. An epoch ends where what is left of it is less than one.
  /// It stays as it is until the next call. Fails with Device where memory runs
  /// out, or threads.
  Expected<const Batch *> next();
  /// Where the batch after the last of next() begins.
  DataPosition position() const { return following_; }
  /// How many batches there are in an epoch.
  int64_t batchesPerEpoch() const;

private:
  /// What some ranks of the session have of an input.
  struct Part {
    size_t input;  ///< Of the entry.
    size_t source; ///< Of the folder.
    Box box;       ///< In the batch.
    Box inner;     ///< The same without the first dimension.
    Dims row;      ///< Extents of a sample.
  };

  void addInput(size_t input, size_t source);
  DataPosition wrapped(DataPosition position) const;
  Status read(DataPosition position, Batch &batch) const;
  Status readPart(const Part &part, const std::vector<int64_t> &samples,
                  HostTensor &tensor) const;
  Status allocate(Batch &batch) const;
  Status startReading();

  const DataFolder &folder_;
  const EntryInfo &entry_;
  const std::map<size_t, HostTensor> &fixed_;
  uint64_t seed_;
  std::vector<Part> parts_;
  /// [input][local rank]: which part it has; nothing: none.
  std::vector<std::vector<std::optional<size_t>>> partOf_;
  DataPosition following_;
  Batch batches_[2];
  int reading_ = 0; ///< Which of them comes next.
  Status readStatus_;
  Thread thread_; ///< Reads it.
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TRAINING_BATCHREADER_H
