//===- RankThreads.cpp - One thread per rank ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/core/RankThreads.h"
#include "divisi/runtime/comm/Spin.h"

using namespace divisi;
using namespace divisi::rt;

Expected<std::unique_ptr<RankThreads>>
RankThreads::start(uint32_t numRanks, std::chrono::microseconds spin) {
  std::unique_ptr<RankThreads> all(new RankThreads(numRanks, spin));
  for (uint32_t rank = 0; rank < numRanks; ++rank) {
    auto thread =
        Thread::start("device " + std::to_string(rank + 1) + " of the " +
                          std::to_string(numRanks) + " of this process",
                      [threads = all.get(), rank] { threads->loop(rank); });
    if (!thread) {
      return thread.status();
    }
    all->threads_.push_back(std::move(*thread));
  }
  return all;
}

RankThreads::~RankThreads() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  start_.notify_all();
  threads_.clear(); // waits for them, but not after abandon()
}

void RankThreads::abandon(std::shared_ptr<void> owner) {
  // Notified under the lock: the last thread destroys this object.
  std::lock_guard lock(mutex_);
  stops_ = true;
  owner_ = std::move(owner);
  for (Thread &thread : threads_) {
    thread.detach();
  }
  start_.notify_all();
}

Status RankThreads::runOnAll(Job job, OnError onError, const RankWatch &watch) {
  auto work =
      std::make_shared<const Work>(Work{std::move(job), std::move(onError)});
  auto allAreDone = [this] { return running_ == 0; };
  std::unique_lock lock(mutex_);
  work_ = work;
  firstError_ = {};
  running_ = threads_.size();
  ++generation_;
  start_.notify_all();
  if (spin_.count() != 0) {
    lock.unlock();
    spinUntil(spin_, allAreDone);
    lock.lock();
  }
  if (!watch.check) {
    done_.wait(lock, allAreDone);
  }
  while (!done_.wait_for(lock, watch.interval, allAreDone)) {
    lock.unlock();
    Status givenUp = watch.check();
    if (!givenUp.isOk()) {
      work->onError(givenUp);
    }
    lock.lock();
    if (!givenUp.isOk() && !done_.wait_for(lock, watch.interval, allAreDone)) {
      isStuck_ = true;
      return givenUp;
    }
  }
  work_.reset();
  return firstError_;
}

void RankThreads::loop(uint32_t rank) {
  // Destroyed last of all, with this object in it.
  std::shared_ptr<void> owner;
  uint64_t seen = 0;
  while (true) {
    std::shared_ptr<const Work> work;
    if (spin_.count() != 0) {
      spinUntil(spin_, [&] { return hasNews(seen); });
    }
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return hasNews(seen); });
      if (stops_) {
        if (--alive_ == 0) {
          owner = std::move(owner_);
        }
        return;
      }
      seen = generation_;
      work = work_;
    }
    Status status = work->job(rank);
    bool isFirst = false;
    if (!status.isOk()) {
      std::lock_guard lock(mutex_);
      isFirst = firstError_.isOk();
      if (isFirst) {
        firstError_ = status;
      }
    }
    if (isFirst) {
      work->onError(status);
    }
    work.reset();
    std::lock_guard lock(mutex_);
    if (--running_ == 0) {
      done_.notify_one();
    }
  }
}
