//===- Channel.cpp - Messages between the compiler and its host -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/C/Channel.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>

using namespace divisi;

/// Of a length on the wire.
static constexpr uint64_t kLength = sizeof(uint64_t);

static uint64_t readLength(const char *bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes, kLength);
  return length;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

Frame::~Frame() { std::free(bytes_); }

bool Frame::allocate(uint64_t size) {
  std::free(bytes_);
  bytes_ = static_cast<char *>(std::malloc(std::max<uint64_t>(size, 1)));
  size_ = bytes_ ? size : 0;
  return bytes_ != nullptr;
}

/// Whether it consists of texts.
bool Frame::isWhole() const {
  uint64_t at = 0;
  while (size_ - at > kLength) {
    uint64_t length = readLength(bytes_ + at);
    if (length >= size_ - at - kLength || bytes_[at + kLength + length] != 0) {
      return false;
    }
    at += kLength + length + 1;
  }
  return at == size_;
}

std::string_view Frame::operator[](size_t index) const {
  uint64_t at = 0;
  for (; at < size_; --index) {
    uint64_t length = readLength(bytes_ + at);
    if (index == 0) {
      return {bytes_ + at + kLength, size_t(length)};
    }
    at += kLength + length + 1;
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Receiving and sending
//===----------------------------------------------------------------------===//

Expected<Inbox::News> Inbox::receive(int descriptor) {
  while (true) {
    uint64_t size = isBegun_ ? frame_.size_ : kLength;
    if (have_ == size) {
      have_ = 0;
      if (std::exchange(isBegun_, !isBegun_)) {
        return frame_.isWhole()
                   ? Expected<News>(News::Frame)
                   : makeError(ExitCode::Internal, "a message is broken");
      }
      uint64_t length = readLength(length_);
      if (length > most_) {
        return makeError(ExitCode::Internal, "a message has ", length,
                         " bytes, expected at most ", most_);
      }
      if (!frame_.allocate(length)) {
        return makeError(ExitCode::Device,
                         "there is no memory for an answer of ", length,
                         " bytes");
      }
      continue;
    }
    char *to = isBegun_ ? frame_.bytes_ : length_;
    ssize_t got = recv(descriptor, to + have_, size - have_, MSG_DONTWAIT);
    if (got > 0) {
      have_ += uint64_t(got);
    } else if (got == 0) {
      return News::End;
    } else if (errno == EAGAIN) {
      return News::Nothing;
    } else if (errno != EINTR) {
      // The other side has ended with messages that it had not taken.
      return News::End;
    }
  }
}

/// Sends all of `parts`.
static bool sendAll(int descriptor, iovec *parts, size_t count, int flags) {
  while (count > 0) {
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    ssize_t sent = sendmsg(descriptor, &message, MSG_NOSIGNAL | flags);
    if (sent < 0 && errno != EINTR) {
      return false;
    }
    for (size_t rest = sent < 0 ? 0 : size_t(sent); count > 0;) {
      size_t taken = std::min(rest, parts->iov_len);
      parts->iov_base = static_cast<char *>(parts->iov_base) + taken;
      parts->iov_len -= taken;
      rest -= taken;
      if (parts->iov_len > 0) {
        break;
      }
      ++parts;
      --count;
    }
  }
  return true;
}

Status divisi::sendFrame(int descriptor,
                         std::initializer_list<std::string_view> texts,
                         bool atOnce) {
  constexpr size_t most = 8;
  std::array<uint64_t, most + 1> lengths{};
  std::array<iovec, 3 * most + 1> parts{};
  size_t count = 0;
  auto put = [&](const void *bytes, size_t size) {
    parts[count++] = {const_cast<void *>(bytes), size};
  };
  assert(texts.size() <= most);
  put(lengths.data(), kLength);
  for (size_t i = 0; std::string_view text : texts) {
    lengths[++i] = text.size();
    lengths[0] += kLength + text.size() + 1;
    put(&lengths[i], kLength);
    put(text.data(), text.size());
    put("", 1);
  }
  if (!sendAll(descriptor, parts.data(), count, atOnce ? MSG_DONTWAIT : 0)) {
    return makeError(ExitCode::Device,
                     "cannot send a message: ", std::strerror(errno));
  }
  return Status();
}
