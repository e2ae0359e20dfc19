//===- HostSteps.h - Steps of the host, by another communicator -*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_NCCL_HOSTSTEPS_H
#define DIVISI_RUNTIME_COMM_NCCL_HOSTSTEPS_H

#include "divisi/runtime/comm/Communicator.h"

namespace divisi::rt::nccl {

/// Leaves to `inner` what is done in the host's memory.
class HostSteps : public Communicator {
public:
  /// Of what `inner` connects.
  explicit HostSteps(std::shared_ptr<Communicator> inner)
      : inner_(std::move(inner)) {}

  bool sendsMessages() const override { return inner_->sendsMessages(); }
  Expected<std::unique_ptr<CommStep>> prepare(const StepDesc &step,
                                              size_t self) override {
    return inner_->prepare(step, self);
  }
  void wait(std::span<CommStep *const> steps) override { inner_->wait(steps); }
  void abort(const Status &reason) override { inner_->abort(reason); }
  void reset() override { inner_->reset(); }

protected:
  Communicator &inner() const { return *inner_; }

private:
  std::shared_ptr<Communicator> inner_;
};

} // namespace divisi::rt::nccl

#endif // DIVISI_RUNTIME_COMM_NCCL_HOSTSTEPS_H
