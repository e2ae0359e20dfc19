//===- RegionWork.h - Regions to be measured --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_BENCH_CODEGEN_REGIONWORK_H
#define DIVISI_BENCH_CODEGEN_REGIONWORK_H

#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/kernels/Region.h"

#include <functional>

namespace divisi::bench {

/// A region on rows, and its memory.
struct Work {
  const char *name;
  rt::Region region;
  std::vector<rt::TensorInfo> operands, results;
  std::vector<rt::AlignedBytes> buffers;
  std::vector<const void *> from;
  std::vector<void *> to;
  rt::Attributes none;

  /// Another operand, by its number.
  int add(rt::Dims dims, rt::DType type = rt::DType::F32);
  /// Another part, with a result like the region's but for its type; the
  /// number of that.
  int part(std::string op, std::vector<int> values, rt::Attributes with = {},
           rt::DType type = rt::DType::F32);
  rt::CallSite site(int threads) const;
  void allocate();
};

/// `parts` adds operands and parts; the result is [rows, columns], f32.
Work makeWork(const char *name, int64_t rows, int64_t columns,
              const std::function<void(Work &)> &parts);

/// What launches the CPU's kernel for a call, with `code` unless that is null:
/// both as long as `work` and `code` are there.
std::function<void()> runner(Work &work, int threads,
                             const rt::KernelCode *code);

/// The code of `work` for a processor of `level`; ends the program where there
/// is none.
std::string codeOf(const Work &work, const std::string &level);

/// Of `kinds`, which run in turns, so many `rounds`, the time in microseconds
/// that `share` of the rounds do not reach: 0.5 for medians.
std::vector<double> timesOf(const std::vector<std::function<void()>> &kinds,
                            int rounds, double share = 0.5);

} // namespace divisi::bench

#endif // DIVISI_BENCH_CODEGEN_REGIONWORK_H
