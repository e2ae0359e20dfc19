//===- Channel.h - Messages between the compiler and its host ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libdivisi_compiler starts `divisi-compiler serve` and talks with it through a
// pair of sockets. A message is a list of texts, the first of which says what
// it is:
//
//   from the host                       from the compiler
//     NUMBER plan                         hello PROTOCOL VERSION
//     NUMBER explain text|json            progress PHASE BEST BOUND
//     NUMBER dump STAGE                   note TEXT
//     NUMBER compile PATH                 warning TEXT
//     NUMBER set_split OPERATORS SPLIT    result CODE MESSAGE TEXT
//     NUMBER layouts OPERATORS
//     NUMBER cancel
//
// The compiler says hello, and the result of importing the model, by itself;
// then it gives one result for each request. `cancel` has none: it is about the
// request of that number, if that is still in progress. BEST and BOUND are
// nanoseconds, or -1.
//
// On the wire: the bytes of what follows, in 8 bytes; then each text with its
// length before it, in 8 bytes, and a 0 behind it. Both ends are of one machine
// and of one version of Divisi.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_C_CHANNEL_H
#define DIVISI_C_CHANNEL_H

#include "divisi-c/base.h"
#include "divisi/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace divisi {

/// The version of the messages; other programs of the compiler are refused.
inline constexpr std::string_view kChannelProtocol = "2";
/// The descriptor by which the compiler inherits its end.
inline constexpr int kChannelDescriptor = 3;
/// The most bytes that a host sends at once: they fit into the sockets, so that
/// it never waits for the compiler to take them.
inline constexpr uint64_t kMostRequestBytes = uint64_t(1) << 16;
/// The most bytes that the compiler sends at once.
inline constexpr uint64_t kMostAnswerBytes = uint64_t(1) << 36;
/// The code with which a compiler ends that the host has cancelled.
inline constexpr int kCancelledExit = DIVISI_CANCELLED;

/// A message that has come; movable.
class Frame {
public:
  Frame() = default;
  Frame(Frame &&other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  Frame &operator=(Frame &&other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Frame();

  /// The text of that number, which a 0 follows; empty if there are fewer. It
  /// lives as long as the message.
  std::string_view operator[](size_t index) const;

private:
  friend class Inbox;
  bool allocate(uint64_t size);
  bool isWhole() const;

  char *bytes_ = nullptr;
  uint64_t size_ = 0;
};

/// Puts frames together from what comes.
class Inbox {
public:
  /// What a call of receive has found.
  enum class News : uint8_t {
    Frame,   ///< One is whole: take it by frame().
    Nothing, ///< There is no more for now.
    End,     ///< The other side has closed the channel.
  };

  /// Takes messages of at most `most` bytes.
  explicit Inbox(uint64_t most) : most_(most) {}

  /// Takes what has come at `descriptor`, without waiting. Fails with Internal
  /// for what is no message, with Device if there is no memory for it.
  Expected<News> receive(int descriptor);
  /// The one that is whole.
  Frame &frame() { return frame_; }

private:
  uint64_t most_;
  uint64_t have_ = 0; ///< Of the length, then of the message.
  bool isBegun_ = false;
  char length_[8] = {};
  Frame frame_;
};

/// Sends one message to `descriptor`. Does not wait for the other side if
/// `atOnce`. Fails with Device; never by a signal.
Status sendFrame(int descriptor, std::initializer_list<std::string_view> texts,
                 bool atOnce);

} // namespace divisi

#endif // DIVISI_C_CHANNEL_H
