//===- Evaluator.h - Run nn functions by the reference kernels --*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks a function of `nn` operators on whole tensors, one operator at a time,
// each by its reference kernel: what `@init` means, and what any plan has to
// reproduce.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_EVALUATE_EVALUATOR_H
#define DIVISI_EVALUATE_EVALUATOR_H

#include "divisi/Support/GlobalStore.h"
#include "divisi/runtime/kernels/Attributes.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace divisi {

/// The MLIR form of an element type: signless integers, i1 for bool.
mlir::Type toMLIRType(mlir::MLIRContext *context, rt::DType type);
/// The way back; nothing for a type that is not one of ours.
std::optional<rt::DType> fromMLIRType(mlir::Type type);

/// The constant, which is not of the field, as an attribute: one element if it
/// is a splat.
mlir::DenseElementsAttr toDenseAttr(mlir::MLIRContext *context,
                                    const rt::HostTensor &tensor);
/// The way back, converted to `type` if that is given. Fails with Unsupported
/// for element types that are not ours, with Device when memory runs out.
Expected<rt::HostTensor> fromDenseAttr(mlir::DenseElementsAttr attribute,
                                       std::optional<rt::DType> type = {});

/// The attributes of an operator as its kernel gets them: its own ones without
/// symbols, not the discardable ones.
rt::Attributes toRuntimeAttributes(mlir::Operation *op);
/// The same of attributes that stand alone, as in exec.call.
rt::Attributes toRuntimeAttributes(mlir::DictionaryAttr config);

/// One operator by its reference kernel. Fails with Unsupported where there is
/// none for the types.
Expected<rt::HostTensor> evaluateOp(const std::string &op,
                                    const rt::Attributes &attributes,
                                    const std::vector<rt::HostTensor> &operands,
                                    rt::DType type, rt::Dims dims);

/// The values of globals, by name, read from where the module says they lie
/// when first asked for.
class GlobalValues {
public:
  /// Of the globals of `module`, whose bytes `store` has; both outlive this.
  GlobalValues(mlir::ModuleOp module, GlobalStore &store)
      : module_(module), store_(store) {}

  /// The value now. Fails with Invalid for a global that is not declared, or
  /// derived and not yet computed.
  Expected<rt::HostTensor> read(const std::string &name);
  /// Gives the global a value, which read() returns from now on.
  void write(const std::string &name, rt::HostTensor value);

private:
  mlir::ModuleOp module_;
  GlobalStore &store_;
  std::map<std::string, rt::HostTensor> values_;
};

/// Runs `function` on `inputs` and returns its results. Reads see the globals
/// at entry; updates are written when it ends. Fails with Usage for inputs
/// that do not fit the signature.
Expected<std::vector<rt::HostTensor>>
evaluateFunction(mlir::func::FuncOp function,
                 const std::vector<rt::HostTensor> &inputs,
                 GlobalValues &globals);

} // namespace divisi

#endif // DIVISI_EVALUATE_EVALUATOR_H
