//===- BlasProblem.cpp - What cuBLASLt is asked for -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/BlasProblem.h"
#include "test/emulator/DeviceNumbers.h"

#include <algorithm>

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

/// Rows or columns of a matrix, one after the other.
struct Lines {
  uint64_t first, count;
};

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
  /// Touches all of one matrix; false if some of it is not there.
  bool touchMatrix(int number, std::vector<ByteRange> &ranges) {
    bool isThere = true;
    for (uint64_t j = 0; j < layout_.columns; ++j) {
      isThere &= at(j, number, ranges) != nullptr;
    }
    return isThere;
  }
  /// A block of one matrix, which is there: element (i, j) of it at place
  /// i * rowStep + j * columnStep.
  std::vector<double> read(int number, Lines rows, Lines columns,
                           uint64_t rowStep, uint64_t columnStep,
                           bool rounds) const {
    std::vector<double> values(rows.count * columns.count);
    uint64_t width = layout_.width();
    for (uint64_t j = 0; j < columns.count; ++j) {
      const std::byte *column = block(number, rows, columns.first + j);
      for (uint64_t i = 0; i < rows.count; ++i) {
        double value = loadNumber(column + i * width, typeOf(layout_.type));
        values[i * rowStep + j * columnStep] =
            rounds ? roundToTf32(value) : value;
      }
    }
    return values;
  }

  /// Writes a block of one matrix, which is there, column by column.
  void write(int number, Lines rows, Lines columns,
             const std::vector<double> &values) {
    uint64_t width = layout_.width();
    for (uint64_t j = 0; j < columns.count; ++j) {
      std::byte *column = block(number, rows, columns.first + j);
      for (uint64_t i = 0; i < rows.count; ++i) {
        storeNumber(values[j * rows.count + i], column + i * width,
                    typeOf(layout_.type));
      }
    }
  }

private:
  std::byte *block(int number, Lines rows, uint64_t column) const {
    uint64_t width = layout_.width();
    return gpus_.find(address_ + layout_.offset(column, number) +
                          rows.first * width,
                      rows.count * width);
  }

  Gpus &gpus_;
  const BlasLayout &layout_;
  uint64_t address_;
};

} // namespace

/// How many lines of `length` numbers are taken at a time, of `count`: a few
/// MiB, so that a process holds hardly more than what its devices do.
static uint64_t linesAtATime(uint64_t count, uint64_t length) {
  constexpr uint64_t kNumbers = 1 << 18;
  return std::clamp<uint64_t>(kNumbers / std::max<uint64_t>(length, 1), 1,
                              std::max<uint64_t>(count, 1));
}

/// Sums of products, by columns: each in the order of what is summed.
static std::vector<double> multiply(const std::vector<double> &x,
                                    const std::vector<double> &y, uint64_t m,
                                    uint64_t n, uint64_t k) {
  std::vector<double> sums(m * n);
  for (uint64_t j = 0; j < n; ++j) {
    for (uint64_t p = 0; p < k; ++p) {
      for (uint64_t i = 0; i < m; ++i) {
        sums[j * m + i] += x[p * m + i] * y[j * k + p];
      }
    }
  }
  return sums;
}

std::optional<std::string> BlasProblem::run(const Arguments &arguments,
                                            Gpus &gpus,
                                            Touched &touched) const {
  Columns left(gpus, a, arguments.a), right(gpus, b, arguments.b),
      added(gpus, c, arguments.c), result(gpus, d, arguments.d);
  BlasLayout ofBias{d.type, d.rows, 1, int64_t(d.rows)};
  std::vector<double> bias(d.rows);
  if (what.hasBias()) {
    Columns given(gpus, ofBias, what.bias);
    if (!given.touchMatrix(0, touched.reads)) {
      return noSuchBytes;
    }
    bias = given.read(0, {0, d.rows}, {0, 1}, 1, 0, false);
  }
  bool rounds = what.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  bool turnsA = what.transA == CUBLAS_OP_T, turnsB = what.transB == CUBLAS_OP_T;
  uint64_t k = turnsB ? b.columns : b.rows;
  uint64_t rows = linesAtATime(d.rows, k), columns = linesAtATime(d.columns, k);
  for (int number = 0; number < d.batch; ++number) {
    if (!left.touchMatrix(number, touched.reads) ||
        !right.touchMatrix(number, touched.reads) ||
        (arguments.beta != 0 && !added.touchMatrix(number, touched.reads)) ||
        !result.touchMatrix(number, touched.writes)) {
      return noSuchBytes;
    }
    for (uint64_t i = 0; i < d.rows; i += rows) {
      Lines own{i, std::min(rows, d.rows - i)}, all{0, k};
      auto x = turnsA ? left.read(number, all, own, own.count, 1, rounds)
                      : left.read(number, own, all, 1, own.count, rounds);
      for (uint64_t j = 0; j < d.columns; j += columns) {
        Lines other{j, std::min(columns, d.columns - j)};
        auto y = turnsB ? right.read(number, other, all, k, 1, rounds)
                        : right.read(number, all, other, 1, k, rounds);
        std::vector<double> sums = multiply(x, y, own.count, other.count, k);
        std::vector<double> more(
            arguments.beta == 0
                ? std::vector<double>(sums.size())
                : added.read(number, own, other, 1, own.count, false));
        for (uint64_t at = 0; at != sums.size(); ++at) {
          uint64_t row = at % own.count;
          double value = arguments.alpha * sums[at] + bias[i + row];
          value += arguments.beta == 0 ? 0 : arguments.beta * more[at];
          sums[at] = what.hasGelu() ? geluByTanh(value) : value;
        }
        result.write(number, own, other, sums);
      }
    }
  }
  return std::nullopt;
}
