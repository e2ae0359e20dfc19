//===- RowProgram.h - What is computed of each row --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A region as functions of elements, without operators. A reduction over the
// row ends a pass over its elements; what depends on it comes in the next:
//
//   softmax     pass 0   m = max x
//               pass 1   e = exp (x - m), s = sum e
//               pass 2   y = e * (1 / s)
//
// A pass computes again what it needs of earlier ones, but for what is costly:
// that is kept, in a row of scratch memory. It is plain data that knows no
// processor: how many elements are done at a time, and by whom, is decided by
// those who make code of it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ROWPROGRAM_H
#define DIVISI_LIB_CODEGEN_ROWPROGRAM_H

#include "divisi/runtime/code/RowNest.h"
#include "divisi/runtime/kernels/ScalarFunctions.h"

#include <optional>
#include <vector>

namespace divisi {

/// What a node computes of its operands.
using Function = rt::ScalarFunction;

/// What elements of `type` are computed as: f32 for narrower floats, else the
/// same. What is only stored stays so.
rt::DType computedAs(rt::DType type);

/// See the file's head.
struct RowProgram {
  /// A value, of each element of the row or, `isStill`, of the row.
  struct Node {
    /// What makes the value.
    enum class Kind : uint8_t { Load, Constant, Columns, Map, Sum, Max } kind;
    std::vector<int> operands = {};  ///< Nodes before it.
    int tensor = -1;                 ///< Load: of RowNest::tensors.
    double value = 0;                ///< Constant.
    Function function = {};          ///< Map.
    rt::DType type = rt::DType::F32; ///< See computedAs().
    /// Map: the f16 or bf16 that it is rounded to, as what an operator ends
    /// with; f32 still.
    std::optional<rt::DType> rounded = std::nullopt;
    bool isStill = false;
    int pass = 0;    ///< The first in which it can be computed.
    int keptIn = -1; ///< The row of scratch memory where later passes find it.
    int keptBy = -1; ///< The pass that writes it there.
  };
  std::vector<Node> nodes;
  std::vector<int> results; ///< Nodes, per result of the call.
  int passes = 1;           ///< Results are written in the last one.
  int keptRows = 0;         ///< Rows of scratch memory.

  /// That of the region of `site`; nothing where an operator or a type has no
  /// functions here.
  static std::optional<RowProgram> of(const rt::CallSite &site,
                                      const rt::RowNest &nest);
  /// The reductions that end `pass`.
  std::vector<int> reductionsOf(int pass) const;
  /// The values of elements that `pass` is for: what its reductions reduce, and
  /// the results in the last one.
  std::vector<int> rootsOf(int pass) const;
  /// Whether it computes in f32 and logical values alone, with functions that
  /// are made for vectors; codes of 8 bits are widened and narrowed.
  bool isForVectors() const;
  /// The type of what a node's last operand is.
  rt::DType operandType(const Node &node) const {
    return nodes[node.operands.back()].type;
  }
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ROWPROGRAM_H
