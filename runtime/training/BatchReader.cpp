//===- BatchReader.cpp - Batches for the ranks of a session ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/training/BatchReader.h"

#include "divisi/runtime/training/SampleOrder.h"

#include <algorithm>
#include <cstring>

using namespace divisi;
using namespace divisi::rt;

BatchReader::BatchReader(const DataFolder &folder, const EntryInfo &entry,
                         const std::map<size_t, HostTensor> &fixed,
                         uint64_t seed, DataPosition position)
    : folder_(folder), entry_(entry), fixed_(fixed), seed_(seed),
      following_(wrapped(position)) {
  size_t source = 0;
  partOf_.resize(entry.inputs.size());
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (!fixed.count(i)) {
      addInput(i, source++);
    }
  }
}

BatchReader::~BatchReader() = default;

/// Ranks with the same box share what is read.
void BatchReader::addInput(size_t input, size_t source) {
  const ValueInfo &info = entry_.inputs[input];
  for (const std::optional<Box> &box : info.boxes) {
    auto &part = partOf_[input].emplace_back();
    if (!box) {
      continue;
    }
    auto same = std::ranges::find_if(parts_, [&](const Part &other) {
      return other.input == input && other.box == *box;
    });
    part = size_t(same - parts_.begin());
    if (same == parts_.end()) {
      Box inner = *box;
      inner.begin.erase(inner.begin.begin());
      inner.end.erase(inner.end.begin());
      parts_.push_back({input, source, *box, std::move(inner),
                        Dims(info.dims.begin() + 1, info.dims.end())});
    }
  }
}

int64_t BatchReader::batchesPerEpoch() const {
  return folder_.samples() / folder_.batch();
}

DataPosition BatchReader::wrapped(DataPosition position) const {
  bool isOver = folder_.samples() - position.place < folder_.batch();
  return isOver ? DataPosition{position.epoch + 1, 0} : position;
}

Status BatchReader::allocate(Batch &batch) const {
  if (!batch.arguments.empty()) {
    return {};
  }
  for (const Part &part : parts_) {
    const ValueInfo &info = entry_.inputs[part.input];
    auto tensor =
        HostTensor::allocate(info.type, part.box.extents(), info.name);
    if (!tensor) {
      return tensor.status();
    }
    batch.tensors.push_back(std::move(*tensor));
  }
  for (size_t i = 0; i < entry_.inputs.size(); ++i) {
    if (auto fixed = fixed_.find(i); fixed != fixed_.end()) {
      batch.arguments.emplace_back(TensorView::of(fixed->second));
      continue;
    }
    std::vector<TensorView> views;
    for (std::optional<size_t> part : partOf_[i]) {
      views.push_back(part ? TensorView::of(batch.tensors[*part])
                           : TensorView());
    }
    batch.arguments.emplace_back(std::move(views));
  }
  return {};
}

Status BatchReader::readPart(const Part &part,
                             const std::vector<int64_t> &samples,
                             HostTensor &tensor) const {
  const ValueInfo &info = entry_.inputs[part.input];
  BoxCopy copy(byteWidth(info.type), part.inner, Box::whole(part.row),
               part.inner);
  std::byte *to = tensor.data();
  for (int64_t i = part.box.begin[0]; i < part.box.end[0]; ++i) {
    copy.run(folder_.find(part.source, samples[size_t(i)]), to);
    to += copy.bytes();
  }
  if (info.type != DType::Bool && bitWidth(info.type) >= 8) {
    return {};
  }
  // Files may have other bytes than kernels expect.
  auto clean =
      HostTensor::copyOf(info.type, part.box.extents(), tensor.bytes());
  if (clean) {
    std::memcpy(tensor.data(), clean->data(), size_t(clean->byteSize()));
  }
  return clean.status();
}

Status BatchReader::read(DataPosition position, Batch &batch) const {
  Status status = allocate(batch);
  SampleOrder order(seed_, folder_.samples(), position.epoch);
  batch.position = position;
  batch.samples.clear();
  for (int64_t i = 0; i < folder_.batch(); ++i) {
    batch.samples.push_back(order.at(position.place + i));
  }
  for (size_t i = 0; i < parts_.size() && status.isOk(); ++i) {
    status = readPart(parts_[i], batch.samples, batch.tensors[i]);
  }
  return status;
}

Status BatchReader::startReading() {
  Batch &batch = batches_[reading_];
  auto started = Thread::start(
      "samples", [this, &batch] { readStatus_ = read(following_, batch); });
  if (started) {
    thread_ = std::move(*started);
  }
  return started.status();
}

Expected<const Batch *> BatchReader::next() {
  Status status = thread_.isJoinable() ? Status() : startReading();
  if (!status.isOk()) {
    return status;
  }
  thread_.join();
  if (!readStatus_.isOk()) {
    return readStatus_;
  }
  const Batch *batch = &batches_[reading_];
  following_ =
      wrapped({batch->position.epoch, batch->position.place + folder_.batch()});
  reading_ = 1 - reading_;
  status = startReading();
  return status.isOk() ? Expected<const Batch *>(batch) : status;
}
