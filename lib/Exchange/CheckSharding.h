//===- CheckSharding.h - Whether shardings make sense -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_EXCHANGE_CHECKSHARDING_H
#define DIVISI_LIB_EXCHANGE_CHECKSHARDING_H

#include "divisi/Import/DeviceAnnotations.h"

namespace divisi {

/// A sharding by dimensions and devices.
struct ResolvedSharding {
  /// Per dimension of the tensor its factors, all extents known.
  std::vector<std::vector<FactorSharding>> dims;
  /// Per device of those that hold the tensor, in their order, and per factor
  /// of all dimensions, which shard it has.
  std::vector<std::vector<int64_t>> shards;
};

/// `sharding` of a tensor of `shape`, on the devices from `first` on, of which
/// there are `count`. `numDevices` are all. Messages begin with `where`, the
/// node. Fails with Invalid for what contradicts itself, with Unsupported for
/// a tensor that some of these devices do not hold.
Expected<ResolvedSharding> resolveSharding(const TensorSharding &sharding,
                                           const std::vector<int64_t> &shape,
                                           int64_t numDevices, int64_t first,
                                           int64_t count,
                                           const std::string &where);

} // namespace divisi

#endif // DIVISI_LIB_EXCHANGE_CHECKSHARDING_H
