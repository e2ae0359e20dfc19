//===- WireScanner.h - Leave the weights in the file ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing a ModelProto copies every weight. So the file is first walked in its
// wire format (a sequence of fields: key, then a varint, 4 or 8 bytes, or a
// length and that many bytes), and written anew without the raw_data of large
// tensors; where they lie is kept beside it:
//
//   TensorProto {dims, data_type, raw_data: <4 MiB>, doc_string: "…"}
//   → TensorProto {dims, data_type, doc_string: "7"}  and locations[7]
//
// The scanner puts that doc_string into a tensor itself and drops every other,
// so that no file can forge it.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_WIRESCANNER_H
#define DIVISI_LIB_IMPORT_WIRESCANNER_H

#include "OnnxModel.h"

#include <span>
#include <string>
#include <vector>

namespace divisi {

/// A model without its large tensors.
struct SlimModel {
  /// Where the data of a tensor lies in the file, in bytes.
  struct Location {
    int64_t offset = 0, length = 0; ///< Within the file.
  };
  std::string bytes; ///< A ModelProto.
  std::vector<Location>
      locations; ///< In the file; by the number in doc_string.
};

/// Rewrites the ModelProto in `file`. `path` is for messages. Fails with
/// Invalid on anything that is no ModelProto within the limits.
Expected<SlimModel> scanModel(std::span<const std::byte> file,
                              const std::string &path,
                              const OnnxLimits &limits);

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_WIRESCANNER_H
