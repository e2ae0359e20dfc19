//===- DeviceProfile.cpp - How fast devices compute and copy --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Profile/MachineProfile.h"

#include "divisi/runtime/backends/cuda/CudaBackend.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace divisi;

static constexpr int64_t MiB = 1 << 20;

namespace {
/// A type whose products are measured, and where the rate is kept.
struct ProductType {
  StringLiteral name;
  rt::DType type;
  double PeakRates::*rate;
};
} // namespace

static constexpr ProductType kProductTypes[] = {
    {"f32", rt::DType::F32, &PeakRates::f32},
    {"f64", rt::DType::F64, &PeakRates::f64},
    {"f16", rt::DType::F16, &PeakRates::f16},
    {"bf16", rt::DType::BF16, &PeakRates::bf16},
    {"i8", rt::DType::I8, &PeakRates::i8},
};

std::vector<const rt::Backend *> MachineProfiler::backends(bool rounds) const {
  return {isOfGpus() ? &rt::cudaBackend(rounds) : &rt::cpuBackend()};
}

/// One number of each group of devices: `valueOf` its median time, which `give`
/// lets its kind have.
void MachineProfiler::keepOfGroups(
    const Measurement &like, const rt::RoundTimes &times,
    const std::function<double(double nanoseconds)> &valueOf,
    const std::function<void(DeviceKind &kind, double value)> &give) {
  size_t first = 0;
  for (DeviceGroup &group : cluster_.devices) {
    Measurement own = like;
    own.kind = group.kind.name;
    own.value = valueOf(times.median(first, size_t(group.count)));
    own.rounds = times.rounds.size();
    keep(std::move(own));
    give(group.kind, measurements_.back().value);
    first += size_t(group.count);
  }
}

/// All devices do their work at once. What is short is done several times for
/// one look at the clock.
divisi::Expected<rt::RoundTimes>
MachineProfiler::timeAll(Works &works, double nanosecondsOfOne) {
  constexpr double aLook = 1e6, most = 64;
  auto count =
      int64_t(std::clamp(aLook / std::max(nanosecondsOfOne, 1.0), 1.0, most));
  return rt::timeTogether(works.size(), secondsForEach(), [&](size_t device) {
    return clocks_[device]->time([&] { return works[device]->put(); }, count);
  });
}

divisi::Expected<MachineProfiler::Works>
MachineProfiler::makeProducts(rt::DType type, bool rounds, int64_t edge) {
  Works works;
  for (const auto &clock : clocks_) {
    auto work =
        rt::makeProduct(*clock, backends(rounds), type, edge, request_.threads);
    if (!work) {
      return work.status();
    }
    works.push_back(std::move(*work));
  }
  return works;
}

/// The rows of products that are long enough to be timed and take no more
/// than their share of memory and time; 0: there is no kernel for them.
divisi::Expected<int64_t> MachineProfiler::findEdge(rt::DType type,
                                                    bool rounds) {
  constexpr int64_t smallest = 16, largest = 8192;
  double enough = 1e9 * std::min(secondsForEach() / 20, 0.02);
  for (int64_t edge = smallest;; edge *= 2) {
    auto work = rt::makeProduct(*clocks_[0], backends(rounds), type, edge,
                                request_.threads);
    if (!work) {
      return work.status();
    }
    if (!*work) {
      return 0;
    }
    auto put = [&] { return (*work)->put(); };
    auto time = clocks_[0]->time(put, 1); // and what comes with the first
    time = time ? clocks_[0]->time(put, 1) : time;
    if (!time) {
      return time.status();
    }
    int64_t next = 3 * 4 * edge * edge * rt::byteWidth(type);
    if (*time >= enough || edge == largest || next > smallestMemory() / 8) {
      return edge;
    }
  }
}

Status MachineProfiler::measureProducts(StringRef name, rt::DType type,
                                        bool rounds, double PeakRates::*rate) {
  divisi::Expected<int64_t> edge = findEdge(type, rounds);
  if (!edge) {
    return edge.status();
  }
  if (*edge == 0) {
    if (rate == &PeakRates::f32) {
      return Status(ExitCode::Device,
                    "no kernel multiplies f32 here, and nothing can be planned "
                    "without its rate");
    }
    notes_.push_back((name + " is not measured: no kernel multiplies it; it is "
                             "taken to be as fast as f32")
                         .str());
    return {};
  }
  auto works = makeProducts(type, rounds, *edge);
  auto times = works ? timeAll(*works, 0) : works.status();
  if (!times) {
    return times.status();
  }
  double flops = 2.0 * double(*edge) * double(*edge) * double(*edge);
  keepOfGroups(
      {.what = (name + " products of " + Twine(*edge)).str(), .unit = "FLOP/s"},
      *times, [&](double time) { return 1e9 * flops / time; },
      [&](DeviceKind &kind, double value) {
        if (rate) {
          kind.peaks.*rate = value;
        }
      });
  return {};
}

/// The smallest product takes as long as anything that is started.
Status MachineProfiler::measureLaunch() {
  auto works = makeProducts(rt::DType::F32, false, 4);
  auto times = works ? timeAll(*works, 1) : works.status();
  if (!times) {
    return times.status();
  }
  keepOfGroups(
      {.what = "start of an operator", .unit = "ns"}, *times,
      [](double time) { return time; },
      [](DeviceKind &kind, double value) {
        kind.launchNanoseconds = int64_t(value);
      });
  return {};
}

/// What a product of `edge` rows takes by the rates and the start of an
/// operator.
static double modelledProduct(int64_t edge, const DeviceKind &kind) {
  double flops = 2.0 * double(edge * edge * edge);
  double bytes = 3.0 * 4 * double(edge * edge);
  return double(kind.launchNanoseconds) +
         1e9 * std::max(flops / kind.flopsPerSecond(Precision::F32),
                        bytes / kind.memoryBytesPerSecond);
}

/// Small products of many sizes, one after the other, of which each has code
/// and weights of its own, as in a model: what each takes more than is known.
/// GPUs have their operands in memory in any case.
Status MachineProfiler::measureProductLaunch() {
  constexpr int64_t least = 24, most = 88, kinds = most - least + 1;
  Works works;
  for (const auto &clock : clocks_) {
    Works products;
    for (int64_t i = 0; i != 4 * kinds; ++i) { // 8 MiB
      auto work = rt::makeProduct(*clock, backends(false), rt::DType::F32,
                                  least + i % kinds, request_.threads);
      if (!work) {
        return work.status();
      }
      products.push_back(std::move(*work));
    }
    works.push_back(rt::takeTurns(std::move(products)));
  }
  auto times = timeAll(works, 1e3);
  if (!times) {
    return times.status();
  }
  size_t group = 0;
  keepOfGroups(
      {.what = "start of a product, more", .unit = "ns"}, *times,
      [&](double time) {
        const DeviceKind &kind = cluster_.devices[group++].kind;
        double modelled = 0;
        for (int64_t edge = least; edge <= most; ++edge) {
          modelled += modelledProduct(edge, kind) / double(kinds);
        }
        return std::max(0.0, time - modelled);
      },
      [](DeviceKind &kind, double value) {
        kind.productLaunchNanoseconds = int64_t(value);
      });
  return {};
}

/// The softmax of an attention's weights, of which each has 14 operations
/// (Arithmetic.h), in the second cache, as within one.
Status MachineProfiler::measureVectors() {
  constexpr int64_t rows = 512, columns = 128, functions = 14;
  Works works;
  for (const auto &clock : clocks_) {
    auto work = rt::makeSoftmax(*clock, backends(false), rows, columns,
                                request_.threads);
    if (!work) {
      return work.status();
    }
    if (!*work) {
      notes_.push_back("arithmetic outside of products is not measured: no "
                       "kernel computes a softmax; it is taken to be as fast "
                       "as products");
      return {};
    }
    works.push_back(std::move(*work));
  }
  auto times = timeAll(works, 1e5);
  if (!times) {
    return times.status();
  }
  keepOfGroups(
      {.what = "outside of products", .unit = "FLOP/s"}, *times,
      [&](double time) {
        return 1e9 * double(rows * columns * functions) / time;
      },
      [](DeviceKind &kind, double value) {
        kind.vectorFlopsPerSecond = value;
      });
  return {};
}

/// Copies within a device, which read and write each byte.
Status MachineProfiler::measureMemory() {
  int64_t bytes =
      std::min((isOfGpus() ? 256 : 64) * MiB, smallestMemory() / 16);
  Works works;
  for (const auto &clock : clocks_) {
    auto source = clock->allocate(bytes), result = clock->allocate(bytes);
    if (!source || !result) {
      return source ? result.status() : source.status();
    }
    auto work = rt::makeCopy(*clock, *source, *result, bytes);
    works.push_back(std::move(*work));
  }
  auto times = timeAll(works, 1e6);
  if (!times) {
    return times.status();
  }
  keepOfGroups(
      {.what = "memory, read and written", .unit = "B/s", .bytes = bytes},
      *times, [&](double time) { return 2e9 * double(bytes) / time; },
      [](DeviceKind &kind, double value) {
        kind.memoryBytesPerSecond = value;
      });
  return {};
}

/// Between pinned memory of the host and the first GPU. A cluster says the
/// slower way.
Status MachineProfiler::measureHostCopies() {
  int64_t bytes = std::min(64 * MiB, smallestMemory() / 16);
  const rt::DeviceClock &clock = *clocks_[0];
  auto own = clock.allocate(bytes), host = clock.allocateHost(bytes);
  if (!own || !host) {
    return own ? host.status() : own.status();
  }
  for (bool isToDevice : {true, false}) {
    Works works;
    works.push_back(std::move(*rt::makeCopy(clock, isToDevice ? *host : *own,
                                            isToDevice ? *own : *host, bytes)));
    auto times = timeAll(works, 1e6);
    if (!times) {
      return times.status();
    }
    double rate = 1e9 * double(bytes) / times->median();
    keep({isToDevice ? "copies from the host" : "copies to the host",
          cluster_.devices.front().kind.name, "B/s", rate, bytes,
          times->rounds.size()});
    for (DeviceGroup &group : cluster_.devices) {
      double &least = group.kind.hostBytesPerSecond;
      least = isToDevice ? rate : std::min(least, rate);
    }
  }
  return {};
}

Status MachineProfiler::measureDevices() {
  for (const ProductType &type : kProductTypes) {
    bool rounds = request_.tf32 && type.type == rt::DType::F32;
    if (Status status = measureProducts(rounds ? "tf32" : type.name, type.type,
                                        rounds, type.rate);
        !status.isOk()) {
      return status;
    }
  }
  if (isOfGpus() && !request_.tf32) { // to know what --tf32 would bring
    if (Status status = measureProducts("tf32", rt::DType::F32, true, nullptr);
        !status.isOk()) {
      return status;
    }
  }
  using Measure = Status (MachineProfiler::*)();
  std::vector<Measure> rest = {&MachineProfiler::measureLaunch,
                               &MachineProfiler::measureMemory};
  if (isOfGpus()) {
    rest.push_back(&MachineProfiler::measureHostCopies);
  } else { // The start of a product is what the rates leave open.
    rest.insert(rest.end(), {&MachineProfiler::measureProductLaunch,
                             &MachineProfiler::measureVectors});
  }
  for (Measure measure : rest) {
    if (Status status = (this->*measure)(); !status.isOk()) {
      return status;
    }
  }
  return {};
}
