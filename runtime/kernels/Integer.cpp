//===- Integer.cpp - Kernels of products of quantized numbers -------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operands without their zero points, in i32, are what the kernels of i32
// multiply.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Integer.h"
#include "runtime/kernels/Families.h"
#include "runtime/kernels/Scalars.h"

#include <algorithm>

namespace divisi::rt {
static int64_t roundUp(int64_t bytes) { return (bytes + 63) / 64 * 64; }

WideCall::WideCall(const CallSite &given)
    : isConvolution(given.op == "nn.conv_integer"),
      operands(given.operands.begin(), given.operands.end()), site(given) {
  operands.resize(std::min<size_t>(operands.size(), 2));
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i].type = DType::I32;
    at[i] = workspaceBytes;
    workspaceBytes += roundUp(operands[i].bytes());
  }
  site.op = isConvolution ? "nn.conv" : "nn.matmul";
  site.operands = operands;
  site.constants = {};
}

bool checkCodes(const CallSite &site, const WideCall &wide,
                const Checks &checks, std::array<int64_t, 2> &zeros) {
  bool hasZero = site.operands.size() == 3 && !wide.isConvolution;
  if (!checks.counts(hasZero ? 3 : 2, 1) || !checks.resultType(0, DType::I32) ||
      (hasZero && (!checks.operandType(2, site.operands[0].type) ||
                   !checks.operandRank(2, 0)))) {
    return false;
  }
  const char *names[] = {wide.isConvolution ? "x_zero" : "a_zero",
                         wide.isConvolution ? "w_zero" : "b_zero"};
  for (size_t i = 0; i < 2; ++i) {
    bool isSigned = site.operands[i].type == DType::I8;
    if (!isSigned && site.operands[i].type != DType::U8) {
      return checks.operandType(i, DType::I8);
    }
    if (!checks.getInt(names[i], isSigned ? -128 : 0, isSigned ? 127 : 255,
                       zeros[i])) {
      return false;
    }
  }
  return true;
}

/// The numbers from `from`, less `zero`.
static void widen(DType type, const void *from, int64_t count, int64_t zero,
                  void *to) {
  auto *numbers = static_cast<int32_t *>(to);
  auto widenAll = [&](const auto *codes) {
    std::transform(codes, codes + count, numbers,
                   [&](auto code) { return int32_t(code) - int32_t(zero); });
  };
  if (type == DType::I8) {
    widenAll(static_cast<const int8_t *>(from));
  } else {
    widenAll(static_cast<const uint8_t *>(from));
  }
}

static int64_t numberAt(DType type, const void *code) {
  return type == DType::I8 ? int64_t(*static_cast<const int8_t *>(code))
                           : int64_t(*static_cast<const uint8_t *>(code));
}

namespace {

class IntegerKernel final : public PreparedKernel {
public:
  IntegerKernel(const CallSite &site, const WideCall &wide,
                std::array<int64_t, 2> zeros,
                std::unique_ptr<PreparedKernel> inner)
      : at_(wide.at), innerAt_(wide.workspaceBytes), zeros_(zeros),
        inner_(std::move(inner)) {
    hasZero_ = site.operands.size() > 2;
    for (size_t i = 0; i < 2; ++i) {
      types_[i] = site.operands[i].type;
      counts_[i] = site.operands[i].count();
    }
  }

  Status launch(LaunchContext &context) override {
    auto *workspace = static_cast<std::byte *>(context.workspace);
    const void *operands[2];
    for (size_t i = 0; i < 2; ++i) {
      void *to = workspace + at_[i];
      int64_t zero = i == 0 && hasZero_
                         ? numberAt(types_[0], context.operands[2])
                         : zeros_[i];
      widen(types_[i], context.operands[i], counts_[i], zero, to);
      operands[i] = to;
    }
    LaunchContext inner = context;
    inner.operands = operands;
    inner.workspace = workspace + innerAt_;
    return inner_->launch(inner);
  }

private:
  std::array<int64_t, 2> at_;
  int64_t innerAt_;
  std::array<int64_t, 2> zeros_, counts_ = {};
  std::array<DType, 2> types_ = {};
  bool hasZero_ = false; ///< Operand 2 is that of operand 0.
  std::unique_ptr<PreparedKernel> inner_;
};

} // namespace

/// The kernel of i32.
static const Kernel *findInner(const WideCall &wide) {
  for (auto family : {contractionKernels(), windowKernels()}) {
    for (const Kernel &kernel : family) {
      if (kernel.op == wide.site.op) {
        return &kernel;
      }
    }
  }
  return nullptr;
}

static KernelQuery queryInteger(const CallSite &site) {
  WideCall wide(site);
  int64_t inner = findInner(wide)->query(wide.site).workspaceBytes;
  return {.workspaceBytes = wide.workspaceBytes + inner};
}

static std::unique_ptr<PreparedKernel> prepareInteger(const CallSite &site,
                                                      std::string &error) {
  WideCall wide(site);
  std::array<int64_t, 2> zeros = {};
  if (!checkCodes(site, wide, Checks(site, error), zeros)) {
    return nullptr;
  }
  std::unique_ptr<PreparedKernel> inner =
      findInner(wide)->prepare(wide.site, error);
  return inner ? std::make_unique<IntegerKernel>(site, wide, zeros,
                                                 std::move(inner))
               : nullptr;
}

std::span<const Kernel> integerKernels() {
  using enum KernelUse;
  static constexpr Kernel kernels[] = {
      {"nn.conv_integer", 1, Parts, queryInteger, prepareInteger},
      {"nn.matmul_integer", 1, Whole, queryInteger, prepareInteger},
  };
  return kernels;
}

} // namespace divisi::rt
