//===- RegionCheck.cpp - Code of a region against the region --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/RegionCheck.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/RowCall.h"
#include "test/Codegen/RegionBounds.h"

#include <algorithm>
#include <limits>

using namespace divisi;
using namespace divisi::test;
using rt::DType;

RegionCheck::RegionCheck() = default;

/// Of each tensor of a call, and of its workspace.
GuardedMemory &RegionCheck::memory(size_t number) {
  constexpr int64_t capacity = int64_t(64) << 20;
  while (memories_.size() <= number) {
    memories_.push_back(std::make_unique<GuardedMemory>(capacity));
  }
  return *memories_[number];
}

RegionCheck::Code &RegionCheck::codeFor(const rt::CallSite &site) {
  Code &code = codes_[codeStructure(site)];
  if (!code.object) {
    auto made = generateCode(site, std::string(rt::hostLevel()));
    code.bytes = made ? std::move(*made) : std::string();
    auto loaded =
        rt::cpu::NativeObject::load(std::as_bytes(std::span(code.bytes)));
    code.object = loaded ? *loaded : nullptr;
  }
  return code;
}

/// Whether an operator takes operand `number` as the scale of codes.
static bool isScale(const RegionCall &call, int number) {
  return std::any_of(
      call.region.parts.begin(), call.region.parts.end(),
      [&](const rt::RegionPart &part) {
        bool adds = part.op == "nn.add_dequantized";
        return (adds || part.op == "nn.quantize" ||
                part.op == "nn.dequantize") &&
               part.operands[adds ? 2 : 1] == number;
      });
}

std::vector<std::byte> divisi::test::drawNumbers(const rt::TensorInfo &info,
                                                 Numbers numbers,
                                                 std::mt19937 &random) {
  static constexpr double inf = std::numeric_limits<double>::infinity();
  static constexpr double special[] = {
      inf, -inf, std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0, 1e-40};
  std::uniform_real_distribution<double> range(
      numbers == Numbers::Positive ? 0.1 : -3, 3);
  auto below = [&](unsigned end) { return random() % end; };
  std::vector<double> drawn(info.count());
  for (double &number : drawn) {
    bool isSpecial = numbers == Numbers::Special && below(40) == 0;
    number = info.type == DType::I8     ? double(below(256)) - 128
             : info.type == DType::U8   ? double(below(256))
             : info.type == DType::Bool ? double(below(2))
             : isSpecial                ? special[below(std::size(special))]
             : below(50) == 0           ? 0
                                         : range(random);
  }
  return storedFrom(info, drawn);
}

/// Those of the call's operand `number`. Scales are such that some codes
/// saturate, and most do not.
static std::vector<std::byte> drawOperand(const RegionCall &call, size_t number,
                                          Numbers numbers,
                                          std::mt19937 &random) {
  const rt::TensorInfo &info = call.operands[number];
  if (!isScale(call, static_cast<int>(number))) {
    return drawNumbers(info, numbers, random);
  }
  std::uniform_real_distribution<double> range(.003, .1);
  std::vector<double> scales(info.count());
  std::generate(scales.begin(), scales.end(), [&] { return range(random); });
  return storedFrom(info, scales);
}

/// The scratch memory that one thread may touch; what more there is of the
/// workspace is the interpreter's.
static int64_t workspaceBytes(const rt::CallSite &site,
                              const rt::KernelQuery &query) {
  rt::RowCall call = *rt::RowCall::of(site);
  return site.threads == 1 ? call.nest().scratchRows *
                                 call.nest().scratchColumns() *
                                 int64_t(sizeof(float))
                           : query.workspaceBytes;
}

std::string RegionCheck::run(const RegionCall &call, const Stored &inputs,
                             Way way, Stored &results) {
  rt::CallSite site = call.site(way.threads);
  std::string target = rt::nativeTarget(rt::hostLevel());
  rt::KernelCode code{target,
                      std::as_bytes(std::span(codeFor(site).bytes))};
  site.code = &code;
  const rt::Kernel *kernel = rt::cpuBackend().find(site);
  std::string error = "no kernel takes it";
  auto prepared = kernel ? kernel->prepare(site, error) : nullptr;
  if (!prepared) {
    return error;
  }
  rt::KernelQuery query = kernel->query(site);
  bool isOver = way.isOver && std::count(query.inPlace.begin(),
                                         query.inPlace.end(), std::pair(0, 0));
  std::vector<const void *> from;
  std::vector<void *> to;
  for (const std::vector<std::byte> &input : inputs) {
    GuardedMemory &room = memory(from.size());
    std::byte *data = room.place(static_cast<int64_t>(input.size()), way.side);
    std::copy(input.begin(), input.end(), data);
    from.push_back(data);
    if (!isOver || from.size() > 1) {
      room.freeze();
    } else {
      to.push_back(data);
    }
  }
  size_t number = from.size();
  while (to.size() < call.results.size()) {
    to.push_back(
        memory(number++).place(call.results[to.size()].bytes(), way.side));
  }
  void *workspace =
      memory(number++).place(workspaceBytes(site, query), way.side);
  rt::LaunchContext context{from, to, workspace, way.threads};
  if (!prepared->launch(context).isOk()) {
    return "the call fails";
  }
  ++calls;
  for (size_t m = isOver ? 0 : from.size(); m < number; ++m) {
    if (!memory(m).isIntact()) {
      return "written beside tensor " + std::to_string(m);
    }
  }
  results.clear();
  for (size_t r = 0; r < to.size(); ++r) {
    auto *data = static_cast<const std::byte *>(to[r]);
    results.emplace_back(data, data + call.results[r].bytes());
  }
  return {};
}

/// In all ways; the results of the first.
std::string RegionCheck::runAll(const RegionCall &call, const Stored &inputs,
                                Stored &results) {
  if (!codeFor(call.site()).object) {
    return "no code is made";
  }
  noteForFaults(call.describe());
  bool isFirst = true;
  for (Way way : {Way{1, Side::End, false}, Way{1, Side::Begin, true},
                  Way{2, Side::End, true}, Way{5, Side::Begin, false}}) {
    Stored others;
    std::string wrong = run(call, inputs, way, isFirst ? results : others);
    if (wrong.empty() && !isFirst && others != results) {
      wrong = "other bits by " + std::to_string(way.threads) +
              " threads, " + (way.isOver ? "over" : "beside") +
              " the operand, at the " +
              (way.side == Side::End ? "end" : "begin") + " of memory";
    }
    if (!wrong.empty()) {
      return wrong + "\n" + call.describe();
    }
    isFirst = false;
  }
  return {};
}

std::string divisi::test::compareWithBounds(
    const RegionCall &call, const std::vector<std::vector<double>> &operands,
    const std::vector<std::vector<std::byte>> &results, Compared &counts) {
  std::vector<Bounded> bounded = computeBounded(call, operands);
  for (size_t r = 0; r < results.size(); ++r) {
    const rt::TensorInfo &info = call.results[r];
    std::vector<double> got = numbersFrom(info, results[r].data());
    for (size_t i = 0; i < got.size(); ++i) {
      double value = bounded[r].values[i], error = bounded[r].errors[i];
      ++counts.elements;
      counts.undecided += !std::isfinite(error);
      if (!isWithin(got[i], value, error, info.type)) {
        char text[200];
        std::snprintf(text, sizeof(text),
                      "element %zu of result %zu: got %.9g, expected %.9g and "
                      "at most %.3g off\n",
                      i, r, got[i], value, error);
        return text + call.describe();
      }
    }
  }
  return {};
}

std::string RegionCheck::compareTeams(const RegionCall &call,
                                      std::mt19937 &random) {
  Stored inputs, results;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    inputs.push_back(drawOperand(call, o, Numbers::Mixed, random));
  }
  return runAll(call, inputs, results);
}

std::string RegionCheck::compare(const RegionCall &call, Numbers numbers,
                                 std::mt19937 &random) {
  Stored inputs, results;
  std::vector<std::vector<double>> exact;
  for (size_t o = 0; o < call.operands.size(); ++o) {
    inputs.push_back(drawOperand(call, o, numbers, random));
    exact.push_back(numbersFrom(call.operands[o], inputs.back().data()));
  }
  std::string wrong = runAll(call, inputs, results);
  if (!wrong.empty()) {
    return wrong;
  }
  return compareWithBounds(call, exact, results, counts);
}
