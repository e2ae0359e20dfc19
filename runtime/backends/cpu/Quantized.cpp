//===- Quantized.cpp - Quantize and dequantize by vectors -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between f32 and integers of 8 bits, with one scale and zero point for all, of
// tensors that lie alike, whatever their format: bits of the reference.
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/Families.h"
#include "runtime/backends/cpu/Team.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <limits>

namespace divisi::rt::cpu {
namespace {

/// One piece of a call: `a` and `scaled` are what is read, `y` is written.
template <typename Code> struct Piece {
  const float *numbers; ///< Quantized, or added to; null for neither.
  const Code *codes;    ///< Dequantized.
  void *y;
  int64_t count;
  float scale, zero;
};

/// Fewer are done before a team is awake.
constexpr int64_t leastElements = 65536;

} // namespace

/// round(x / scale) + zero, saturating, halves to even; 0 for NaN.
template <typename Code>
__attribute__((always_inline)) static inline void
quantizePiece(const Piece<Code> &piece) {
  // No number beyond has another code; below, adding 3 * 2^22 rounds.
  constexpr float far = 1024, shift = 12582912;
  constexpr float low = std::numeric_limits<Code>::min();
  constexpr float high = std::numeric_limits<Code>::max();
  // Bytes that are written could be those of the piece.
  auto [numbers, codes, to, count, scale, zero] = piece;
  auto *y = static_cast<Code *>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    float value = numbers[i] / scale;
    float near = value < far ? value : far;
    near = near > -far ? near : -far;
    float code = (near + shift) - shift + zero;
    code = code < high ? code : high;
    code = code > low ? code : low;
    code = value == value ? code : 0;
    y[i] = Code(int32_t(code));
  }
}

template <typename Code>
__attribute__((always_inline)) static inline void
dequantizePiece(const Piece<Code> &piece) {
  auto *y = static_cast<float *>(piece.y);
#pragma GCC ivdep
  for (int64_t i = 0; i < piece.count; ++i) {
    y[i] = (float(piece.codes[i]) - piece.zero) * piece.scale;
  }
}

template <typename Code>
__attribute__((always_inline)) static inline void
addPiece(const Piece<Code> &piece) {
  auto *y = static_cast<float *>(piece.y);
#pragma GCC ivdep
  for (int64_t i = 0; i < piece.count; ++i) {
    float number = (float(piece.codes[i]) - piece.zero) * piece.scale;
    y[i] = piece.numbers[i] + number;
  }
}

// One clone per processor of each, which no template can be.
#define DIVISI_CLONES                                                          \
  __attribute__((target_clones("arch=x86-64-v4", "avx2", "default"))) static void
DIVISI_CLONES quantizeSigned(const Piece<int8_t> &p) { quantizePiece(p); }
DIVISI_CLONES quantizeUnsigned(const Piece<uint8_t> &p) { quantizePiece(p); }
DIVISI_CLONES dequantizeSigned(const Piece<int8_t> &p) { dequantizePiece(p); }
DIVISI_CLONES dequantizeUnsigned(const Piece<uint8_t> &p) {
  dequantizePiece(p);
}
DIVISI_CLONES addSigned(const Piece<int8_t> &p) { addPiece(p); }
DIVISI_CLONES addUnsigned(const Piece<uint8_t> &p) { addPiece(p); }
#undef DIVISI_CLONES

namespace {

/// Where the operands of an operator stand, which Code's function computes.
struct Roles {
  int numbers = -1, codes = -1; ///< -1: there is none.
  size_t scale = 1;             ///< A zero point stands behind it.
};

template <typename Code> class QuantizedKernel final : public PreparedKernel {
public:
  using Function = void (*)(const Piece<Code> &);
  QuantizedKernel(const CallSite &site, Roles roles, Function function)
      : roles_(roles), function_(function), count_(site.results[0].count()),
        width_(byteWidth(site.results[0].type)),
        hasZero_(site.operands.size() > roles.scale + 1),
        threads_(count_ < leastElements ? 1 : site.threads) {}

  Status launch(LaunchContext &context) override {
    context_ = &context;
    forEach(threads_, threads_,
            [](void *kernel, int piece) {
              static_cast<QuantizedKernel *>(kernel)->run(piece);
            },
            this);
    return {};
  }

private:
  void run(int number) const {
    const LaunchContext &context = *context_;
    int64_t first = count_ * number / threads_;
    int64_t last = count_ * (number + 1) / threads_;
    auto operand = [&](int which, int64_t width) {
      return which < 0 ? nullptr
                       : static_cast<const std::byte *>(
                             context.operands[size_t(which)]) +
                             first * width;
    };
    const void *scale = context.operands[roles_.scale];
    const void *zero = hasZero_ ? context.operands[roles_.scale + 1] : nullptr;
    function_({reinterpret_cast<const float *>(
                   operand(roles_.numbers, sizeof(float))),
               reinterpret_cast<const Code *>(operand(roles_.codes, 1)),
               static_cast<std::byte *>(context.results[0]) + first * width_,
               last - first, *static_cast<const float *>(scale),
               zero ? float(*static_cast<const Code *>(zero)) : 0});
  }

  Roles roles_;
  Function function_;
  int64_t count_, width_;
  bool hasZero_;
  int threads_;
  const LaunchContext *context_ = nullptr; ///< Of the present launch.
};

} // namespace

static Roles rolesOf(std::string_view op) {
  return op == "nn.quantize"     ? Roles{0, -1, 1}
         : op == "nn.dequantize" ? Roles{-1, 0, 1}
                                 : Roles{0, 1, 2};
}

static bool isByte(DType type) {
  return type == DType::I8 || type == DType::U8;
}

static bool acceptsQuantized(const CallSite &site) {
  Roles roles = rolesOf(site.op);
  if (site.results.size() != 1 || site.operands.size() <= roles.scale ||
      site.operands.size() > roles.scale + 2 || !isPlainOrChannelsLast(site)) {
    return false;
  }
  const TensorInfo &y = site.results[0];
  DType code = roles.codes < 0 ? y.type
                               : site.operands[size_t(roles.codes)].type;
  bool fits = isByte(code) && (roles.codes < 0 || y.type == DType::F32);
  for (size_t i = 0; i < site.operands.size(); ++i) {
    const TensorInfo &operand = site.operands[i];
    bool isCode = int(i) == roles.codes || i == roles.scale + 1;
    bool isTensor = i < roles.scale;
    fits &= operand.type == (isCode ? code : DType::F32) &&
            (isTensor ? isSameBox(operand, y) && operand.format == y.format
                      : numElements(operand.global) == 1 &&
                            operand.count() == 1);
  }
  return fits;
}

static KernelQuery queryQuantized(const CallSite &site) {
  KernelQuery query;
  if (site.op == "nn.add_dequantized") {
    query.inPlace.emplace_back(0, 0);
  }
  return query;
}

template <typename Code>
static std::unique_ptr<PreparedKernel>
make(const CallSite &site, void (*quantize)(const Piece<Code> &),
     void (*dequantize)(const Piece<Code> &),
     void (*add)(const Piece<Code> &)) {
  return std::make_unique<QuantizedKernel<Code>>(
      site, rolesOf(site.op),
      site.op == "nn.quantize"     ? quantize
      : site.op == "nn.dequantize" ? dequantize
                                   : add);
}

static std::unique_ptr<PreparedKernel> prepareQuantized(const CallSite &site,
                                                        std::string &) {
  bool isUnsigned = site.results[0].type == DType::U8 ||
                    std::any_of(site.operands.begin(), site.operands.end(),
                                [](const TensorInfo &operand) {
                                  return operand.type == DType::U8;
                                });
  return isUnsigned ? make<uint8_t>(site, quantizeUnsigned, dequantizeUnsigned,
                                    addUnsigned)
                    : make<int8_t>(site, quantizeSigned, dequantizeSigned,
                                   addSigned);
}

static constexpr Kernel quantizedKernel(std::string_view op) {
  Kernel kernel{op,
                1,
                KernelUse::Whole,
                queryQuantized,
                prepareQuantized,
                acceptsQuantized};
  kernel.takesFormats = true;
  return kernel;
}

std::span<const Kernel> quantizedKernels() {
  static constexpr Kernel kernels[] = {quantizedKernel("nn.add_dequantized"),
                                       quantizedKernel("nn.dequantize"),
                                       quantizedKernel("nn.quantize")};
  return kernels;
}

} // namespace divisi::rt::cpu
