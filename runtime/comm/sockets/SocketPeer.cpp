//===- SocketPeer.cpp - Messages along one socket -------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/sockets/SocketPeer.h"
#include "runtime/comm/messages/Wire.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/uio.h>
#include <utility>

using namespace divisi;
using namespace divisi::rt;

/// The longest message that may come before it is wanted.
static constexpr int64_t maxEarly = int64_t(64) << 10;
/// How much is read at a time of what has no place of its own.
static constexpr size_t stageBytes = size_t(64) << 10;
/// After so many bytes others have their turn.
static constexpr size_t turnBytes = size_t(4) << 20;

SocketPeer::SocketPeer(Descriptor socket)
    : socket_(std::move(socket)), staged_(stageBytes) {}

static void fail(ByTag<std::shared_ptr<Transfer>> &all) {
  for (auto &[tag, messages] : all) {
    for (const auto &message : messages) {
      message->state = Transfer::State::Failed;
    }
  }
  all.clear();
}

void SocketPeer::close() {
  socket_ = Descriptor();
  for (Outgoing &frame : outgoing_) {
    if (frame.message) {
      frame.message->state = Transfer::State::Failed;
    }
  }
  outgoing_.clear();
  if (incoming_) {
    incoming_->state = Transfer::State::Failed;
    incoming_.reset();
  }
  fail(asked_);
  fail(wanted_);
  fail(granted_);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void SocketPeer::send(int tag, std::shared_ptr<Transfer> message) {
  if (!isOpen()) {
    message->state = Transfer::State::Failed;
    return;
  }
  if (message->bytes <= maxEarly) {
    Head head{Kind::Data, tag, message->bytes};
    put(head, std::move(message));
    return;
  }
  asked_[tag].push_back(std::move(message));
  put({Kind::Ask, tag, 0}, nullptr);
}

void SocketPeer::receive(int tag, std::shared_ptr<Transfer> message) {
  Early early;
  if (takeFirst(early_, tag, early)) {
    if (early.isAsked) {
      grant(tag, std::move(message));
      return;
    }
    bool fits = int64_t(early.bytes.size()) == message->bytes;
    message->state = fits ? Transfer::State::Done : Transfer::State::Failed;
    if (fits && !early.bytes.empty()) {
      std::memcpy(message->target, early.bytes.data(), early.bytes.size());
    }
    return;
  }
  if (!isOpen()) {
    message->state = Transfer::State::Failed;
    return;
  }
  wanted_[tag].push_back(std::move(message));
}

void SocketPeer::grant(int tag, std::shared_ptr<Transfer> message) {
  if (!isOpen()) {
    message->state = Transfer::State::Failed;
    return;
  }
  granted_[tag].push_back(std::move(message));
  put({Kind::Go, tag, 0}, nullptr);
}

/// Whether it was there.
static bool erase(ByTag<std::shared_ptr<Transfer>> &all,
                  const std::shared_ptr<Transfer> &message) {
  for (auto next = all.begin(); next != all.end(); ++next) {
    if (std::erase(next->second, message) != 0) {
      if (next->second.empty()) {
        all.erase(next);
      }
      return true;
    }
  }
  return false;
}

/// Of a frame that has begun the rest has to follow: of what is sent it is
/// copied, and what is received is thrown away.
void SocketPeer::drop(const std::shared_ptr<Transfer> &message) {
  message->target = nullptr;
  if (erase(asked_, message) || erase(wanted_, message)) {
    return;
  }
  auto frame =
      std::find_if(outgoing_.begin(), outgoing_.end(),
                   [&](const Outgoing &one) { return one.message == message; });
  if (frame == outgoing_.end()) {
    return;
  }
  frame->own.assign(reinterpret_cast<const char *>(message->source),
                    size_t(message->bytes));
  frame->message.reset();
}

void SocketPeer::sendNote(std::string text) {
  if (isOpen()) {
    Head head{Kind::Note, 0, int64_t(text.size())};
    put(head, nullptr, std::move(text));
  }
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

const std::byte *SocketPeer::Outgoing::body() const {
  return message ? message->source
                 : reinterpret_cast<const std::byte *>(own.data());
}

void SocketPeer::put(Head head, std::shared_ptr<Transfer> message,
                     std::string own) {
  outgoing_.push_back({head, std::move(message), std::move(own)});
  if (outgoing_.size() == 1) {
    write();
  }
}

void SocketPeer::write() {
  while (!outgoing_.empty()) {
    Outgoing &frame = outgoing_.front();
    size_t headLeft = sizeof(Head) - std::min(frame.written, sizeof(Head));
    size_t bodyDone = frame.written - (sizeof(Head) - headLeft);
    iovec parts[2] = {
        {reinterpret_cast<std::byte *>(&frame.head) + sizeof(Head) - headLeft,
         headLeft},
        {const_cast<std::byte *>(frame.body()) + bodyDone,
         size_t(frame.head.bytes) - bodyDone}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t count =
        sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      if (errno != EAGAIN) {
        close();
      }
      return;
    }
    frame.written += size_t(count);
    if (frame.written == frame.size()) {
      if (frame.message) {
        frame.message->state = Transfer::State::Done;
      }
      outgoing_.pop_front();
    }
  }
}

void SocketPeer::end() {
  if (isOpen()) {
    shutdown(socket_.number(), SHUT_WR);
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Whether a frame may begin so.
bool SocketPeer::begin(const Head &head) {
  head_ = head;
  incoming_.reset();
  own_.clear();
  missing_ = 0;
  std::shared_ptr<Transfer> message;
  switch (head.kind) {
  case Kind::Note:
    if (head.bytes < 0 || head.bytes > int64_t(Wire::maxNote)) {
      return false;
    }
    missing_ = size_t(head.bytes);
    break;
  case Kind::Data:
    return beginData(head);
  case Kind::Ask:
    if (takeFirst(wanted_, head.tag, message)) {
      grant(head.tag, std::move(message));
    } else {
      early_[head.tag].push_back({true, {}});
    }
    break;
  case Kind::Go:
    // One that was called back meanwhile is not there.
    if (takeFirst(asked_, head.tag, message)) {
      int64_t bytes = message->bytes;
      put({Kind::Data, head.tag, bytes}, std::move(message));
    }
    break;
  default:
    return false;
  }
  return isOpen();
}

/// A long message has to be wanted, and a wanted one as long as it is.
bool SocketPeer::beginData(const Head &head) {
  if (head.bytes < 0) {
    return false;
  }
  bool isLong = head.bytes > maxEarly;
  if (takeFirst(isLong ? granted_ : wanted_, head.tag, incoming_)) {
    if (incoming_->bytes != head.bytes) {
      return false;
    }
  } else if (isLong) {
    return false;
  }
  missing_ = size_t(head.bytes);
  return true;
}

void SocketPeer::take(const std::byte *bytes, size_t count) {
  size_t at = size_t(head_.bytes) - missing_;
  if (!incoming_) {
    own_.append(reinterpret_cast<const char *>(bytes), count);
  } else if (incoming_->target) {
    std::memcpy(incoming_->target + at, bytes, count);
  }
  missing_ -= count;
}

void SocketPeer::finish(std::deque<std::string> &notes) {
  isInFrame_ = false;
  if (head_.kind == Kind::Note) {
    notes.push_back(std::move(own_));
  } else if (head_.kind == Kind::Data && incoming_) {
    incoming_->state = Transfer::State::Done;
  } else if (head_.kind == Kind::Data) {
    std::shared_ptr<Transfer> message; // it may have come to be wanted
    early_[head_.tag].push_back({false, std::move(own_)});
    if (takeFirst(wanted_, head_.tag, message)) {
      receive(head_.tag, std::move(message));
    }
  }
  incoming_.reset();
  own_ = {};
}

/// Whether what is staged may be: as far as that goes.
bool SocketPeer::consume(std::deque<std::string> &notes) {
  while (true) {
    size_t there = stagedEnd_ - stagedBegin_;
    if (!isInFrame_) {
      if (there < sizeof(Head)) {
        break;
      }
      Head head;
      std::memcpy(&head, &staged_[stagedBegin_], sizeof(head));
      stagedBegin_ += sizeof(head);
      if (!begin(head)) {
        return false;
      }
      isInFrame_ = true;
      there -= sizeof(head);
    }
    size_t count = std::min(there, missing_);
    if (count != 0) {
      take(&staged_[stagedBegin_], count);
      stagedBegin_ += count;
    }
    if (missing_ != 0) {
      break;
    }
    finish(notes);
  }
  // What is left is the beginning of a head.
  std::copy(staged_.begin() + ptrdiff_t(stagedBegin_),
            staged_.begin() + ptrdiff_t(stagedEnd_), staged_.begin());
  stagedEnd_ -= std::exchange(stagedBegin_, 0);
  return true;
}

void SocketPeer::read(std::deque<std::string> &notes) {
  for (size_t done = 0; isOpen() && done < turnBytes;) {
    // What is long goes to its place at once.
    bool isDirect =
        isInFrame_ && incoming_ && incoming_->target && missing_ >= stageBytes;
    std::byte *to = isDirect ? incoming_->target + head_.bytes - missing_
                             : staged_.data() + stagedEnd_;
    size_t room = isDirect ? missing_ : staged_.size() - stagedEnd_;
    ssize_t count = recv(socket_.number(), to, room, MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0 && errno == EAGAIN) {
      return;
    }
    if (count <= 0) {
      close();
      return;
    }
    done += size_t(count);
    if (isDirect) {
      missing_ -= size_t(count);
      if (missing_ == 0) {
        finish(notes);
      }
      continue;
    }
    stagedEnd_ += size_t(count);
    if (!consume(notes)) {
      close();
    }
  }
}
