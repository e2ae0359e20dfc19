//===- RowCall.h - A call by rows -------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arguments of compiled regions. Of a region that begins with `nn.concat`
// the rest is called for each of the joined operands: code takes any extents
// and strides, so it needs no knowledge of that.
//
//   concat %a, %b, mul %s     %a [8, 3], %b [8, 5], %s [8]
//     the region    mul %joined, %s
//     two pieces    of 3 and of 5 columns of a result of 8
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CODE_ROWCALL_H
#define DIVISI_RUNTIME_CODE_ROWCALL_H

#include "divisi/runtime/code/RowNest.h"

namespace divisi::rt {

/// See the file's head.
class RowCall {
public:
  /// A part of the results.
  struct Piece {
    /// Per tensor of the nest: which operand of the call, or, from their number
    /// on, which result ...
    std::vector<int> tensors;
    std::vector<int64_t> begins; ///< ... from where on, in bytes.
    RowNest nest;                ///< With its extents and strides.
  };

  /// That of `site`, which has a region or is one operator; nothing if it has
  /// none: see RowNest::of.
  static std::optional<RowCall> of(const CallSite &site);

  /// The call that there is code of: operands that are joined are one. It lives
  /// as long as this object stays where it is.
  CallSite site() const;
  /// Its nest.
  const RowNest &nest() const { return nest_; }
  /// What is to be done, in any order.
  std::vector<Piece> pieces() const;
  /// The tensor of the nest that is operand `number` of the call; -1 for one
  /// that is joined with others.
  int tensorOf(int number) const;

private:
  bool join(const CallSite &site);

  Region region_;
  Attributes attributes_;
  std::vector<TensorInfo> operands_, results_;
  std::vector<int> numbers_;     ///< Per operand that of the call; -1: joined.
  int numOperands_ = 0;          ///< Of the call.
  std::vector<int> joined_;      ///< Which of them; one may be so twice.
  std::vector<int64_t> extents_; ///< Of these, along `axis_`.
  int64_t axis_ = -1;
  RowNest nest_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CODE_ROWCALL_H
