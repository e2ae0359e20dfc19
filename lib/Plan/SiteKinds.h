//===- SiteKinds.h - Operators that are alike -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_PLAN_SITEKINDS_H
#define DIVISI_LIB_PLAN_SITEKINDS_H

#include "divisi/Plan/Dataflow.h"

#include "mlir/IR/Operation.h"

#include <map>

namespace divisi::plan {

/// Numbers the kinds of a program's sites in the order of their first mention.
class SiteKinds {
public:
  /// The kind of `site`, which is whole but for it and was read from `op`.
  unsigned of(const Site &site, mlir::Operation *op);

private:
  std::map<std::string, unsigned> known_;
};

} // namespace divisi::plan

#endif // DIVISI_LIB_PLAN_SITEKINDS_H
