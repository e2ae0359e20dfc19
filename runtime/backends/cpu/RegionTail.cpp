//===- RegionTail.cpp - What is left behind a primitive -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/RegionTail.h"

#include <algorithm>

namespace divisi::rt::cpu {

RegionTail::RegionTail(const CallSite &call, size_t done)
    : operands(call.operands.begin(), call.operands.end()),
      constants(call.constants.begin(), call.constants.end()), site(call) {
  auto made = int(operands.size()), taken = int(done);
  operands.push_back(call.results[0]);
  constants.resize(constants.empty() ? 0 : operands.size());
  // The result of the last operator that is done is an operand here.
  auto renumber = [&](std::vector<int> &values) {
    for (int &value : values) {
      value -= value >= made ? taken - 1 : 0;
    }
  };
  region.parts.assign(call.region->parts.begin() + taken,
                      call.region->parts.end());
  region.results = call.region->results;
  renumber(region.results);
  for (RegionPart &part : region.parts) {
    renumber(part.operands);
  }
  site.operands = operands;
  site.constants = constants;
  site.region = &region;
  kernel = cpuBackend().find(site);
  auto isInPlace = [&](std::pair<int, int> pair) {
    return pair == std::pair(made, 0);
  };
  if (kernel) {
    KernelQuery query = kernel->query(site);
    kernel = std::any_of(query.inPlace.begin(), query.inPlace.end(), isInPlace)
                 ? kernel
                 : nullptr;
  }
}

} // namespace divisi::rt::cpu
