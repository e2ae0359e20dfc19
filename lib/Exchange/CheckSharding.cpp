//===- CheckSharding.cpp - Whether shardings make sense -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckSharding.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace divisi;

namespace {

/// Resolves one sharding. One use.
class ShardingResolver {
public:
  ShardingResolver(const TensorSharding &sharding,
                   const std::vector<int64_t> &shape, std::string where)
      : sharding_(sharding), shape_(shape), where_(std::move(where)) {}

  Status readDims();
  Status readDevices(int64_t numDevices, int64_t first, int64_t count);
  ResolvedSharding take() { return std::move(result_); }

private:
  Status readDim(const DimSharding &dim);
  template <typename... Parts> Status invalid(const Parts &...parts) const {
    return makeError(ExitCode::Invalid, where_, parts..., " of '",
                     sharding_.tensor, "'");
  }

  const TensorSharding &sharding_;
  const std::vector<int64_t> &shape_;
  std::string where_;
  ResolvedSharding result_;
  /// In the order in which shards are numbered: the number of the factor.
  std::vector<std::pair<size_t, size_t>> order_;
};

} // namespace

Status ShardingResolver::readDim(const DimSharding &dim) {
  int64_t rank = int64_t(shape_.size());
  int64_t axis = dim.axis < 0 ? dim.axis + rank : dim.axis;
  if (axis < 0 || axis >= rank) {
    return invalid("it shards axis ", dim.axis, ", expected one of the ", rank,
                   " dimensions");
  }
  auto &factors = result_.dims[size_t(axis)];
  if (!factors.empty()) {
    return invalid("it shards axis ", axis, " twice,");
  }
  int64_t extent = shape_[size_t(axis)], product = 1;
  for (FactorSharding factor : dim.factors) {
    if (factor.extent == 0 && dim.factors.size() == 1) {
      factor.extent = extent;
    }
    if (factor.shards < 1 || factor.shards > factor.extent) {
      return invalid("it divides ", factor.extent, " elements into ",
                     factor.shards, " shards, along axis ", axis);
    }
    if (factor.extent > extent / product) {
      product = 0;
      break;
    }
    product *= factor.extent;
    factors.push_back(factor);
    order_.emplace_back(size_t(axis), factors.size() - 1);
  }
  return product == extent ? Status()
                           : invalid("its factors do not make up the ", extent,
                                     " elements along axis ", axis);
}

Status ShardingResolver::readDims() {
  result_.dims.resize(shape_.size());
  for (const DimSharding &dim : sharding_.dims) {
    if (Status status = readDim(dim); !status.isOk()) {
      return status;
    }
  }
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    if (result_.dims[axis].empty()) {
      result_.dims[axis] = {{shape_[axis], 1}};
    }
  }
  return {};
}

Status ShardingResolver::readDevices(int64_t numDevices, int64_t first,
                                     int64_t count) {
  std::map<std::pair<size_t, size_t>, size_t> numbers;
  for (size_t axis = 0; axis < result_.dims.size(); ++axis) {
    for (size_t i = 0; i < result_.dims[axis].size(); ++i) {
      numbers.emplace(std::pair(axis, i), numbers.size());
    }
  }
  int64_t shards = 1;
  for (auto [axis, i] : order_) {
    shards *= result_.dims[axis][i].shards;
  }
  if (int64_t(sharding_.devices.size()) != shards) {
    return invalid("it lists ", sharding_.devices.size(), " devices for ",
                   shards, " shards");
  }
  std::map<int64_t, std::vector<int64_t>> held;
  for (int64_t shard = 0; shard < shards; ++shard) {
    int64_t key = sharding_.devices[size_t(shard)];
    auto group = sharding_.groups.find(key);
    std::vector<int64_t> devices = group == sharding_.groups.end()
                                       ? std::vector<int64_t>{key}
                                       : group->second;
    std::vector<int64_t> of(numbers.size(), 0);
    int64_t left = shard;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      int64_t parts = result_.dims[at->first][at->second].shards;
      of[numbers[*at]] = left % parts;
      left /= parts;
    }
    for (int64_t device : devices) {
      if (device < 0 || device >= numDevices) {
        return invalid("there is no device ", device, " among ", numDevices,
                       ", which has a shard");
      }
      if (!held.emplace(device, of).second) {
        return invalid("device ", device, " has two shards");
      }
    }
  }
  for (auto &[device, of] : held) {
    result_.shards.push_back(std::move(of));
  }
  if (int64_t(held.size()) != count || held.begin()->first != first ||
      held.rbegin()->first != first + count - 1) {
    return makeError(ExitCode::Unsupported, where_, held.size(),
                     " devices hold '", sharding_.tensor, "', expected all of ",
                     first, " to ", first + count - 1,
                     ": operators on other parts of the devices are not "
                     "planned from annotations");
  }
  return {};
}

Expected<ResolvedSharding>
divisi::resolveSharding(const TensorSharding &sharding,
                        const std::vector<int64_t> &shape, int64_t numDevices,
                        int64_t first, int64_t count,
                        const std::string &where) {
  ShardingResolver resolver(sharding, shape, where);
  Status status = resolver.readDims();
  status =
      status.isOk() ? resolver.readDevices(numDevices, first, count) : status;
  return status.isOk() ? Expected(resolver.take()) : status;
}
