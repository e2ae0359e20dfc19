//===- TestDevice.h - A device with memory of its own -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device as a session sees one that is none of the host's. Each queue is a
// thread that does what it was given, later. Addresses of its memory lead to
// poison: floats that are not numbers. Only work on a queue finds the bytes:
//
//   address of the device        what the host finds: 0xffffffff …
//        └─ TestMemory::own ──>  what kernels of the device find
//
// So a host that reads the device's memory computes nonsense, and one that
// writes it is found out (isPoisoned).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_DEVICE_TESTDEVICE_H
#define DIVISI_TEST_RUNTIME_DEVICE_TESTDEVICE_H

#include "divisi/runtime/device/Device.h"
#include "test/runtime/core/TestBackend.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace divisi::rt {

class TestDevice;

/// Does what it is given in order, later.
class TestQueue : public DeviceQueue {
public:
  explicit TestQueue(TestDevice &device) : device_(device) {}
  virtual void put(std::function<void()> job) = 0;
  /// What it gets behind this is done when `isOver` says so, which it is asked
  /// now and then until it does.
  virtual void putUntil(std::function<bool()> isOver) = 0;
  /// Whose it is.
  TestDevice &device() const { return device_; }

private:
  TestDevice &device_;
};

/// On a thread of its own.
class ThreadQueue : public TestQueue {
public:
  explicit ThreadQueue(TestDevice &device)
      : TestQueue(device), thread_([this] { work(); }) {}
  ~ThreadQueue() override {
    put(nullptr);
    thread_.join();
  }
  void put(std::function<void()> job) override {
    std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    hasJob_.notify_one();
  }
  void putUntil(std::function<bool()> isOver) override {
    put([isOver = std::move(isOver)] {
      while (!isOver()) {
        std::this_thread::yield();
      }
    });
  }

private:
  void work() {
    while (true) {
      std::unique_lock lock(mutex_);
      hasJob_.wait(lock, [this] { return !jobs_.empty(); });
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      if (!job) {
        return;
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable hasJob_;
  std::deque<std::function<void()>> jobs_;
  std::thread thread_; ///< Last: it uses all of the above.
};

/// How often it was recorded, and how often reached.
class TestEvent : public DeviceEvent {
public:
  /// The number of this recording.
  uint64_t record() { return ++recorded_; }
  void reach(uint64_t number) {
    std::lock_guard lock(mutex_);
    reached_ = number;
    changed_.notify_all();
  }
  bool isReached() { return isReached(recorded_); }
  bool isReached(uint64_t number) {
    std::lock_guard lock(mutex_);
    return reached_ >= number;
  }
  uint64_t recorded() const { return recorded_; }
  void wait(uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_ >= number; });
  }

private:
  uint64_t recorded_ = 0; ///< The host's alone.
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t reached_ = 0;
};

/// Shared by all ranks of a test.
class TestDevice : public Device {
public:
  static constexpr std::string_view name = "test";
  static constexpr std::byte poison{0xff};

  /// How long each copy takes to begin.
  std::chrono::milliseconds copyDelay{0};
  /// What was asked of it.
  std::atomic<int> numWaits = 0, numCopies = 0, numFills = 0, numPinned = 0,
                   numAllocations = 0;
  /// What memoryId() says.
  const void *sharesAs = nullptr;
  /// Lets polls fail from here on.
  std::atomic<bool> isLost = false;

  std::string_view space() const override { return name; }
  const void *memoryId() const override { return sharesAs; }
  Expected<std::unique_ptr<DeviceMemory>> allocate(int64_t bytes) override {
    ++numAllocations;
    return std::unique_ptr<DeviceMemory>(
        std::make_unique<TestMemory>(*this, bytes));
  }
  Expected<std::unique_ptr<DeviceMemory>> allocateHost(int64_t bytes) override {
    ++numPinned;
    return Device::allocateHost(bytes);
  }
  Expected<std::unique_ptr<DeviceQueue>> makeQueue() override {
    return std::unique_ptr<DeviceQueue>(std::make_unique<ThreadQueue>(*this));
  }
  Expected<std::unique_ptr<DeviceEvent>> makeEvent() override {
    return std::unique_ptr<DeviceEvent>(std::make_unique<TestEvent>());
  }
  Status copyBox(DeviceQueue *queue, const BoxCopy &copy, const void *source,
                 void *result) override {
    ++numCopies;
    put(queue, [this, copy, source, result] {
      std::this_thread::sleep_for(copyDelay);
      copy.run(static_cast<const std::byte *>(find(source)),
               static_cast<std::byte *>(find(result)));
    });
    return {};
  }
  Status fill(DeviceQueue *queue, DType type, ReduceKind kind, void *result,
              int64_t count) override {
    ++numFills;
    put(queue, [=, this] { fillNeutral(type, kind, find(result), count); });
    return {};
  }
  Status record(DeviceQueue &queue, DeviceEvent &event) override {
    auto &point = static_cast<TestEvent &>(event);
    uint64_t number = point.record();
    put(&queue, [&point, number] { point.reach(number); });
    return {};
  }
  Status wait(DeviceQueue &queue, DeviceEvent &event) override {
    ++numWaits;
    auto &point = static_cast<TestEvent &>(event);
    put(&queue, [&point, number = point.recorded()] { point.wait(number); });
    return {};
  }
  Expected<bool> poll(DeviceEvent &event) override {
    auto &point = static_cast<TestEvent &>(event);
    if (isLost) {
      point.wait(point.recorded());
      return Status(ExitCode::Device, "the device is lost");
    }
    return point.isReached();
  }

  /// Where the bytes are that `address` stands for: on the host itself.
  void *find(const void *address) {
    std::lock_guard lock(mutex_);
    auto *at = const_cast<std::byte *>(static_cast<const std::byte *>(address));
    auto next = memories_.upper_bound(at);
    if (next != memories_.begin()) {
      auto &[begin, memory] = *std::prev(next);
      if (at < begin + memory->size()) {
        return memory->own() + (at - begin);
      }
    }
    return at;
  }
  /// Whether nobody has written to its addresses.
  bool isPoisoned() {
    std::lock_guard lock(mutex_);
    return std::all_of(memories_.begin(), memories_.end(), [](auto &memory) {
      return std::all_of(memory.first, memory.first + memory.second->size(),
                         [](std::byte byte) { return byte == poison; });
    });
  }
  static void put(DeviceQueue *queue, std::function<void()> job) {
    static_cast<TestQueue *>(queue)->put(std::move(job));
  }

private:
  /// Poison, and what the device itself finds.
  class TestMemory : public DeviceMemory {
  public:
    TestMemory(TestDevice &device, int64_t bytes)
        : DeviceMemory(make(bytes), bytes), device_(device), own_(make(bytes)) {
      std::lock_guard lock(device_.mutex_);
      device_.memories_[data()] = this;
    }
    ~TestMemory() override {
      std::lock_guard lock(device_.mutex_);
      device_.memories_.erase(data());
      std::free(data());
      std::free(own_);
    }
    std::byte *own() const { return own_; }

  private:
    static std::byte *make(int64_t bytes) {
      int64_t rounded = (bytes + 64) / 64 * 64;
      auto *data = static_cast<std::byte *>(std::aligned_alloc(64, rounded));
      std::memset(data, int(poison), rounded);
      return data;
    }
    TestDevice &device_;
    std::byte *own_;
  };

  std::mutex mutex_;
  std::map<std::byte *, TestMemory *> memories_;
};

/// The kernels of a backend of the host, for the memory of a device: each puts
/// on its queue what that does. Those of one test are of one host's.
class TestDeviceBackend : public Backend {
public:
  /// Of `host`, those that `has` wants.
  explicit TestDeviceBackend(
      const Backend &host = testKernels_,
      const std::function<bool(std::string_view op)> &has = nullptr) {
    host_ = &host;
    for (const Kernel &kernel : host.kernels()) {
      if (!has || has(kernel.op)) {
        table_.push_back(kernel);
        table_.back().prepare = prepare;
        table_.back().accepts = accepts;
      }
    }
  }
  /// Whether kernels take a call that the host's take; null: they do.
  inline static bool (*takes)(const CallSite &) = nullptr;

  std::string_view name() const override { return "test-device"; }
  std::string_view space() const override { return TestDevice::name; }
  std::span<const Kernel> kernels() const override { return table_; }

private:
  class Queued : public PreparedKernel {
  public:
    explicit Queued(std::unique_ptr<PreparedKernel> kernel)
        : kernel_(std::move(kernel)) {}
    Status launch(LaunchContext &context) override {
      operands_.assign(context.operands.begin(), context.operands.end());
      results_.assign(context.results.begin(), context.results.end());
      auto &queue = static_cast<TestQueue &>(*context.queue);
      queue.put([this, &device = queue.device(),
                 workspace = context.workspace] { run(device, workspace); });
      return {};
    }
    void collect(LaunchContext &context) override {
      if (badIndex_) {
        context.note(std::move(*badIndex_));
        badIndex_.reset();
      }
    }

  private:
    void run(TestDevice &device, void *workspace) {
      std::vector<const void *> operands;
      std::vector<void *> results;
      for (const void *operand : operands_) {
        operands.push_back(device.find(operand));
      }
      for (void *result : results_) {
        results.push_back(device.find(result));
      }
      LaunchContext context{operands, results,
                            workspace ? device.find(workspace) : nullptr};
      (void)kernel_->launch(context);
      badIndex_ = std::move(context.badIndex);
    }

    std::unique_ptr<PreparedKernel> kernel_;
    std::vector<const void *> operands_;
    std::vector<void *> results_;
    std::optional<BadIndex> badIndex_; ///< The queue's until the event.
  };

  static bool accepts(const CallSite &site) {
    return host_->find(site) && (!takes || takes(site));
  }
  static std::unique_ptr<PreparedKernel> prepare(const CallSite &site,
                                                 std::string &error) {
    std::unique_ptr<PreparedKernel> kernel =
        host_->find(site)->prepare(site, error);
    return kernel ? std::make_unique<Queued>(std::move(kernel)) : nullptr;
  }

  inline static TestBackend testKernels_;
  inline static const Backend *host_ = nullptr; ///< Of the present test.
  std::vector<Kernel> table_;
};

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_DEVICE_TESTDEVICE_H
