//===- TorchNames.h - Parameters by PyTorch's names -------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EXCHANGE_TORCHNAMES_H
#define DIVISI_LIB_EXCHANGE_TORCHNAMES_H

#include "divisi/Import/ModelOutline.h"

#include <map>
#include <string>

namespace divisi {

/// A parameter of a module.
struct TorchParameter {
  std::string name;          ///< `h.0.fc.weight`.
  bool isTransposed = false; ///< The model has rows as columns.
  bool isCopy = false;       ///< An initializer has this name already.
};

/// By the names of initializers, those that are called otherwise in PyTorch:
/// the exporter transposes weights of linear layers and gives them numbers, but
/// notes which call they are for.
std::map<std::string, TorchParameter>
torchParameters(const ModelOutline &outline);

/// The name of PyTorch's call that became `node`, `linear_1`; empty if nothing
/// says it.
std::string torchNameOf(const OutlineNode &node);

} // namespace divisi

#endif // DIVISI_LIB_EXCHANGE_TORCHNAMES_H
