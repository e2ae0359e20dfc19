//===- ExpectedOutputs.h - What a check expects of an entry -----*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where only the run knows how many rows an output has, the entry gives as many
// as there can be, and one more output counts them (Import/RowCounts.h). Who
// has run the model elsewhere has neither zeros behind the rows nor a count:
//
//   entry                               expected
//   y: i64[3, 12], y.count: i64[]       y: i64[3, 5]
//
// So such a count may be left out, and the rows of `y` that count are compared.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_DRIVER_EXPECTEDOUTPUTS_H
#define DIVISI_LIB_DRIVER_EXPECTEDOUTPUTS_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/core/Session.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace divisi {

/// What is expected, by which outputs of an entry it is compared.
class ExpectedOutputs {
public:
  ExpectedOutputs() = default;
  /// `tensors` are of all outputs of `entry`, in order.
  ExpectedOutputs(const rt::EntryInfo &entry,
                  std::vector<rt::HostTensor> tensors);
  /// Those of the files `arguments`. Fails as readTensorArguments and
  /// rt::arrangeOutputs do.
  static Expected<ExpectedOutputs> read(llvm::ArrayRef<std::string> arguments,
                                        const rt::EntryInfo &entry);

  /// The outputs that are compared, of the shapes that are expected.
  const std::vector<rt::ValueInfo> &outputs() const { return outputs_; }
  /// What is expected of each.
  const std::vector<rt::HostTensor> &tensors() const { return tensors_; }
  /// Of `all` that the entry has given, what is compared with each: where a
  /// count is left out, the rows that count.
  Expected<std::vector<rt::HostTensor>>
  choose(const std::vector<rt::HostTensor> &all) const;

private:
  /// Where one of the outputs comes from.
  struct Source {
    size_t output = 0;           ///< Of the entry.
    std::optional<size_t> count; ///< The output that counts its rows.
  };

  std::vector<rt::ValueInfo> outputs_;
  std::vector<rt::HostTensor> tensors_;
  std::vector<Source> sources_;
};

} // namespace divisi

#endif // DIVISI_LIB_DRIVER_EXPECTEDOUTPUTS_H
