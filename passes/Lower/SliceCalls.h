//===- SliceCalls.h - Views of some bytes as calls --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice that is a view is one of row-major bytes. Whoever chooses formats
// lets it be a call meanwhile, which takes others:
//
//   %v = exec.view %x at 256    →    %v = exec.alloc
//                                    exec.call "nn.slice"(%x) into (%v)
//
// and makes those views again that it has left row-major.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_PASSES_LOWER_SLICECALLS_H
#define DIVISI_PASSES_LOWER_SLICECALLS_H

#include "dialects/Exec/Exec.h"

#include "llvm/ADT/SmallVector.h"

#include <utility>

namespace divisi {

/// See the file's head.
class SliceCalls {
public:
  /// Makes calls of the views of `program` that show some bytes of a tensor of
  /// at least three dimensions which lies in the host's arena or is an input.
  explicit SliceCalls(exec::ProgramOp program);

  /// Makes views of those whose operand and result are row-major.
  void restore();

private:
  /// Each with the offset of its view.
  llvm::SmallVector<std::pair<exec::CallOp, mlir::IntegerAttr>> calls_;
};

} // namespace divisi

#endif // DIVISI_PASSES_LOWER_SLICECALLS_H
