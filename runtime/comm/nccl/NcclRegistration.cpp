//===- NcclRegistration.cpp - Ranks register memory together --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclRank.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::nccl;

/// With the communicators of `groups`, which are new: with each by all of its
/// ranks, or by none. All of `ranks` call it. (NCCL User Guide, "User Buffer
/// Registration": if one rank of a communicator passes registered buffers, all
/// have to.)
Status NcclRank::registerMemory(uint32_t entry, std::span<const uint32_t> ranks,
                                const std::vector<Group> &groups) {
  if (groups.empty()) { // on all of them
    return {};
  }
  std::vector<int64_t> own(groups.size(), 1);
  std::vector<Status> refused(groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    if (std::ranges::find(groups[g], number_) != groups[g].end()) {
      refused[g] = buffers_->add(cliques_.at(groups[g]).communicator);
      own[g] = refused[g].isOk();
    }
  }
  StepDesc names;
  names.entry = firstOwnEntry + entry;
  names.tag = 3;
  names.location = "the rendezvous of GPUs";
  auto all = gather(names, own, ranks);
  if (!all) {
    return all.status();
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    if (std::ranges::find(groups[g], number_) == groups[g].end()) {
      continue;
    }
    bool isTaken = true;
    for (size_t at = g; at < all->size(); at += groups.size()) {
      isTaken &= (*all)[at] != 0;
    }
    if (!isTaken) {
      buffers_->remove(cliques_.at(groups[g]).communicator);
      refusal_ = refused[g].isOk() ? "that of another device could not be"
                                   : refused[g].message();
    }
    ++(isTaken ? numRegistered_ : numRefused_);
  }
  describeRegistration();
  return {};
}

void NcclRank::describeRegistration() {
  size_t all = numRegistered_ + numRefused_;
  if (all == 0) {
    return;
  }
  std::string pieces = numRegistered_ == 0 ? std::string("none")
                       : buffers_->count() == 1
                           ? std::string("1 piece")
                           : std::to_string(buffers_->count()) + " pieces";
  registration_ = "NCCL has registered " + pieces + " of its memory";
  if (numRegistered_ != 0 && numRefused_ != 0) {
    registration_ += ", but not with " + std::to_string(numRefused_) + " of " +
                     std::to_string(all) + " communicators";
  }
  registration_ += numRefused_ == 0 ? "" : ": " + refusal_;
}
