//===- HostMessages.h - The bytes that processes get ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes along a connection may have been sent by anybody. All of it is
// read here, by functions of bytes alone, which fail on what is none of ours:
//
//   frame      length (4 bytes, little-endian), text, code of the text
//   greeting   "divisi-hosts-1", number (4 bytes), nonce (32 bytes)
//   answer     "0" zero text, or an exit code, zero, why there is no text
//   line       "JOB HOST 0 1\n": a host with its processes
//   variables  "NAME=value" zero, ...
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_COMM_PMIX_HOSTMESSAGES_H
#define DIVISI_RUNTIME_COMM_PMIX_HOSTMESSAGES_H

#include "divisi/Support/Status.h"
#include "runtime/comm/pmix/PmixPlugin.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace divisi::rt {

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

/// How long frames may be.
struct FrameLimits {
  size_t text = 0; ///< The most bytes of a text.
  size_t code = 0; ///< The bytes of a code behind it: all have as many.
};

/// Whoever has not said who it is has no more to say than this in one text.
inline constexpr size_t maxGreeting = 128;
/// The most that a host, or the processes of one, say in one text.
inline constexpr size_t maxHostText = size_t(1) << 24;

/// The first frame of some bytes.
struct Frame {
  /// The bytes of the frame, as far as they are known: who has fewer reads on
  /// until there are that many.
  size_t size = 0;
  /// Whether all of it is there.
  bool isWhole = false;
  std::string_view text; ///< In the bytes; of a whole frame.
  std::string_view code; ///< Likewise.
};

/// The first frame of `bytes`; none if they begin with nothing that is one.
std::optional<Frame> parseFrame(std::string_view bytes,
                                const FrameLimits &limits);

/// The frame of a text below 4 GiB, with its code.
std::string makeFrame(std::string_view text, std::string_view code = {});

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

/// A number and nothing else.
std::optional<uint32_t> parseNumber(std::string_view text);

/// How many bytes a nonce has.
inline constexpr size_t nonceBytes = 32;

/// What a host says first.
struct Greeting {
  uint32_t number = 0; ///< Its number.
  std::string nonce;   ///< nonceBytes bytes that nobody could have known.

  bool operator==(const Greeting &) const = default;
};

/// The text of one.
std::string makeGreeting(const Greeting &greeting);
/// The greeting of a text that is one.
std::optional<Greeting> parseGreeting(std::string_view text);

/// What is answered to a party: a text, or why there is none.
std::string encode(const Expected<std::string> &answer);
/// What encode() has got; Device for what it has not made. A failure has no
/// message where another process says it.
Expected<std::string> decode(std::string_view text);

/// The hosts of a run, as each has said in a line.
struct HostLines {
  std::string job;             ///< As the first host calls it.
  std::vector<PmixHost> hosts; ///< In order.
};

/// The line of `host`. Of its name, and that of the job, what is no letter,
/// digit, `.`, `-` or `_` becomes `-`.
std::string makeHostLine(const std::string &job, const PmixHost &host);
/// Those of `count` hosts that have `size` processes together, each of them
/// once. Fails with Device.
Expected<HostLines> parseHostLines(std::string_view lines, uint32_t count,
                                   uint32_t size);

/// Names and values. Fails with Device unless each has a name of letters,
/// digits and `_`.
Expected<std::vector<std::pair<std::string, std::string>>>
parseVariables(std::string_view text);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_COMM_PMIX_HOSTMESSAGES_H
