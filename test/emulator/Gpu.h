//===- Gpu.h - GPUs that are not there --------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the emulated libraries share. Work that is put on streams is done later:
// when the host asks for something, some of it, drawn at random among all
// streams that can go on. One seed is one interleaving; races are found in all
// of them, by clocks.
//
// Memory of a device has addresses at which nothing can be read: its bytes lie
// elsewhere. Whoever takes a pointer of the device for one of the host ends
// with a segmentation fault, as with a GPU.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_EMULATOR_GPU_H
#define DIVISI_TEST_EMULATOR_GPU_H

#include "test/emulator/Clock.h"
#include "test/emulator/GridExecutor.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <string>

namespace divisi::emulator {

class Capture;

/// What a device holds beside memory that was asked for.
enum class Charge : uint8_t { Context, Modules, Nccl };

/// An event: how often it was recorded, and how far that has come.
struct Event {
  int device = -1; ///< Of the context that it was made in.
  uint64_t recorded = 0, reached = 0;
  Clock clock;          ///< Of the last recording that was reached.
  uint64_t capture = 0; ///< In which it was recorded last; 0: in none.
  /// Whose clock is kept when it is reached: a wait for it was left out.
  uint64_t watched = 0;
  Clock watchedClock;
};

/// Bytes that a piece of work touches.
struct Touched {
  std::vector<ByteRange> reads, writes;
};

/// What several streams do together: each begins its part, which keeps a part
/// of the device busy until it ends, when others have come.
class JointWork {
public:
  virtual ~JointWork() = default;
  /// Whether it may begin, if the device has room for it.
  virtual bool mayBegin() const = 0;
  /// Begins where a stream's clock says `clock`.
  virtual void begin(const Clock &clock) = 0;
  virtual bool isOver() const = 0;
  /// What it has touched; lets `learned` know what others had done before.
  virtual void end(Touched &touched, Clock &learned) = 0;
};

/// A stream: pieces of work, in order.
class Stream {
public:
  Stream(uint32_t agent, int device) : agent(agent), device(device) {}

  struct Work {
    std::string name;
    /// Does it; what it has touched, or what was wrong.
    std::function<std::optional<std::string>(Touched &)> run = {};
    std::shared_ptr<Event> waitsFor = {}; ///< With `number`.
    std::shared_ptr<Event> records = {};
    uint64_t number = 0;
    std::shared_ptr<JointWork> joint = {};
    /// Of what was recorded: makes that for a run of the graph; null where it
    /// cannot be.
    std::function<std::shared_ptr<JointWork>()> meets = {};
    bool hasBegun = false;  ///< Its part in that.
    bool isLeftOut = false; ///< It does not wait.
    Clock host = {};        ///< Of who put it here.
  };

  const uint32_t agent;
  const int device;
  std::deque<Work> works;
  Clock clock;
  Capture *capture = nullptr; ///< That it is in.
  bool isAbandoned = false;   ///< It goes once it has done what it has.
  /// Of the wait that was left out, until others imply it.
  std::shared_ptr<Event> leftOut = {};
};

/// All of a process. One thread at a time is in it.
class Gpus {
public:
  /// From the environment: DIVISI_EMULATOR_DEVICES (4), DIVISI_EMULATOR_SEED
  /// (1), DIVISI_EMULATOR_BYTES of each device (16 GiB),
  /// DIVISI_EMULATOR_CHARGES (1): whether a Charge is taken from these,
  /// DIVISI_EMULATOR_ORDERS (0): whether kernels are run once, and launches
  /// like an earlier one touch what that has touched. Then values are those of
  /// the first run, or anything, and races are found as before, in much less
  /// time. DIVISI_EMULATOR_JOINT (2): how many works with others each device
  /// has room for.
  Gpus();
  ~Gpus();

  std::mutex mutex;
  const int devices;
  /// What each has.
  uint64_t bytes() const { return mostBytes_; }
  /// Lets one GPU reach the memory of another; false if it did already.
  bool joinPeers(int device, int peer) {
    return peers_.insert({device, peer}).second;
  }

  /// Whether kernels of a device reach an address: in its own memory, or that
  /// of another one to which it was joined.
  bool reaches(int device, uint64_t address) const;
  /// Counts what is held for that, which may take away from what is left; false
  /// where there is too little.
  bool charge(int device, Charge what, int64_t bytes);

  /// To be told of each call that waits for all work of the device, as
  /// documented or through what it allocates: wrong while some of it waits for
  /// other ranks who do not come, as they would after the call alone. Called
  /// with the mutex, which is free in between.
  void synchronize(int device, const std::string &call);
  /// Waits for all work of the device, as synchronize() says.
  void drain(int device, std::unique_lock<std::mutex> &lock);

  /// Memory of a device: an address at which nothing can be read. 0 if the
  /// device has no more.
  uint64_t allocate(int device, uint64_t bytes);
  bool free(uint64_t address);
  /// Lets nobody free it before it is let go as often.
  void hold(uint64_t address) { held_.insert(address); }
  void letGo(uint64_t address) { held_.erase(held_.find(address)); }
  /// The allocation that has the address; an empty one if there is none.
  MemoryRange rangeOf(uint64_t address);
  /// Where the bytes at an address of a device are; null if it has none there.
  std::byte *find(uint64_t address, uint64_t bytes);
  bool isOfDevice(uint64_t address) const { return deviceOf(address) >= 0; }
  /// Whose memory has the address; -1: no device's.
  int deviceOf(uint64_t address) const;
  /// Pinned memory of the host.
  void pin(void *data, uint64_t bytes) { pinned_[uint64_t(data)] = bytes; }
  bool unpin(void *data) { return pinned_.erase(uint64_t(data)) != 0; }
  bool isPinned(uint64_t address, uint64_t bytes) const;

  Stream *makeStream(int device);
  /// Ends what is on the stream first.
  void destroy(Stream *stream);
  /// Gets nothing any more, and goes when what it has is done.
  static void abandon(Stream &stream) { stream.isAbandoned = true; }
  /// To be done, or to be captured.
  void put(Stream &stream, Stream::Work work);
  void record(Stream &stream, const std::shared_ptr<Event> &event);
  void wait(Stream &stream, const std::shared_ptr<Event> &event) {
    addWait(stream, event, event->recorded, /*isLeftOut=*/false);
  }
  /// The wait that dropsWait() told of.
  void leaveOut(Stream &stream, const std::shared_ptr<Event> &event) {
    addWait(stream, event, event->recorded, /*isLeftOut=*/true);
  }
  /// Lets some work be done; whether the event's last recording is reached.
  bool query(Event &event);
  /// Lets all work be done that the stream has, and that it waits for. What
  /// only others can do they do meanwhile, if `lock` is theirs, too.
  void finish(Stream &stream, std::unique_lock<std::mutex> *lock = nullptr);
  void finishAll();

  /// Of which device's launches, or copies, each counted from 1 on in the order
  /// in which they are asked for over all devices, one ends badly:
  /// DIVISI_EMULATOR_FAIL_LAUNCH touches what it must not, after which all that
  /// its device is asked for fails, DIVISI_EMULATOR_FAIL_COPY is refused,
  /// DIVISI_EMULATOR_LOSE is the last that its device is seen with, and
  /// DIVISI_EMULATOR_HANG never ends.
  enum class End : uint8_t { Well, Fails, IsLost, Hangs };
  End nextLaunch();
  bool failsNextCopy();
  /// Lets all that `device` is asked for from now on end with `error`, a
  /// CUresult.
  void breakDown(int device, int error) { broken_.emplace(device, error); }
  /// What that is; 0: it works.
  int errorOf(int device) const {
    auto found = broken_.find(device);
    return found == broken_.end() ? 0 : found->second;
  }
  /// Lets nothing that `stream` gets from now on ever begin.
  void block(Stream &stream) {
    addWait(stream, never_, 1, /*isLeftOut=*/false);
  }
  /// Bytes of a device: free ones, and all.
  std::pair<uint64_t, uint64_t> bytesOf(int device) const {
    return {mostBytes_ - heldBy(device), mostBytes_};
  }

  /// Whether the wait that a stream is about to be given is the one that
  /// DIVISI_EMULATOR_DROP counts, from 1 on: it is left out, and told, and so
  /// is whether others imply it.
  bool dropsWait();
  /// The first thing that was wrong; it stays so.
  const std::optional<std::string> &fault() const { return fault_; }
  void fail(const std::string &what);
  /// What an earlier launch like this has touched, if that is all that counts;
  /// else null.
  const Touched *knownOf(const std::vector<uint64_t> &launch) const {
    auto found = known_.find(launch);
    return found == known_.end() ? nullptr : &found->second;
  }
  void keep(std::vector<uint64_t> launch, const Touched &touched) {
    if (ordersAlone_) {
      known_.emplace(std::move(launch), touched);
    }
  }
  /// A number for a new interleaving within a kernel.
  uint64_t draw() { return random_(); }

private:
  struct Allocation {
    uint64_t bytes;
    int device;
    std::vector<std::byte> data;
  };

  void addWait(Stream &stream, const std::shared_ptr<Event> &event,
               uint64_t number, bool isLeftOut);
  bool canGoOn(const Stream &stream) const;
  void tellLeftOut(Stream &stream);
  void goOn(Stream &stream);
  void note(const Touched &touched, const Stream &stream,
            const std::string &name);
  bool step();
  uint64_t heldBy(int device) const;

  std::set<std::pair<int, int>> peers_;
  std::map<uint64_t, Allocation> allocations_;
  std::multiset<uint64_t> held_;
  std::map<uint64_t, uint64_t> pinned_;
  std::vector<uint64_t> used_; ///< Per device.
  std::vector<uint64_t> most_; ///< The same, at its peak.
  /// Per device and Charge, now and at its peak.
  std::map<std::pair<int, Charge>, std::pair<uint64_t, uint64_t>> charges_;
  uint64_t mostBytes_;
  bool isCharged_;
  std::vector<std::unique_ptr<Stream>> streams_;
  /// Of the host, whose threads tell each other what they know, in ways that
  /// are not seen here.
  static constexpr uint32_t hostAgent = 0;
  Clock host_;
  uint32_t nextAgent_ = hostAgent + 1;
  uint64_t waits_ = 0, dropped_;
  uint64_t launches_ = 0, copies_ = 0;
  uint64_t failingLaunch_, failingCopy_, losingLaunch_, hangingLaunch_;
  std::map<int, int> broken_;
  std::shared_ptr<Event> never_ = std::make_shared<Event>();
  std::vector<uint64_t> joint_; ///< Per device: those that have begun.
  uint64_t mostJoint_;
  bool ordersAlone_;
  std::map<std::vector<uint64_t>, Touched> known_;
  std::mt19937_64 random_;
  RaceDetector races_;
  std::optional<std::string> fault_;
};

/// Of this process.
Gpus &gpus();

/// What an environment variable says.
uint64_t fromEnvironment(const char *name, uint64_t otherwise);

/// Where a GPU is: `0000:10:00.0`.
std::string pciAddress(int device);

/// The device of the calling thread's context; -1: it has none.
int &currentDevice();

} // namespace divisi::emulator

#endif // DIVISI_TEST_EMULATOR_GPU_H
