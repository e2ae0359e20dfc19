//===- TimesBench.cpp - What parts of regions cost ------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints lib/Profile/PartTimes.inc: for each operator that code is generated
// of, and rows of so many columns, picoseconds per element in a region with
// code and in one that runs part by part. A time is the difference between a
// region with the operator and one without, on one thread, of what lies in the
// cache, of the turns that nothing disturbed. Code is for the processor that
// runs this, as the kernels of parts are.
//
//===----------------------------------------------------------------------===//

#include "bench/codegen/RegionWork.h"
#include "divisi/runtime/code/RowCode.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::bench;

namespace {

/// What an operator reads and gives.
enum class Kind : uint8_t { Floats, Test, Logical, Select };

struct Measured {
  const char *op;
  int numOperands;
  Kind kind = Kind::Floats;
  Attributes attributes = {};
};

/// Nanoseconds per element.
struct Times {
  double code, parts;
};

} // namespace

static std::vector<Measured> operators() {
  using enum Kind;
  using S = std::string;
  Attributes softmax{{"axis", int64_t(1)}, {"log", int64_t(0)}};
  Attributes norm{{"axes", Dims{1}}, {"center", int64_t(1)}, {"epsilon", 1e-5}};
  return {{"nn.abs", 1},
          {"nn.add", 2},
          {"nn.and", 2, Logical},
          {"nn.ceil", 1},
          {"nn.compare", 2, Test, {{"predicate", S("lt")}}},
          {"nn.div", 2},
          {"nn.erf", 1},
          {"nn.exp", 1},
          {"nn.floor", 1},
          {"nn.gelu", 1, Floats, {{"approximate", S("tanh")}}},
          {"nn.hard_swish", 1},
          {"nn.is_inf", 1, Test},
          {"nn.is_nan", 1, Test},
          {"nn.log", 1},
          {"nn.max", 2},
          {"nn.min", 2},
          {"nn.mul", 2},
          {"nn.neg", 1},
          {"nn.normalize", 1, Floats, norm},
          {"nn.not", 1, Logical},
          {"nn.or", 2, Logical},
          {"nn.relu", 1},
          {"nn.round", 1},
          {"nn.rsqrt", 1},
          {"nn.select", 3, Select},
          {"nn.sigmoid", 1},
          {"nn.sign", 1},
          {"nn.silu", 1},
          {"nn.softmax", 1, Floats, softmax},
          {"nn.sqrt", 1},
          {"nn.sub", 2},
          {"nn.tanh", 1},
          {"nn.xor", 2, Logical}};
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// A region that would be without the operator, or null for none: ends in a
/// sum or a choice with one value a row, so that rows stay apart.
static Work makeRegion(int64_t rows, int64_t columns, Kind kind,
                       const Measured *measured) {
  return makeWork("", rows, columns, [&](Work &work) {
    bool isOfBools = kind == Kind::Test || kind == Kind::Logical;
    int x = work.add({rows, columns}), still = work.add({rows, 1});
    auto other = [&] { return work.add({rows, columns}); };
    auto mask = [&] { return work.add({rows, columns}, DType::Bool); };
    int made = isOfBools && !measured ? mask() : x;
    if (measured) {
      std::vector<int> reads;
      switch (kind) {
      case Kind::Select:
        reads = {mask(), x, other()};
        break;
      case Kind::Logical:
        reads = {mask()};
        break;
      case Kind::Floats:
      case Kind::Test:
        reads = {x};
      }
      if (int(reads.size()) < measured->numOperands) {
        reads.push_back(kind == Kind::Logical ? mask() : other());
      }
      made = work.part(measured->op, reads, measured->attributes,
                       isOfBools ? DType::Bool : DType::F32);
    }
    if (isOfBools) {
      work.part("nn.select", {made, x, still});
    } else {
      work.part("nn.add", {made, still});
    }
  });
}

/// Of a region, whose values are positive: the functions are of those.
static Times timesOfRegion(int64_t rows, int64_t columns, Kind kind,
                           const Measured *measured) {
  Work work = makeRegion(rows, columns, kind, measured);
  for (size_t i = 0; i < work.operands.size(); ++i) {
    auto *values = reinterpret_cast<float *>(work.buffers[i].data());
    bool isFloat = work.operands[i].type == DType::F32;
    for (int64_t j = 0; isFloat && j < work.operands[i].count(); ++j) {
      values[j] = std::abs(values[j]) + 0.01f;
    }
  }
  std::string level(hostLevel());
  std::string code = codeOf(work, level), target = nativeTarget(level);
  KernelCode native{target, std::as_bytes(std::span(code))};
  std::vector<double> times =
      timesOf({runner(work, /*threads=*/1, &native), runner(work, 1, nullptr)},
              /*rounds=*/101, /*share=*/0.1);
  double elements = double(rows) * double(columns);
  return {1000 * times[0] / elements, 1000 * times[1] / elements};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static void printRow(const char *op, const std::vector<Times> &row) {
  std::printf("{\"%s\",\n {", op);
  for (size_t i = 0; i < row.size(); ++i) {
    auto picoseconds = [](double time) {
      return std::max(1L, std::lround(1000 * time));
    };
    const char *separator = i == 0 ? "" : i % 5 == 0 ? ",\n  " : ", ";
    std::printf("%s{%ld, %ld}", separator, picoseconds(row[i].code),
                picoseconds(row[i].parts));
  }
  std::printf("}},\n");
  std::fflush(stdout);
}

static Times difference(const Times &with, const Times &without) {
  return {with.code - without.code, with.parts - without.parts};
}

int main() {
  if (hostLevel().empty()) {
    std::fprintf(stderr, "no code is made for this processor\n");
    return 1;
  }
  constexpr int64_t elements = 16384;
  constexpr int64_t columns[] = {8, 16, 24, 32, 48, 64, 96, 128, 256, 768};
  auto rowOf = [&](const Measured &measured) {
    std::vector<Times> row;
    for (int64_t n : columns) {
      auto timesWith = [&](const Measured *with) {
        return timesOfRegion(elements / n, n, measured.kind, with);
      };
      row.push_back(difference(timesWith(&measured), timesWith(nullptr)));
    }
    return row;
  };
  std::vector<Times> region;
  std::vector<Times> sum = rowOf({"nn.add", 2});
  for (size_t i = 0; i < sum.size(); ++i) {
    Times whole =
        timesOfRegion(elements / columns[i], columns[i], Kind::Floats, nullptr);
    region.push_back(difference(whole, sum[i]));
  }
  printRow("", region);
  for (const Measured &measured : operators()) {
    printRow(measured.op, rowOf(measured));
  }
  return 0;
}
