//===- SeededDevice.h - A device that works when asked ----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A TestDevice without threads: it does nothing until the host polls it, and
// then a few jobs of any queues, drawn from a seed. One queue may so run far
// ahead of another, or far behind, as often as nothing orders the two, and the
// same seed shows the same again. What a program does not order is found out
// where it matters: bytes are poison, or those of the run before.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_DEVICE_SEEDEDDEVICE_H
#define DIVISI_TEST_RUNTIME_DEVICE_SEEDEDDEVICE_H

#include "test/runtime/device/TestDevice.h"

#include <random>

namespace divisi::rt {

/// Of one rank, whose thread does its work.
class SeededDevice : public TestDevice {
public:
  explicit SeededDevice(uint32_t seed) : random_(seed) {}

  /// How often a queue did a job before one that had been put on another
  /// earlier.
  int numOvertaken = 0;

  Expected<std::unique_ptr<DeviceQueue>> makeQueue() override {
    return std::unique_ptr<DeviceQueue>(std::make_unique<Queue>(*this));
  }
  Status wait(DeviceQueue &queue, DeviceEvent &event) override {
    ++numWaits;
    auto &point = static_cast<TestEvent &>(event);
    static_cast<Queue &>(queue).jobs.push_back(
        {nextJob_++, [] {},
         [&point, number = point.recorded()] {
           return point.isReached(number);
         }});
    return {};
  }
  Expected<bool> poll(DeviceEvent &event) override {
    do {
      work();
    } while (random_() % 4 != 0);
    return TestDevice::poll(event);
  }

private:
  struct Job {
    int64_t number; ///< In the order in which they were put on queues.
    std::function<void()> run;
    std::function<bool()> mayBegin;
  };

  class Queue : public TestQueue {
  public:
    explicit Queue(SeededDevice &device) : TestQueue(device), device_(device) {
      device_.queues_.push_back(this);
    }
    ~Queue() override { std::erase(device_.queues_, this); }
    void put(std::function<void()> job) override {
      jobs.push_back({device_.nextJob_++, std::move(job), [] { return true; }});
    }
    void putUntil(std::function<bool()> isOver) override {
      auto mayEnd = [isOver = std::move(isOver), wasOver = false]() mutable {
        wasOver = wasOver || isOver();
        return wasOver;
      };
      jobs.push_back({device_.nextJob_++, [] {}, std::move(mayEnd)});
    }

    std::deque<Job> jobs;

  private:
    SeededDevice &device_;
  };

  /// One job of any queue whose next may begin.
  void work() {
    std::vector<Queue *> ready;
    int64_t first = nextJob_;
    for (Queue *queue : queues_) {
      if (!queue->jobs.empty()) {
        first = std::min(first, queue->jobs.front().number);
        if (queue->jobs.front().mayBegin()) {
          ready.push_back(queue);
        }
      }
    }
    if (ready.empty()) {
      return;
    }
    Queue &queue = *ready[random_() % ready.size()];
    Job job = std::move(queue.jobs.front());
    queue.jobs.pop_front();
    numOvertaken += job.number > first;
    job.run();
  }

  std::mt19937 random_;
  std::vector<Queue *> queues_;
  int64_t nextJob_ = 0;
};

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_DEVICE_SEEDEDDEVICE_H
