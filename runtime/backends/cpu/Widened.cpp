//===- Widened.cpp - Products of f16 and bf16 in f32 ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few processors multiply f16 and bf16, and all of them f32, in which the
// products are summed anyway: so operands are converted, constant ones once,
// and oneDNN's kernel for f32 does the rest.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/OneDnn.h"

#include "divisi/runtime/kernels/Element.h"

#include <algorithm>
#include <array>
#include <optional>

namespace divisi::rt::cpu {
namespace {

/// What PackedForms call a constant in f32.
constexpr const char *widenedName = "f32";

/// A call over f32 in the place of `site`, and where its tensors lie in the
/// workspace.
struct WidenedSite {
  std::vector<TensorInfo> operands, results;
  std::optional<Region> region;   ///< Of results in f32.
  std::vector<bool> widens;       ///< Operands; booleans and f32 stay.
  std::vector<int64_t> operandAt; ///< Offsets of converted operands.
  std::vector<bool> narrows;      ///< Results that are not f32.
  std::vector<int64_t> resultAt;  ///< Their offsets.
  int64_t innerAt = 0;            ///< The inner kernel's workspace.

  explicit WidenedSite(const CallSite &site)
      : operands(site.operands.begin(), site.operands.end()),
        results(site.results.begin(), site.results.end()) {
    WorkspaceParts parts;
    DType narrow = operands[0].type;
    for (size_t i = 0; i < operands.size(); ++i) {
      widens.push_back(operands[i].type == narrow);
      operands[i].type = widens[i] ? DType::F32 : operands[i].type;
      operandAt.push_back(parts.add(
          isConstant(site, i) || !widens[i] ? 0 : operands[i].bytes()));
    }
    for (TensorInfo &result : results) {
      narrows.push_back(result.type != DType::F32);
      result.type = DType::F32;
      resultAt.push_back(parts.add(narrows.back() ? result.bytes() : 0));
    }
    innerAt = parts.bytes();
    if (site.region) {
      region = *site.region;
      for (RegionPart &part : region->parts) {
        for (TensorInfo &result : part.results) {
          result.type = DType::F32;
        }
      }
    }
  }

  static bool isConstant(const CallSite &site, size_t i) {
    return i < site.constants.size() && bool(site.constants[i]);
  }

  /// `constants` are those of the site, converted if anybody reads them.
  CallSite call(const CallSite &site,
                std::span<const Constant> constants) const {
    CallSite wide{site.op, site.attributes, operands, results, constants};
    wide.threads = site.threads;
    wide.checksIndices = site.checksIndices;
    wide.region = region ? &*region : nullptr;
    return wide;
  }
};

} // namespace

/// Converts `count` elements, to or from f32, by a team.
template <typename To, typename From>
static void convertAll(To *to, const From *from, int64_t count, int threads) {
  int64_t piece = (count + threads - 1) / threads;
  TeamSize team(threads);
#pragma omp parallel for schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    int64_t last = std::min(count, (t + 1) * piece);
    for (int64_t i = t * piece; i < last; ++i) {
      to[i] = To(load(from[i]));
    }
  }
}

static void widen(DType type, float *to, const void *from, int64_t count,
                  int threads) {
  if (type == DType::F16) {
    convertAll(to, static_cast<const Half *>(from), count, threads);
  } else {
    convertAll(to, static_cast<const BFloat *>(from), count, threads);
  }
}

namespace {

/// A constant of f16 or bf16 as one of f32.
class WidenedReader final : public ConstantReader {
public:
  WidenedReader(DType type, Constant narrow)
      : type_(type), narrow_(std::move(narrow)) {}

  bool read(int64_t begin, int64_t count, std::byte *to) override {
    constexpr int64_t width = sizeof(float), narrowWidth = sizeof(BFloat);
    std::vector<std::byte> piece(
        size_t(std::min<int64_t>(count / width * narrowWidth, 1 << 16)));
    for (int64_t at = 0; at < count;) {
      int64_t taken =
          std::min((count - at) / width, int64_t(piece.size()) / narrowWidth);
      if (!narrow_.read((begin + at) / width * narrowWidth, taken * narrowWidth,
                        piece.data())) {
        return false;
      }
      widen(type_, reinterpret_cast<float *>(to + at), piece.data(), taken, 1);
      at += taken * width;
    }
    return true;
  }

private:
  DType type_;
  Constant narrow_;
};

class WidenedKernel final : public PreparedKernel {
public:
  WidenedKernel(const CallSite &site, WidenedSite wide)
      : type_(site.operands[0].type), wide_(std::move(wide)),
        constants_(wide_.operands.size()) {
    operands_.reserve(wide_.operands.size());
    results_.reserve(wide_.results.size());
  }

  /// Makes the inner kernel; false if it refuses.
  bool prepare(const CallSite &site, const Kernel &inner, std::string &error) {
    std::vector<Constant> constants(wide_.operands.size());
    std::vector<std::optional<WidenedReader>> readers(constants.size());
    for (size_t i = 0; i < wide_.operands.size(); ++i) {
      if (!wide_.widens[i]) {
        constants[i] =
            i < site.constants.size() ? site.constants[i] : Constant();
      } else if (WidenedSite::isConstant(site, i)) {
        readers[i].emplace(type_, site.constants[i]);
        constants[i] = {*readers[i], site.constants[i].forms()};
      }
    }
    inner_ = inner.prepare(wide_.call(site, constants), error);
    if (!inner_) {
      return false;
    }
    for (size_t i = 0; i < constants.size(); ++i) {
      isPacked_.push_back(readers[i] && !inner_->reads(i));
      if (readers[i] && !isPacked_[i]) {
        int64_t bytes = wide_.operands[i].bytes();
        constants_[i] =
            packConstant(constants[i], widenedName, bytes, [&](std::byte *to) {
              return readers[i]->read(0, bytes, to);
            });
        if (!constants_[i]) {
          return false;
        }
      }
    }
    return true;
  }

  Status launch(LaunchContext &context) override {
    auto *workspace = static_cast<std::byte *>(context.workspace);
    operands_.clear();
    for (size_t i = 0; i < wide_.operands.size(); ++i) {
      if (!wide_.widens[i]) {
        operands_.push_back(context.operands[i]);
        continue;
      }
      const void *from = constants_[i].get();
      if (!from && !isPacked_[i]) {
        void *to = workspace + wide_.operandAt[i];
        widen(type_, static_cast<float *>(to), context.operands[i],
              wide_.operands[i].count(), context.threads);
        from = to;
      }
      operands_.push_back(from);
    }
    results_.clear();
    for (size_t i = 0; i < wide_.results.size(); ++i) {
      results_.push_back(wide_.narrows[i] ? workspace + wide_.resultAt[i]
                                          : context.results[i]);
    }
    LaunchContext inner{operands_, results_, workspace + wide_.innerAt,
                        context.threads};
    Status status = inner_->launch(inner);
    for (size_t i = 0; i < wide_.results.size() && status.isOk(); ++i) {
      if (wide_.narrows[i]) {
        narrow(i, context);
      }
    }
    return status;
  }

  std::vector<PackedBytes> packed() const override {
    std::vector<PackedBytes> all = inner_->packed();
    for (size_t i = 0; i < constants_.size(); ++i) {
      if (constants_[i]) {
        all.push_back({constants_[i].get(), wide_.operands[i].bytes()});
      }
    }
    return all;
  }

  bool reads(size_t operand) const override {
    return !constants_[operand] && !isPacked_[operand];
  }

private:
  void narrow(size_t result, const LaunchContext &context) const {
    auto *from = static_cast<const float *>(results_[result]);
    int64_t count = wide_.results[result].count();
    void *to = context.results[result];
    if (type_ == DType::F16) {
      convertAll(static_cast<Half *>(to), from, count, context.threads);
    } else {
      convertAll(static_cast<BFloat *>(to), from, count, context.threads);
    }
  }

  DType type_;
  WidenedSite wide_;
  /// In f32, those that the inner kernel reads.
  std::vector<std::shared_ptr<const std::byte>> constants_;
  std::vector<bool> isPacked_; ///< Constants that it reads no more.
  std::vector<const void *> operands_;
  std::vector<void *> results_;
  std::unique_ptr<PreparedKernel> inner_;
};

} // namespace

/// oneDNN's kernel for the widened call, or null.
static const Kernel *findInner(const CallSite &site, const WidenedSite &wide,
                               std::span<const Constant> constants) {
  CallSite call = wide.call(site, constants);
  const std::array families = {attentionKernels(), attentionGradientKernels(),
                               matmulKernels(), convKernels()};
  // What goes on with another product rounds it before.
  size_t count = site.op == fusedOp ? 2 : families.size();
  for (std::span<const Kernel> family : std::span(families).first(count)) {
    for (const Kernel &kernel : family) {
      if (kernel.op == site.op && kernel.accepts(call)) {
        return &kernel;
      }
    }
  }
  return nullptr;
}

/// All operands f16 or all bf16, or booleans, and results of that type or f32.
/// Gradients of attention also have operands of sums, in f32.
static bool isNarrow(const CallSite &site) {
  if (site.operands.empty() || site.results.empty()) {
    return false;
  }
  DType type = site.operands[0].type;
  bool hasSums = site.op == fusedOp || site.op == "nn.attention_gradient";
  auto isOperand = [&](const TensorInfo &info) {
    return info.type == type || info.type == DType::Bool ||
           (hasSums && info.type == DType::F32);
  };
  auto isResult = [&](const TensorInfo &info) {
    return info.type == type || info.type == DType::F32;
  };
  return (type == DType::F16 || type == DType::BF16) &&
         std::ranges::all_of(site.results, isResult) &&
         std::ranges::all_of(site.operands, isOperand);
}

static bool acceptsWidened(const CallSite &site) {
  return isNarrow(site) &&
         findInner(site, WidenedSite(site), site.constants) != nullptr;
}

static KernelQuery queryWidened(const CallSite &site) {
  KernelQuery query;
  if (!isNarrow(site)) {
    return query;
  }
  WidenedSite wide(site);
  if (const Kernel *inner = findInner(site, wide, site.constants)) {
    query = inner->query(wide.call(site, site.constants));
    query.inPlace.clear();
    query.workspaceBytes += wide.innerAt;
    std::vector<int> packed = std::exchange(query.unread, {});
    for (size_t i = 0; i < wide.operands.size(); ++i) {
      if (WidenedSite::isConstant(site, i) && wide.widens[i]) {
        if (!std::ranges::count(packed, int(i))) {
          query.packed.push_back(
              {int(i), widenedName, wide.operands[i].bytes()});
        }
        query.unread.push_back(int(i));
      }
    }
  }
  return query;
}

static std::unique_ptr<PreparedKernel> prepareWidened(const CallSite &site,
                                                      std::string &error) {
  if (isNarrow(site)) {
    WidenedSite wide(site);
    if (const Kernel *inner = findInner(site, wide, site.constants)) {
      auto kernel = std::make_unique<WidenedKernel>(site, std::move(wide));
      if (kernel->prepare(site, *inner, error)) {
        return kernel;
      }
    }
  }
  error = std::string(site.op) + ": oneDNN cannot do this product";
  return nullptr;
}

std::span<const Kernel> widenedKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {fusedOp, 1, Whole, queryWidened, prepareWidened, acceptsWidened, false,
       false, "oneDNN"}, // of one attention
      {"nn.attention", 1, Whole, queryWidened, prepareWidened, acceptsWidened},
      {"nn.attention_gradient", 1, Whole, queryWidened, prepareWidened,
       acceptsWidened},
      {"nn.attention_lse", 1, Whole, queryWidened, prepareWidened,
       acceptsWidened},
      {"nn.conv", 1, Whole, queryWidened, prepareWidened, acceptsWidened},
      {"nn.conv_dgrad", 1, Whole, queryWidened, prepareWidened, acceptsWidened},
      {"nn.matmul", 1, Whole, queryWidened, prepareWidened, acceptsWidened},
  };
  return kernels;
}

} // namespace divisi::rt::cpu
