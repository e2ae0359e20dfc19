//===- CallSites.h - Calls as kernels see them ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which kernel takes a call is decided when the artifact is loaded, by each
// rank for the boxes that it has. Passes ask the same before, for all of them:
//
//   exec.call "nn.conv"(%x, %w) into (%y)      ranks [0, 1, 2]
//     site of ranks 0, 1: [4, 64, 8, 8] …
//     site of rank 2:     [3, 64, 8, 8] …
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_CALLSITES_H
#define DIVISI_PASSES_LOWER_CALLSITES_H

#include "dialects/Exec/Exec.h"
#include "divisi/runtime/kernels/Kernel.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

#include <memory>
#include <optional>
#include <vector>

namespace divisi {

/// What the reference kernel says about `call`, whatever a rank has of it; as
/// queryKernel(). It runs no code.
std::optional<rt::KernelQuery> queryCall(exec::CallOp call);

/// An operand of a call and a result that may lie over it, by number.
using InPlace = std::pair<int, int>;

/// Whether `call`, whose kernel allows `inPlace`, may write `result` over the
/// one operand for which `isOld` holds.
bool mayWriteOver(exec::CallOp call, llvm::ArrayRef<InPlace> inPlace,
                  mlir::Value result,
                  llvm::function_ref<bool(mlir::Value)> isOld);

/// Whether `module` is for the kernels of this build, which may be asked. Tells
/// of a cluster that cannot be read, and fails.
mlir::FailureOr<bool> asksHostKernels(mlir::ModuleOp module);

/// The globals that some program of `module` updates.
llvm::StringSet<> updatedGlobals(mlir::ModuleOp module);

/// Calls `change` for each program of a module that asksHostKernels(), with the
/// globals that the module updates; returns the sum of what that returns.
mlir::FailureOr<int64_t> changeHostPrograms(
    mlir::ModuleOp module,
    llvm::function_ref<int64_t(exec::ProgramOp, const llvm::StringSet<> &)>
        change);

/// The call sites of one program, which stays as it is but for what calls say
/// of themselves.
class CallSites {
public:
  /// Of `program`, in a module that updates the globals `updated`.
  CallSites(exec::ProgramOp program, const llvm::StringSet<> &updated)
      : program_(program), updated_(updated) {}

  /// What a kernel answers; false: nothing more is asked.
  using Ask = llvm::function_ref<bool(const rt::CallSite &site, int version)>;

  /// Asks for every rank that `call` makes something on, of equal extents once,
  /// about the kernel's version that is called. Whether all was answered with
  /// true, and kernels can see the element types.
  bool all(exec::CallOp call, Ask ask);
  /// Whether a library of the host has one kernel for `call`, on all ranks.
  bool haveLibrary(exec::CallOp call);
  /// What the kernel of `call` allows to lie over operands: with the host the
  /// reference kernel, in the memory of `device` its own on every rank; nothing
  /// where there is none.
  std::vector<InPlace> inPlace(exec::CallOp call, const rt::Backend *device);
  /// What the answers depend on, beside the program.
  mlir::Attribute keyOf(exec::CallOp call) const;
  /// Whether a session sees a constant: one, or a global that nobody updates.
  bool isConstant(mlir::Value buffer) const;

private:
  /// What each rank has of a tensor.
  struct Boxes {
    std::vector<rt::TensorInfo> infos; ///< Per rank its box.
    std::vector<uint32_t> first;       ///< Per rank the first of its extents.
  };

  const Boxes *boxesOf(exec::BufferType type);

  exec::ProgramOp program_;
  const llvm::StringSet<> &updated_;
  llvm::DenseMap<exec::BufferType, std::unique_ptr<Boxes>> boxes_;
};

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_CALLSITES_H
