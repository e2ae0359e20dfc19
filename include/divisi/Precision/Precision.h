//===- Precision.h - From f32 to floats of fewer bits -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Weights and activations need few bits, results of many elements or that
// grow fast need more. So in a model of f32, with bf16 as the narrow
// type,
//
//   matmul, conv         take bf16 and leave their sums in f32, cast then
//   reshape, max, relu   are exact in bf16, as all that moves or chooses
//   mul, div, gelu       add their own rounding
//   add, sub             the same, but stay f32 where they join activations
//   all others           stay f32, with casts around: normalize, softmax, exp
//
// and values made or used only by operators that stay f32 stay f32, too, unless
// they are a separate branch:
//
//   %s = matmul %q, %k : bf16 -> f32     // scores
//   %m = add %s, %mask : f32             // for softmax alone
//   %p = softmax %m : f32
//   %b = cast %p : bf16
//
// If sums are narrow, a product with weights has a narrow result, which is cast
// behind it: where a plan splits its sum, the summands are narrow, too.
//
// The bias of a sum, and other operators on it alone, come before its cast.
// Tables of positions and masks, made of integers and constants alone, stay
// f32, and so do values computed once from weights. So do the products nearest
// to the inputs, as many as hold no more than an eighth of the weights: later
// operators amplify their rounding errors. Inputs and outputs keep their types.
// A cast directly follows the definition of a value, so that values moved
// between devices are narrow.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PRECISION_PRECISION_H
#define DIVISI_PRECISION_PRECISION_H

#include "divisi/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// What a user asks for.
struct PrecisionOptions {
  std::string type; ///< "bf16" or "f16"; empty: the model stays as it is.
  /// Names of nodes, scopes, operators and weights that stay f32, as
  /// nn::isNamed takes them; a result of the model by its name.
  std::vector<std::string> keepF32;
  /// Whether results of products with weights become `type`, too: summands of
  /// them then travel between devices in it, and not in f32.
  bool narrowSums = false;
  /// Whether the products that inputs meet first stay f32 (FirstProducts.h). Not
  /// in training, whose later steps answer for what the rounding does.
  bool keepsFirst = true;
};

/// What lowerPrecision has changed.
struct PrecisionRecord {
  std::string type; ///< PrecisionOptions::type
  // Operators with floats, but those that @init computes.
  int64_t narrowOperators = 0; ///< Became `type`.
  int64_t sensitive = 0;       ///< Stayed f32: norms, softmax, exponentials ...
  int64_t between = 0;    ///< Stayed f32: serve only such, or follow from them.
  int64_t sums = 0;       ///< Stayed f32: finish a sum, which is cast then.
  int64_t joins = 0;      ///< Stayed f32: add activations of one size.
  int64_t first = 0;      ///< Stayed f32: products that inputs meet first.
  int64_t tables = 0;     ///< Stayed f32: positions, masks.
  int64_t named = 0;      ///< Stayed f32: PrecisionOptions::keepF32 names them.
  int64_t narrowSums = 0; ///< Products with weights whose sums are `type`.
  // What of the weights is stored.
  int64_t narrowWeights = 0, wideWeights = 0; ///< How many tensors.
  int64_t bytesBefore = 0, bytesAfter = 0;    ///< Of all weights.

  friend bool operator==(const PrecisionRecord &,
                         const PrecisionRecord &) = default;
};

/// Tells `field` name and reference of every number of `record`, in one order.
template <typename Record, typename Field>
void forEachCount(Record &record, Field field) {
  field("narrow_operators", record.narrowOperators);
  field("f32_sensitive", record.sensitive);
  field("f32_between", record.between);
  field("f32_sums", record.sums);
  field("f32_joins", record.joins);
  field("f32_first", record.first);
  field("f32_tables", record.tables);
  field("f32_named", record.named);
  field("narrow_sums", record.narrowSums);
  field("narrow_weights", record.narrowWeights);
  field("f32_weights", record.wideWeights);
  field("weight_bytes_before", record.bytesBefore);
  field("weight_bytes_after", record.bytesAfter);
}

/// Lowers the entries of `module`, which has no @init yet, and notes on it what
/// was changed. ExitCode::Usage if `options` name another type or nothing that
/// there is, or if nothing changes.
Expected<PrecisionRecord> lowerPrecision(mlir::ModuleOp module,
                                         const PrecisionOptions &options);

/// Notes `record` on `module`.
void setPrecisionRecord(mlir::ModuleOp module, const PrecisionRecord &record);

/// What lowerPrecision has noted on `module`: none if it has not run.
/// ExitCode::Invalid for a note that somebody has broken.
Expected<std::optional<PrecisionRecord>>
getPrecisionRecord(mlir::ModuleOp module);

/// `84 operators and 43 weights became bf16; 31 operators stayed f32 (...)`
std::string describe(const PrecisionRecord &record);

} // namespace divisi

#endif // DIVISI_PRECISION_PRECISION_H
