//===- EmitElements.h - Operators that are elements of threads --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_CODEGEN_EMITELEMENTS_H
#define DIVISI_LIB_CODEGEN_EMITELEMENTS_H

#include "divisi/runtime/code/GridColumns.h"
#include "divisi/runtime/code/GridConvolution.h"
#include "divisi/runtime/code/GridLines.h"
#include "divisi/runtime/code/GridPlaces.h"
#include "divisi/runtime/code/GridProduct.h"
#include "divisi/runtime/code/GridScatter.h"
#include "divisi/runtime/code/GridWindows.h"

#include "mlir/IR/BuiltinOps.h"

namespace divisi {

/// The kernels of these plans, in the mapped form (EmitGrid.h). Elements, and
/// sums of them, are computed as the reference does; floats are summed in the
/// order of the taps of a window, and of the parts of a line.
void emitKernel(mlir::ModuleOp module, const rt::GridPool &pool);
void emitKernel(mlir::ModuleOp module, const rt::GridResample &resample);
void emitKernel(mlir::ModuleOp module, const rt::GridColumns &columns);
void emitKernel(mlir::ModuleOp module, const rt::GridConvolution &convolution);
void emitKernel(mlir::ModuleOp module, const rt::GridCumulate &cumulate);
void emitKernel(mlir::ModuleOp module, const rt::GridPick &pick);
void emitKernel(mlir::ModuleOp module, const rt::GridIota &iota);
void emitKernel(mlir::ModuleOp module, const rt::GridProduct &product);
void emitKernel(mlir::ModuleOp module, const rt::GridRotary &rotary);
void emitKernel(mlir::ModuleOp module, const rt::GridScatter &scatter);
void emitKernel(mlir::ModuleOp module, const rt::GridInsert &insert);

} // namespace divisi

#endif // DIVISI_LIB_CODEGEN_EMITELEMENTS_H
