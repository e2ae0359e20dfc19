//===- TestBackend.h - Tiny kernels for tests of the runtime ----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend with a handful of f32 operators, so that the runtime is tested
// without the real kernels:
//
//   test.matmul   [m, k] x [k, n]      test.add      elementwise
//   test.relu     may be in place      test.reshape  a view
//   test.scale    x * the first element of a second operand
//   test.sum      of all elements; of none: 0
//   test.slow     copies, once TestBackend::gate is open
//   test.open     copies, and opens the gate
//   test.scratch  copies through its workspace of 256 bytes
//   test.refused  never can be prepared
//   test.code     adds the float that its code for "test-machine" is
//   test.reverse  copies to or from the format "reversed", which has one
//                 element more, in front
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_RUNTIME_CORE_TESTBACKEND_H
#define DIVISI_TEST_RUNTIME_CORE_TESTBACKEND_H

#include "divisi/runtime/kernels/Kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

namespace divisi::rt {

/// Lets threads through while it is open.
class Gate {
public:
  void close() { isOpen_ = false; }
  void open() {
    isOpen_ = true;
    isOpen_.notify_all();
  }
  void pass() const { isOpen_.wait(false); }

private:
  std::atomic<bool> isOpen_ = true;
};

class TestBackend : public Backend {
public:
  /// Holds up test.slow on the rank whose box begins at 0.
  inline static Gate gate;
  /// Whether kernels fail on the rank whose result begins at 0.
  inline static std::atomic<bool> fails = false;
  /// Who has launched a kernel last.
  inline static std::atomic<std::thread::id> lastThread;
  /// Told of each launch, by the thread that does it; not changed in a run.
  inline static std::function<void()> launched;
  /// Elements of first operands from here on are bad indices.
  inline static std::atomic<float> extent = 1e30f;

  std::string_view name() const override { return "test"; }
  std::span<const Kernel> kernels() const override {
    static const std::vector<Kernel> table = makeTable();
    return table;
  }

private:
  using Body = std::function<void(
      const std::vector<TensorInfo> &operands, const TensorInfo &result,
      std::span<const float *const> in, float *out, void *workspace)>;

  class Prepared : public PreparedKernel {
  public:
    Prepared(const CallSite &site, Body body)
        : operands_(site.operands.begin(), site.operands.end()),
          result_(site.results[0]), body_(std::move(body)),
          in_(operands_.size()) {}
    Status launch(LaunchContext &context) override {
      lastThread = std::this_thread::get_id();
      if (launched) {
        launched();
      }
      for (size_t i = 0; i < in_.size(); ++i) {
        in_[i] = static_cast<const float *>(context.operands[i]);
      }
      body_(operands_, result_, in_, static_cast<float *>(context.results[0]),
            context.workspace);
      for (int64_t i = 0; i < operands_[0].count(); ++i) {
        if (in_[0][i] >= extent) {
          context.note({int64_t(in_[0][i]), int64_t(float(extent)),
                        Dims{operands_[0].offset[0] + i}});
        }
      }
      bool isFirst = std::all_of(result_.offset.begin(), result_.offset.end(),
                                 [](int64_t offset) { return offset == 0; });
      return fails && isFirst ? kernelFailure() : Status();
    }

  private:
    std::vector<TensorInfo> operands_;
    TensorInfo result_;
    Body body_;
    std::vector<const float *> in_;
  };

  static KernelQuery nothingSpecial(const CallSite &) { return {}; }
  static KernelQuery inPlace(const CallSite &) { return {.inPlace = {{0, 0}}}; }
  static KernelQuery view(const CallSite &) { return {.views = {{0, 0}}}; }
  static KernelQuery scratch(const CallSite &) {
    return {.workspaceBytes = 256};
  }

  static void copy(const TensorInfo &result, const float *in, float *out) {
    if (in != out) {
      std::copy_n(in, result.count(), out);
    }
  }

  template <auto body>
  static std::unique_ptr<PreparedKernel> prepare(const CallSite &site,
                                                 std::string &) {
    return std::make_unique<Prepared>(site, body);
  }
  static std::unique_ptr<PreparedKernel> refuse(const CallSite &,
                                                std::string &error) {
    error = "it never can";
    return nullptr;
  }

  static bool isForMachine(const CallSite &site) {
    return site.code->target == "test-machine";
  }
  static std::unique_ptr<PreparedKernel> prepareCode(const CallSite &site,
                                                     std::string &error) {
    float number = 0;
    if (site.code->bytes.size() != sizeof(number)) {
      error = "the code is no float";
      return nullptr;
    }
    std::memcpy(&number, site.code->bytes.data(), sizeof(number));
    return std::make_unique<Prepared>(
        site, [number](const auto &, const TensorInfo &result, auto in,
                       float *out, void *) {
          for (int64_t i = 0; i < result.count(); ++i) {
            out[i] = in[0][i] + number;
          }
        });
  }

  static KernelQuery queryReverse(const CallSite &site) {
    KernelQuery query;
    const TensorInfo &result = site.results[0];
    query.resultBytes = {result.bytes() + (result.format.empty() ? 0 : 4)};
    return query;
  }
  static void reverse(const std::vector<TensorInfo> &operands,
                      const TensorInfo &result,
                      std::span<const float *const> in, float *out, void *) {
    const float *from = in[0] + (operands[0].format.empty() ? 0 : 1);
    float *to = out + (result.format.empty() ? 0 : 1);
    std::reverse_copy(from, from + result.count(), to);
  }

  static std::vector<Kernel> makeTable() {
    constexpr auto add = [](const auto &, const TensorInfo &result, auto in,
                            float *out, void *) {
      for (int64_t i = 0; i < result.count(); ++i) {
        out[i] = in[0][i] + in[1][i];
      }
    };
    constexpr auto matmul = [](const auto &infos, const TensorInfo &result,
                               auto in, float *out, void *) {
      int64_t rows = result.extents[0], columns = result.extents[1];
      int64_t depth = infos[0].extents[1];
      for (int64_t m = 0; m < rows; ++m) {
        for (int64_t n = 0; n < columns; ++n) {
          float sum = 0;
          for (int64_t k = 0; k < depth; ++k) {
            sum += in[0][m * depth + k] * in[1][k * columns + n];
          }
          out[m * columns + n] = sum;
        }
      }
    };
    constexpr auto relu = [](const auto &, const TensorInfo &result, auto in,
                             float *out, void *) {
      for (int64_t i = 0; i < result.count(); ++i) {
        out[i] = std::max(in[0][i], 0.f);
      }
    };
    constexpr auto reshape = [](const auto &, const TensorInfo &result, auto in,
                                float *out,
                                void *) { copy(result, in[0], out); };
    constexpr auto scale = [](const auto &, const TensorInfo &result, auto in,
                              float *out, void *) {
      for (int64_t i = 0; i < result.count(); ++i) {
        out[i] = in[0][i] * in[1][0];
      }
    };
    constexpr auto scratchBody = [](const auto &, const TensorInfo &result,
                                    auto in, float *out, void *workspace) {
      std::memset(workspace, 0xab, 256);
      for (int64_t i = 0; i < result.count(); ++i) {
        std::memcpy(workspace, in[0] + i, sizeof(float));
        std::memcpy(out + i, workspace, sizeof(float));
      }
    };
    constexpr auto slow = [](const auto &, const TensorInfo &result, auto in,
                             float *out, void *) {
      if (std::all_of(result.offset.begin(), result.offset.end(),
                      [](int64_t offset) { return offset == 0; })) {
        gate.pass();
      }
      copy(result, in[0], out);
    };
    constexpr auto open = [](const auto &, const TensorInfo &result, auto in,
                             float *out, void *) {
      copy(result, in[0], out);
      gate.open();
    };
    constexpr auto sum = [](const auto &infos, const TensorInfo &, auto in,
                            float *out, void *) {
      out[0] = 0;
      for (int64_t i = 0; i < infos[0].count(); ++i) {
        out[0] += in[0][i];
      }
    };
    using enum KernelUse;
    return {{"test.add", 1, Whole, nothingSpecial, prepare<add>},
            {"test.code", 1, Whole, nothingSpecial, prepareCode, isForMachine,
             /*takesFormats=*/false, /*takesCode=*/true},
            {"test.matmul", 1, Whole, nothingSpecial, prepare<matmul>},
            {"test.open", 1, Whole, nothingSpecial, prepare<open>},
            {"test.refused", 1, Whole, nothingSpecial, refuse},
            {"test.relu", 1, Whole, inPlace, prepare<relu>},
            {"test.reshape", 1, Whole, view, prepare<reshape>},
            {"test.reverse", 1, Whole, queryReverse, prepare<reverse>, nullptr,
             /*takesFormats=*/true},
            {"test.scale", 1, Whole, nothingSpecial, prepare<scale>},
            {"test.scratch", 1, Whole, scratch, prepare<scratchBody>},
            {"test.slow", 1, Whole, nothingSpecial, prepare<slow>},
            {"test.sum", 1, Whole, nothingSpecial, prepare<sum>}};
  }
};

} // namespace divisi::rt

#endif // DIVISI_TEST_RUNTIME_CORE_TESTBACKEND_H
