//===- TensorLabels.h - Which tensor is which input -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors that a user gives have names, or a place among others, or both:
//
//   x.npz of numpy.savez(f, x=..., mask=...)   names
//   x.npy                                      a place: no name
//   numpy.savez(f, a, b), input_0.pb ...       numbers, perhaps with names
//
// One rule says which input each is. A name is the input's. Numbered tensors go
// by their names if every one of them is an input's, else by their places.
// Tensors with a place alone take the inputs that are not named, in order.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_TENSORS_TENSORLABELS_H
#define DIVISI_RUNTIME_TENSORS_TENSORLABELS_H

#include "divisi/Support/Status.h"

#include <span>
#include <string>
#include <vector>

namespace divisi::rt {

/// What a tensor is called where it comes from.
struct TensorLabel {
  std::string name;        ///< Empty: it has none.
  bool isNumbered = false; ///< It also has a number among others.
};

/// An input, or an output, that tensors are given for.
struct TensorSlot {
  std::string name;  ///< Unique among its neighbours.
  std::string shape; ///< `f32[2, 3]`, for messages.
};

/// The slot of each label, by the rule above. One failure of `code` says all
/// that is wrong: names that are no slot's, two tensors for one slot, more
/// tensors than slots, and, if `needsAll`, slots without a tensor. `whose` is
/// "inputs of entry 'forward'".
Expected<std::vector<size_t>> matchLabels(std::span<const TensorLabel> labels,
                                          std::span<const TensorSlot> slots,
                                          const std::string &whose,
                                          ExitCode code, bool needsAll);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_TENSORS_TENSORLABELS_H
