//===- RowValues.h - The values of a row program ----------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed of some elements of a row that are done at a time: those of
// a vector, or the one that a thread has. Where they lie, and how a row is cut
// into them, is decided elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_ROWVALUES_H
#define DIVISI_LIB_CODEGEN_ROWVALUES_H

#include "lib/Codegen/RowProgram.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace divisi {

/// Where the elements of a call lie. A `mask` may be null, then all elements
/// are meant.
class ElementMemory {
public:
  virtual ~ElementMemory() = default;
  /// The elements of a row, as a float like `type`.
  virtual mlir::Value columns(mlir::Type type) = 0;
  /// Of a tensor that does not move along the row: its element.
  virtual mlir::Value loadStill(int tensor) = 0;
  /// Of another one: what is at `column`.
  virtual mlir::Value load(int tensor, mlir::Value column,
                           mlir::Value mask) = 0;
  /// Writes the results of the call.
  virtual void storeResults(mlir::ValueRange values, mlir::Value column,
                            mlir::Value mask) = 0;
  /// Whether there are rows of scratch memory.
  virtual bool keepsRows() const = 0;
  /// What is at `column` of a row of scratch memory.
  virtual mlir::Value loadKept(int row, mlir::Value column) = 0;
  virtual void storeKept(int row, mlir::Value value, mlir::Value column) = 0;
};

/// Emits the values of a row, pass by pass.
class RowValues {
public:
  /// Some elements of the row.
  struct Block {
    mlir::Value column;                   ///< Of the first one.
    mlir::Value mask;                     ///< Null: it has all elements.
    std::vector<mlir::Value> values = {}; ///< Per node, what has been made.
  };

  /// Values are like `type`: f32, or vectors of it.
  RowValues(mlir::ImplicitLocOpBuilder &builder, const RowProgram &program,
            ElementMemory &memory, mlir::Type type)
      : b_(builder), program_(program), memory_(memory), type_(type),
        still_(program.nodes.size()) {}

  /// What is the same for the whole row, and known before `pass`.
  void emitStill(int pass);
  /// Says what a reduction has come to.
  void setStill(int reduction, mlir::Value value) { still_[reduction] = value; }
  /// What `pass` does with the block: the reductions that end it go on from
  /// `sums`, in their order, to those that are returned; in the last pass
  /// results are stored. All that the block reads is loaded before: a result
  /// may lie where an operand does.
  mlir::SmallVector<mlir::Value> emitBlock(int pass, Block block,
                                           mlir::ValueRange sums);
  /// `sum` with `value`, where `mask` has elements.
  mlir::Value combine(const RowProgram::Node &reduction, mlir::Value sum,
                      mlir::Value value, mlir::Value mask);
  /// What a reduction of nothing is.
  mlir::Value neutral(const RowProgram::Node &reduction);

private:
  mlir::Value valueOf(int number, int pass, Block &block);
  mlir::Type floatType(const RowProgram::Node &node);
  mlir::Value call(const RowProgram::Node &node, mlir::ValueRange operands);

  mlir::ImplicitLocOpBuilder &b_;
  const RowProgram &program_;
  ElementMemory &memory_;
  mlir::Type type_;
  std::vector<mlir::Value> still_; ///< Per node.
};

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_ROWVALUES_H
