//===- Gpu.cpp - GPUs that are not there ----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/Graphs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/mman.h>

using namespace divisi::emulator;

uint64_t divisi::emulator::fromEnvironment(const char *name,
                                           uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Gpus::Gpus()
    : devices(int(fromEnvironment("DIVISI_EMULATOR_DEVICES", 4))),
      used_(size_t(devices)), most_(size_t(devices)),
      mostBytes_(fromEnvironment("DIVISI_EMULATOR_BYTES", uint64_t(1) << 34)),
      isCharged_(fromEnvironment("DIVISI_EMULATOR_CHARGES", 1) != 0),
      dropped_(fromEnvironment("DIVISI_EMULATOR_DROP", 0)),
      failingLaunch_(fromEnvironment("DIVISI_EMULATOR_FAIL_LAUNCH", 0)),
      failingCopy_(fromEnvironment("DIVISI_EMULATOR_FAIL_COPY", 0)),
      losingLaunch_(fromEnvironment("DIVISI_EMULATOR_LOSE", 0)),
      hangingLaunch_(fromEnvironment("DIVISI_EMULATOR_HANG", 0)),
      joint_(size_t(devices)),
      mostJoint_(fromEnvironment("DIVISI_EMULATOR_JOINT", 2)),
      ordersAlone_(fromEnvironment("DIVISI_EMULATOR_ORDERS", 0) != 0),
      random_(fromEnvironment("DIVISI_EMULATOR_SEED", 1)) {}

/// DIVISI_EMULATOR_HELD names a file for the most bytes that each device held,
/// a line each: what was asked for, contexts, modules and NCCL's.
/// DIVISI_EMULATOR_WAITS names one for how many waits streams were given.
Gpus::~Gpus() {
  if (const char *path = std::getenv("DIVISI_EMULATOR_WAITS")) {
    std::ofstream(path) << waits_ << "\n";
  }
  if (const char *path = std::getenv("DIVISI_EMULATOR_HELD")) {
    std::ofstream file(path);
    for (int device = 0; device < devices; ++device) {
      file << most_[size_t(device)];
      for (Charge what : {Charge::Context, Charge::Modules, Charge::Nccl}) {
        file << " " << charges_[{device, what}].second;
      }
      file << "\n";
    }
  }
}

Gpus &divisi::emulator::gpus() {
  static Gpus all;
  return all;
}

std::string divisi::emulator::pciAddress(int device) {
  char text[32];
  std::snprintf(text, sizeof(text), "0000:%02x:00.0", 16 + device);
  return text;
}

int &divisi::emulator::currentDevice() {
  thread_local int own = -1;
  return own;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

uint64_t Gpus::heldBy(int device) const {
  uint64_t held = used_[size_t(device)];
  for (const auto &[of, bytes] : charges_) {
    held += isCharged_ && of.first == device ? bytes.first : 0;
  }
  return std::min(held, mostBytes_);
}

bool Gpus::charge(int device, Charge what, int64_t bytes) {
  if (isCharged_ && bytes > 0 &&
      heldBy(device) + uint64_t(bytes) > mostBytes_) {
    return false;
  }
  auto &[now, most] = charges_[{device, what}];
  now += uint64_t(bytes);
  most = std::max(most, now);
  return true;
}

uint64_t Gpus::allocate(int device, uint64_t bytes) {
  if (heldBy(device) + bytes > mostBytes_) {
    return 0;
  }
  void *data = mmap(nullptr, bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return 0;
  }
  used_[size_t(device)] += bytes;
  most_[size_t(device)] =
      std::max(most_[size_t(device)], used_[size_t(device)]);
  auto address = reinterpret_cast<uint64_t>(data);
  // NaN: what is read before it is written shows.
  allocations_[address] = {bytes, device,
                           std::vector<std::byte>(bytes, std::byte(0xff))};
  return address;
}

bool Gpus::free(uint64_t address) {
  auto found = allocations_.find(address);
  if (found == allocations_.end()) {
    return false;
  }
  if (held_.contains(address)) {
    fail("memory is freed that is registered with a communicator");
  }
  // As cudaFree: it waits for all that may still use it.
  finishAll();
  uint64_t bytes = found->second.bytes;
  used_[size_t(found->second.device)] -= bytes;
  races_.forget({address, address + bytes});
  munmap(reinterpret_cast<void *>(address), bytes);
  allocations_.erase(found);
  return true;
}

MemoryRange Gpus::rangeOf(uint64_t address) {
  auto next = allocations_.upper_bound(address);
  if (next == allocations_.begin()) {
    return {};
  }
  auto &[begin, allocation] = *std::prev(next);
  return {begin, begin + allocation.bytes, allocation.data.data()};
}

std::byte *Gpus::find(uint64_t address, uint64_t bytes) {
  MemoryRange range = rangeOf(address);
  return address >= range.begin && address + bytes <= range.end
             ? range.data + (address - range.begin)
             : nullptr;
}

int Gpus::deviceOf(uint64_t address) const {
  auto next = allocations_.upper_bound(address);
  bool has = next != allocations_.begin() &&
             address < std::prev(next)->first + std::prev(next)->second.bytes;
  return has ? std::prev(next)->second.device : -1;
}

bool Gpus::reaches(int device, uint64_t address) const {
  int owner = deviceOf(address);
  return owner < 0 || owner == device || peers_.contains({device, owner});
}

bool Gpus::isPinned(uint64_t address, uint64_t bytes) const {
  auto next = pinned_.upper_bound(address);
  return next != pinned_.begin() &&
         address + bytes <= std::prev(next)->first + std::prev(next)->second;
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Stream *Gpus::makeStream(int device) {
  std::erase_if(streams_, [](const auto &known) {
    return known->isAbandoned && known->works.empty();
  });
  return streams_.emplace_back(std::make_unique<Stream>(nextAgent_++, device))
      .get();
}

void Gpus::destroy(Stream *stream) {
  finish(*stream);
  for (const Stream::Work &work : stream->works) {
    joint_[size_t(stream->device)] -= work.hasBegun;
  }
  std::erase_if(streams_,
                [&](const auto &known) { return known.get() == stream; });
}

void Gpus::put(Stream &stream, Stream::Work work) {
  if (stream.capture) {
    return stream.capture->put(stream, std::move(work));
  }
  host_.advance(hostAgent);
  work.host = host_;
  stream.works.push_back(std::move(work));
}

void Gpus::record(Stream &stream, const std::shared_ptr<Event> &event) {
  event->capture = 0;
  if (stream.capture) {
    return stream.capture->record(stream, *event);
  }
  Stream::Work work{"an event"};
  work.records = event;
  work.number = ++event->recorded;
  put(stream, std::move(work));
}

void Gpus::addWait(Stream &stream, const std::shared_ptr<Event> &event,
                   uint64_t number, bool isLeftOut) {
  Stream::Work work{"a wait"};
  work.waitsFor = event;
  work.number = number;
  work.isLeftOut = isLeftOut;
  if (isLeftOut) {
    event->watched = number;
    event->watchedClock = event->clock; // if it is reached already
  }
  put(stream, std::move(work));
}

Gpus::End Gpus::nextLaunch() {
  ++launches_;
  return launches_ == failingLaunch_   ? End::Fails
         : launches_ == losingLaunch_  ? End::IsLost
         : launches_ == hangingLaunch_ ? End::Hangs
                                       : End::Well;
}

bool Gpus::failsNextCopy() { return ++copies_ == failingCopy_; }

bool Gpus::dropsWait() {
  bool drops = ++waits_ == dropped_;
  if (drops) {
    std::fprintf(stderr, "emulator: left out a wait\n");
  }
  return drops;
}

void Gpus::fail(const std::string &what) {
  if (!fault_) {
    fault_ = what;
    std::fprintf(stderr, "emulator: %s\n", what.c_str());
  }
}

bool Gpus::canGoOn(const Stream &stream) const {
  if (stream.works.empty()) {
    return false;
  }
  const Stream::Work &next = stream.works.front();
  if (next.joint && !fault_) {
    return next.hasBegun ? next.joint->isOver()
                         : joint_[size_t(stream.device)] < mostJoint_ &&
                               next.joint->mayBegin();
  }
  return !next.waitsFor || next.isLeftOut ||
         next.waitsFor->reached >= next.number;
}

/// Tells it once the stream's present work comes after what the wait was for
/// that was left out. If one before touches the same bytes, that is a race.
void Gpus::tellLeftOut(Stream &stream) {
  const Event *event = stream.leftOut.get();
  if (event && event->reached >= event->watched &&
      stream.clock.covers(event->watchedClock)) {
    std::fprintf(stderr, "emulator: others imply the wait\n");
    stream.leftOut.reset();
  }
}

/// Does the next work of the stream.
void Gpus::goOn(Stream &stream) {
  if (Stream::Work &next = stream.works.front();
      next.joint && !next.hasBegun && !fault_) {
    stream.clock.join(next.host);
    next.hasBegun = true;
    ++joint_[size_t(stream.device)];
    return next.joint->begin(stream.clock);
  }
  Stream::Work work = std::move(stream.works.front());
  stream.works.pop_front();
  joint_[size_t(stream.device)] -= work.hasBegun;
  stream.clock.join(work.host);
  if (work.run || work.joint) { // else nobody has to come after it
    stream.clock.advance(stream.agent);
    tellLeftOut(stream);
  }
  if (work.isLeftOut) {
    stream.leftOut = work.waitsFor;
  } else if (work.waitsFor) {
    stream.clock.join(work.waitsFor->clock);
  }
  if (work.records) {
    work.records->reached = work.number;
    work.records->clock = stream.clock;
    if (work.number == work.records->watched) {
      work.records->watchedClock = stream.clock;
    }
  }
  Touched touched;
  if (work.joint && !fault_) {
    Clock learned;
    work.joint->end(touched, learned);
    note(touched, stream, work.name);
    stream.clock.join(learned); // what orders it is its own program's
  }
  if (!work.run || fault_ || errorOf(stream.device) != 0) {
    return;
  }
  if (auto wrong = work.run(touched)) {
    return fail(work.name + ": " + *wrong);
  }
  note(touched, stream, work.name);
}

void Gpus::note(const Touched &touched, const Stream &stream,
                const std::string &name) {
  for (bool writes : {false, true}) {
    auto race = races_.note(writes ? touched.writes : touched.reads, writes,
                            stream.agent, stream.clock, name);
    if (race) {
      fail("race: " + *race);
    }
  }
}

/// Does one work, of any stream; false if none can go on.
bool Gpus::step() {
  std::vector<Stream *> ready;
  for (const auto &stream : streams_) {
    if (canGoOn(*stream)) {
      ready.push_back(stream.get());
    }
  }
  if (!ready.empty()) {
    goOn(*ready[random_() % ready.size()]);
  }
  return !ready.empty();
}

bool Gpus::query(Event &event) {
  for (uint64_t steps = random_() % 4; steps > 0 && step(); --steps) {
  }
  bool isReached = event.reached >= event.recorded;
  if (isReached) {
    host_.join(event.clock);
  }
  return isReached;
}

void Gpus::finish(Stream &stream, std::unique_lock<std::mutex> *lock) {
  while (!stream.works.empty()) {
    if (step()) {
      continue;
    }
    if (!lock) {
      break;
    }
    lock->unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    lock->lock();
  }
  host_.join(stream.clock);
}

void Gpus::synchronize(int device, const std::string &call) {
  auto waits = [&](const auto &stream) {
    return stream->device == device &&
           std::ranges::any_of(stream->works, [](const auto &work) {
             return work.joint && !work.joint->isOver();
           });
  };
  // Ranks of another session may still come; who waits for this call does not.
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (std::ranges::any_of(streams_, waits)) {
    if (std::chrono::steady_clock::now() > end) {
      fail(call + " waits for all work of device " + std::to_string(device) +
           ", of which a collective waits for other ranks");
      return;
    }
    if (!step()) {
      mutex.unlock(); // the caller holds it
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      mutex.lock();
    }
  }
}

void Gpus::drain(int device, std::unique_lock<std::mutex> &lock) {
  auto isBusy = [&](const auto &stream) {
    return stream->device == device && !stream->works.empty();
  };
  while (std::ranges::any_of(streams_, isBusy)) {
    if (!step()) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      lock.lock();
    }
  }
}

void Gpus::finishAll() {
  for (const auto &stream : streams_) {
    finish(*stream);
  }
}
