//===- Lifetimes.cpp - When tensors take memory ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include "llvm/ADT/STLExtras.h"

namespace divisi::plan {

Lifetimes::Lifetimes(const Dataflow &dataflow)
    : dataflow_(dataflow), values_(dataflow.values.size()),
      overwritten_(dataflow.sites.size()),
      overwritesEither_(dataflow.sites.size(), false),
      writtenGlobal_(dataflow.values.size()),
      endsWithLast_(dataflow.values.size(), false),
      results_(dataflow.sites.size()) {
  size_t most = 1;
  for (const Site &site : dataflow.sites) {
    most = std::max(most, site.nest.operands.size() + site.numResults + 1);
  }
  for (const Output &output : dataflow.outputs) {
    most = std::max(most, size_t(output.number) + 2);
  }
  stride_ = int64_t(most);
  for (auto [index, tensor] : llvm::enumerate(dataflow.values)) {
    if (tensor.kind == DataflowValue::Kind::Result) {
      results_[tensor.index].push_back(unsigned(index));
    }
  }
  writeGlobals();
  overwriteOperands();
  endValues();
}

/// When a consumer's tensor is brought to it.
int64_t Lifetimes::slot(const Consumer &consumer) const {
  switch (consumer.kind) {
  case Consumer::Kind::Operand:
    return consumer.time * stride_ + consumer.operand;
  case Consumer::Kind::Output:
    return consumer.time * stride_ + dataflow_.outputs[consumer.index].number;
  case Consumer::Kind::Update:
  case Consumer::Kind::Argument:
    break;
  }
  return consumer.time * stride_;
}

/// Of the entry that runs then.
EntryTimes Lifetimes::entryAt(int64_t time) const {
  return *llvm::find_if(dataflow_.entryTimes, [&](EntryTimes times) {
    return times.begin <= time && time < times.end;
  });
}

/// Whether all who read the old value of `global` in the entry of `writer` do
/// so before that runs, or it may write its result over it.
bool Lifetimes::isOverwrittenBy(unsigned global, const Site &writer) const {
  EntryTimes entry = entryAt(writer.time);
  int64_t own = 0;
  for (const Consumer &reader : dataflow_.values[global].consumers) {
    if (reader.time < entry.begin || entry.end <= reader.time) {
      continue;
    }
    if (reader.kind != Consumer::Kind::Operand || reader.time > writer.time) {
      return false;
    }
    const ResultBuffers &buffers = dataflow_.sites[reader.index].buffers;
    if (buffers.viewed == reader.operand) {
      return false; // whoever reads the view may come later
    }
    if (reader.time == writer.time) {
      ++own;
      if (!llvm::is_contained(buffers.overwritable, reader.operand)) {
        return false;
      }
    }
  }
  return own <= 1;
}

void Lifetimes::writeGlobals() {
  llvm::SmallVector<bool> isTaken(dataflow_.values.size(), false);
  for (auto [index, tensor] : llvm::enumerate(dataflow_.values)) {
    if (tensor.kind != DataflowValue::Kind::Result ||
        isAlias(dataflow_.sites[tensor.index])) {
      continue;
    }
    for (const Consumer &consumer : tensor.consumers) {
      if (consumer.kind == Consumer::Kind::Update && !isTaken[consumer.index] &&
          isOverwrittenBy(consumer.index, dataflow_.sites[tensor.index])) {
        isTaken[consumer.index] = true;
        writtenGlobal_[index] = consumer.index;
        break;
      }
    }
  }
}

/// An operand that nobody needs afterwards, else one whose copy may be written
/// over; of those, as plan-memory does, the first.
void Lifetimes::overwriteOperands() {
  // Per site and overwritable operand: whether its tensor ends there.
  std::vector<llvm::SmallVector<unsigned, 2>> ending(dataflow_.sites.size());
  for (const DataflowValue &tensor : dataflow_.values) {
    if (tensor.kind != DataflowValue::Kind::Result ||
        tensor.consumers.empty() || isAlias(dataflow_.sites[tensor.index])) {
      continue;
    }
    const Consumer &last = tensor.consumers.back();
    bool isOnce = llvm::count_if(tensor.consumers, [&](const Consumer &other) {
                    return other.time == last.time;
                  }) == 1;
    bool hasViews = llvm::any_of(tensor.consumers, [&](const Consumer &other) {
      return other.kind == Consumer::Kind::Operand &&
             dataflow_.sites[other.index].buffers.viewed == other.operand;
    });
    if (last.kind == Consumer::Kind::Operand && isOnce && !hasViews) {
      ending[last.index].push_back(last.operand);
    }
  }
  for (auto [index, site] : llvm::enumerate(dataflow_.sites)) {
    for (unsigned operand : site.buffers.overwritable) {
      if (llvm::is_contained(ending[index], operand)) {
        overwritten_[index] = operand;
        break;
      }
    }
    if (!overwritten_[index] && !site.buffers.overwritable.empty()) {
      overwritten_[index] = site.buffers.overwritable.front();
    }
    for (unsigned result : results_[index]) {
      if (overwritten_[index] && isWrittenInPlace(result) &&
          !hasPoint(dataflow_, dataflow_.values[result])) {
        overwritten_[index] = std::nullopt;
        overwritesEither_[index] = true;
      }
    }
  }
}

/// Backwards: how long a view is needed is known before what it shows.
void Lifetimes::endValues() {
  for (size_t index = dataflow_.values.size(); index-- != 0;) {
    const DataflowValue &tensor = dataflow_.values[index];
    search::Lifetime &live = values_[index];
    if (tensor.kind != DataflowValue::Kind::Result) {
      live = {tensor.begin * stride_, tensor.end * stride_};
      continue;
    }
    const Site &site = dataflow_.sites[tensor.index];
    int64_t made = run(site);
    bool isLater =
        hasPoint(dataflow_, tensor) || overwritesEither_[tensor.index];
    live.begin = isLater ? made + 1 : made;
    live.end = live.begin + 1;
    if (tensor.consumers.empty()) {
      continue;
    }
    // They stand in the order in which they run.
    for (const Consumer &consumer : llvm::drop_end(tensor.consumers)) {
      live.end = std::max(live.end, held(unsigned(index), consumer).end);
    }
    const Consumer &consumer = tensor.consumers.back();
    bool isPlain =
        !consumer.stop && !isAlias(site) && live.end <= slot(consumer) + 1;
    if (isPlain) {
      endsWithLast_[index] = true;
      live.end = slot(consumer) + 1;
    } else {
      live.end = std::max(live.end, held(unsigned(index), consumer).end);
    }
  }
}

search::Lifetime Lifetimes::held(unsigned tensor,
                                 const Consumer &consumer) const {
  int64_t begin = slot(consumer) + 1;
  if (isWrittenInPlace(tensor, consumer)) {
    return {begin, begin};
  }
  switch (consumer.kind) {
  case Consumer::Kind::Operand: {
    const Site &site = dataflow_.sites[consumer.index];
    int64_t end = run(site) + 1;
    if (site.buffers.viewed == consumer.operand) {
      for (unsigned result : results_[consumer.index]) {
        end = std::max(end, values_[result].end);
      }
    } else if (overwritten_[consumer.index] == consumer.operand) {
      end = run(site);
    }
    return {begin, std::max(begin, end)};
  }
  case Consumer::Kind::Output:
    return {begin, (consumer.time + 1) * stride_};
  case Consumer::Kind::Argument: {
    unsigned body = dataflow_.values[consumer.index].index;
    return {begin, dataflow_.entryTimes[body].end * stride_};
  }
  case Consumer::Kind::Update:
    break;
  }
  // Other new values are copied when the entry ends.
  return {begin, entryAt(consumer.time).end * stride_};
}

search::Lifetime Lifetimes::made(unsigned site) const {
  int64_t begin = run(dataflow_.sites[site]);
  return {begin, begin + 1};
}

search::Lifetime Lifetimes::placing(unsigned site, unsigned number) const {
  int64_t begin = run(dataflow_.sites[site]) + 1;
  return {begin, begin + 1 + number};
}

UseTimes Lifetimes::use(unsigned tensor, const Consumer &consumer) const {
  int64_t begin = slot(consumer);
  bool isLast = endsWithLast_[tensor] &&
                &dataflow_.values[tensor].consumers.back() == &consumer;
  return {{begin, begin + 1},
          held(tensor, consumer),
          isLast,
          isWrittenInPlace(tensor, consumer)};
}

UseTimes Lifetimes::stop(const Stop &stop, int64_t end) const {
  int64_t begin = stop.begin * stride_;
  return {{begin, begin + 1}, {begin + 1, end * stride_}};
}

} // namespace divisi::plan
