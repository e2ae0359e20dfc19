//===- RankThreads.cpp - One thread per rank ------------------------------===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankThreads.h"

using namespace divisi;
using namespace divisi::rt;

RankThreads::RankThreads(uint32_t numRanks) {
  for (uint32_t rank = 0; rank < numRanks; ++rank) {
    threads_.emplace_back([this, rank] { loop(rank); });
  }
}

RankThreads::~RankThreads() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  start_.notify_all();
  for (std::thread &thread : threads_) {
    thread.join();
  }
}

Status
RankThreads::runOnAll(const Job &job,
                      const std::function<void(const Status &)> &onError) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  onError_ = &onError;
  firstError_ = {};
  running_ = threads_.size();
  ++generation_;
  start_.notify_all();
  done_.wait(lock, [this] { return running_ == 0; });
  return firstError_;
}

void RankThreads::loop(uint32_t rank) {
  uint64_t seen = 0;
  while (true) {
    const Job *job = nullptr;
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stops_ || generation_ != seen; });
      if (stops_) {
        return;
      }
      seen = generation_;
      job = job_;
    }
    Status status = (*job)(rank);
    bool isFirst = false;
    if (!status.isOk()) {
      std::lock_guard lock(mutex_);
      isFirst = firstError_.isOk();
      if (isFirst) {
        firstError_ = status;
      }
    }
    if (isFirst) {
      (*onError_)(status);
    }
    std::lock_guard lock(mutex_);
    if (--running_ == 0) {
      done_.notify_one();
    }
  }
}
