//===- ExternalData.h - Tensors in files beside the model -------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_EXTERNALDATA_H
#define DIVISI_LIB_IMPORT_EXTERNALDATA_H

#include "divisi/Support/GlobalStore.h"

#include <map>
#include <optional>
#include <string>

namespace divisi {

/// Opens the files that a model's tensors name. A name is resolved by the
/// system beneath the model's folder: neither `..`, nor an absolute path, nor
/// a symbolic link leads out of it. Of a model that is a symbolic link, the
/// data may also be one, to beneath the folder of the model's own file: so the
/// cache of the Hugging Face hub keeps both.
class ExternalData {
public:
  /// Of the model in the file `modelPath`, or in the working directory if
  /// `store` has its bytes in memory; `store` gets the mappings.
  ExternalData(const std::string &modelPath, GlobalStore &store);

  /// Where the data of `tensor` lies, given the key-value pairs of its
  /// external_data. `bytes` is what its type and shape need. A file that is not
  /// there is only an error for whoever asks the store for its bytes. Fails
  /// with File or Invalid.
  Expected<ByteRange> locate(const std::string &tensor,
                             const std::map<std::string, std::string> &entries,
                             int64_t bytes);

private:
  Expected<std::string> open(const std::string &tensor,
                             const std::string &location);

  Expected<std::optional<MappedFile>> find(const std::string &location) const;

  std::string modelPath_;
  std::string folder_;
  GlobalStore &store_;
  std::map<std::string, std::string> opened_; ///< location → name in store_
};

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_EXTERNALDATA_H
