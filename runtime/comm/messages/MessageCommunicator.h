//===- MessageCommunicator.h - Ranks that send messages ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_MESSAGES_MESSAGECOMMUNICATOR_H
#define DIVISI_RUNTIME_COMM_MESSAGES_MESSAGECOMMUNICATOR_H

#include "runtime/comm/messages/MessageWorld.h"

namespace divisi::rt {

/// See MessageWorld.h.
class MessageCommunicator : public Communicator {
public:
  /// Of `link`; `processOf` says for each rank which process has it. `world`
  /// must outlive it.
  MessageCommunicator(MessageWorld &world, std::shared_ptr<Link> link,
                      std::vector<uint32_t> processOf,
                      std::chrono::milliseconds timeout,
                      std::chrono::microseconds spin)
      : world_(world), link_(std::move(link)), processOf_(std::move(processOf)),
        timeout_(timeout), spin_(spin) {}

  bool sendsMessages() const override { return true; }
  Expected<std::unique_ptr<CommStep>> prepare(const StepDesc &step,
                                              size_t self) override;
  void wait(std::span<CommStep *const> steps) override;
  void abort(const Status &reason) override { world_.abort(*link_, reason); }
  void reset() override { link_->aborts.clear(); }

private:
  MessageWorld &world_;
  std::shared_ptr<Link> link_;
  std::vector<uint32_t> processOf_; ///< By rank.
  std::chrono::milliseconds timeout_;
  std::chrono::microseconds spin_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_MESSAGES_MESSAGECOMMUNICATOR_H
