//===- SocketWire.h - A socket to each process ------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_SOCKETS_SOCKETWIRE_H
#define DIVISI_RUNTIME_COMM_SOCKETS_SOCKETWIRE_H

#include "runtime/comm/messages/Wire.h"
#include "runtime/comm/sockets/SocketPeer.h"

#include <poll.h>

namespace divisi::rt {

/// Of a socket; see Wire.h.
class SocketRequests : public Requests {
public:
  bool areDone() const override { return left_.empty(); }
  std::vector<size_t> parties() const override;

private:
  friend class SocketWire;
  struct Entry {
    int process;
    std::shared_ptr<Transfer> message;
  };
  std::vector<Entry> left_;
};

/// See the file's head. A process that ends fails what is sent to it and
/// awaited from it, and nothing else.
class SocketWire : public Wire {
public:
  /// Socket p is connected to process p; that of this process is none.
  SocketWire(int self, std::vector<Descriptor> sockets,
             std::vector<bool> isNeighbour);

  std::unique_ptr<Requests> makeRequests() const override {
    return std::make_unique<SocketRequests>();
  }
  Status send(int process, int tag, const std::byte *data, int64_t bytes,
              size_t party, Requests &requests) override;
  Status receive(int process, int tag, std::byte *data, int64_t bytes,
                 size_t party, Requests &requests) override;
  Status test(Requests &requests) override;
  void drop(Requests &requests) override;
  Status sendNote(int process, std::string note) override;
  Expected<std::string> takeNote() override;
  /// Waits for no process, but until sockets have taken what was sent.
  Status close(std::chrono::milliseconds timeout) override;

private:
  void look(int milliseconds);
  void sendToSelf(int tag, std::shared_ptr<Transfer> message);
  void receiveFromSelf(int tag, std::shared_ptr<Transfer> message);

  std::vector<SocketPeer> peers_;
  std::vector<pollfd> entries_; ///< Of look().
  std::deque<std::string> notes_;
  /// From this process to itself: what waits for the other end.
  ByTag<std::shared_ptr<Transfer>> sent_, wanted_;
};

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_SOCKETS_SOCKETWIRE_H
