//===- BlasProblem.cpp - What cuBLASLt is asked for -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/BlasProblem.h"
#include "test/emulator/DeviceNumbers.h"

using namespace divisi;
using namespace divisi::emulator;

uint64_t BlasLayout::width() const {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

uint64_t BlasLayout::offset(uint64_t column, int number) const {
  return (column * uint64_t(leading) +
          uint64_t(number) * uint64_t(batchStride)) *
         width();
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

/// Of the table of types: those that are used here.
static bool isKnown(const BlasProblem &problem) {
  const auto &[what, a, b, c, d] = problem;
  if (a.type != b.type || c.type != d.type) {
    return false;
  }
  bool isF32 = a.type == CUDA_R_32F && c.type == CUDA_R_32F;
  bool isNarrow = (a.type == CUDA_R_16F || a.type == CUDA_R_16BF) &&
                  (c.type == a.type || c.type == CUDA_R_32F);
  switch (what.compute) {
  case CUBLAS_COMPUTE_32F:
    return what.scale == CUDA_R_32F && (isF32 || isNarrow);
  case CUBLAS_COMPUTE_32F_FAST_TF32:
    return what.scale == CUDA_R_32F && isF32;
  case CUBLAS_COMPUTE_64F:
    return what.scale == CUDA_R_64F && a.type == CUDA_R_64F &&
           c.type == CUDA_R_64F;
  default:
    return false;
  }
}

/// Whether columns lie apart from each other.
static bool isMatrix(const BlasLayout &layout) {
  return layout.rows > 0 && layout.columns > 0 &&
         layout.leading >= int64_t(layout.rows) && layout.batch > 0;
}

std::optional<std::string> BlasProblem::refusal() const {
  auto shape = [](const BlasLayout &layout, int32_t trans) {
    return trans == CUBLAS_OP_T ? std::pair(layout.columns, layout.rows)
                                : std::pair(layout.rows, layout.columns);
  };
  auto [m, k] = shape(a, what.transA);
  auto [k2, n] = shape(b, what.transB);
  if (!isKnown(*this)) {
    return "types that cuBLASLt's table has not";
  }
  for (const BlasLayout *layout : {&a, &b, &c, &d}) {
    if (!isMatrix(*layout) || layout->batch != d.batch) {
      return "a matrix whose columns overlap, or another batch";
    }
  }
  if (k != k2 || d.rows != m || d.columns != n || c.rows != m ||
      c.columns != n) {
    return "matrices that do not fit together";
  }
  bool isOfTable = what.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
                   what.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                   what.epilogue == CUBLASLT_EPILOGUE_GELU ||
                   what.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
  if (!isOfTable || (what.epilogue != CUBLASLT_EPILOGUE_DEFAULT &&
                     what.compute == CUBLAS_COMPUTE_64F)) {
    return "an epilogue that it does not have for these types";
  }
  if (what.hasBias() && what.bias == 0) {
    return "no bias";
  }
  return std::nullopt;
}

std::string BlasProblem::text() const {
  std::string text;
  auto add = [&](auto number) { text += std::to_string(number) + " "; };
  add(int(what.compute));
  add(int(what.scale));
  add(what.transA);
  add(what.transB);
  add(what.epilogue);
  add(what.bias % 16);
  for (const BlasLayout *layout : {&a, &b, &c, &d}) {
    add(int(layout->type));
    add(layout->rows);
    add(layout->columns);
    add(layout->leading);
    add(layout->batch);
    add(layout->batchStride);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// What it means
//===----------------------------------------------------------------------===//

static rt::DType typeOf(cudaDataType type) {
  return type == CUDA_R_64F    ? rt::DType::F64
         : type == CUDA_R_32F  ? rt::DType::F32
         : type == CUDA_R_16BF ? rt::DType::BF16
                               : rt::DType::F16;
}

namespace {

/// Columns of the device.
class Columns {
public:
  Columns(Gpus &gpus, const BlasLayout &layout, uint64_t address)
      : gpus_(gpus), layout_(layout), address_(address) {}

  /// The bytes of a column, which is touched; null if nobody has them.
  std::byte *at(uint64_t column, int number, std::vector<ByteRange> &ranges) {
    uint64_t begin = address_ + layout_.offset(column, number);
    uint64_t bytes = layout_.rows * layout_.width();
    touch(ranges, begin, bytes);
    return gpus_.find(begin, bytes);
  }
  /// All of one matrix, row by row if `isTransposed`; empty if it is not there.
  std::vector<double> read(int number, bool isTransposed,
                           std::vector<ByteRange> &ranges) {
    std::vector<double> values(layout_.rows * layout_.columns);
    for (uint64_t j = 0; j < layout_.columns; ++j) {
      const std::byte *column = at(j, number, ranges);
      for (uint64_t i = 0; i < layout_.rows && column; ++i) {
        values[isTransposed ? i * layout_.columns + j : j * layout_.rows + i] =
            loadNumber(column + i * layout_.width(), typeOf(layout_.type));
      }
      if (!column) {
        return {};
      }
    }
    return values;
  }

private:
  Gpus &gpus_;
  const BlasLayout &layout_;
  uint64_t address_;
};

} // namespace

std::optional<std::string> BlasProblem::run(const Arguments &arguments,
                                            Gpus &gpus,
                                            Touched &touched) const {
  Columns left(gpus, a, arguments.a), right(gpus, b, arguments.b),
      added(gpus, c, arguments.c), result(gpus, d, arguments.d);
  BlasLayout ofBias{d.type, d.rows, 1, int64_t(d.rows)};
  std::vector<double> bias(d.rows);
  if (what.hasBias()) {
    bias = Columns(gpus, ofBias, what.bias).read(0, false, touched.reads);
    if (bias.empty()) {
      return noSuchBytes;
    }
  }
  bool rounds = what.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  uint64_t m = d.rows, k = what.transB == CUBLAS_OP_T ? b.columns : b.rows;
  for (int number = 0; number < d.batch; ++number) {
    // By columns of m, and of k.
    auto x = left.read(number, what.transA == CUBLAS_OP_T, touched.reads);
    auto y = right.read(number, what.transB == CUBLAS_OP_T, touched.reads);
    if (x.empty() || y.empty()) {
      return noSuchBytes;
    }
    for (auto *values : {&x, &y}) {
      for (double &value : *values) {
        value = rounds ? roundToTf32(value) : value;
      }
    }
    for (uint64_t j = 0; j < d.columns; ++j) {
      std::vector<double> sums(m);
      for (uint64_t p = 0; p < k; ++p) {
        for (uint64_t i = 0; i < m; ++i) {
          sums[i] += x[p * m + i] * y[j * k + p];
        }
      }
      const std::byte *own =
          arguments.beta != 0 ? added.at(j, number, touched.reads) : nullptr;
      std::byte *to = result.at(j, number, touched.writes);
      if (!to || (arguments.beta != 0 && !own)) {
        return noSuchBytes;
      }
      for (uint64_t i = 0; i < m; ++i) {
        double value = arguments.alpha * sums[i] + bias[i];
        value += own ? arguments.beta *
                           loadNumber(own + i * c.width(), typeOf(c.type))
                     : 0;
        storeNumber(what.hasGelu() ? geluByTanh(value) : value,
                    to + i * d.width(), typeOf(d.type));
      }
    }
  }
  return std::nullopt;
}
