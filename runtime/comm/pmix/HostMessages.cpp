//===- HostMessages.cpp - The bytes that processes get --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/pmix/HostMessages.h"

#include <algorithm>
#include <charconv>

using namespace divisi;
using namespace divisi::rt;

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

/// Four bytes, the lowest first.
static std::string makeLength(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>((value >> shift) & 0xff);
  }
  return bytes;
}

static constexpr size_t lengthBytes = 4;

static uint32_t parseLength(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < lengthBytes; ++i) {
    value |= uint32_t(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

std::optional<Frame> divisi::rt::parseFrame(std::string_view bytes,
                                            const FrameLimits &limits) {
  Frame frame;
  frame.size = lengthBytes;
  if (bytes.size() < lengthBytes) {
    return frame;
  }
  size_t length = parseLength(bytes);
  if (length > limits.text) {
    return std::nullopt;
  }
  frame.size += length + limits.code;
  frame.isWhole = bytes.size() >= frame.size;
  if (frame.isWhole) {
    frame.text = bytes.substr(lengthBytes, length);
    frame.code = bytes.substr(lengthBytes + length, limits.code);
  }
  return frame;
}

std::string divisi::rt::makeFrame(std::string_view text,
                                  std::string_view code) {
  std::string frame = makeLength(static_cast<uint32_t>(text.size()));
  frame.reserve(frame.size() + text.size() + code.size());
  frame += text;
  frame += code;
  return frame;
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::optional<uint32_t> divisi::rt::parseNumber(std::string_view text) {
  uint32_t number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  bool isNumber = error == std::errc() && end == text.data() + text.size();
  return isNumber ? std::optional(number) : std::nullopt;
}

/// In front of a greeting; another version is another program.
static constexpr std::string_view greetingHead = "divisi-hosts-1";

std::string divisi::rt::makeGreeting(const Greeting &greeting) {
  return std::string(greetingHead) + makeLength(greeting.number) +
         greeting.nonce;
}

std::optional<Greeting> divisi::rt::parseGreeting(std::string_view text) {
  if (text.size() != greetingHead.size() + lengthBytes + nonceBytes ||
      !text.starts_with(greetingHead)) {
    return std::nullopt;
  }
  text.remove_prefix(greetingHead.size());
  return Greeting{parseLength(text), std::string(text.substr(lengthBytes))};
}

// The code stands in front, with a zero behind.
std::string divisi::rt::encode(const Expected<std::string> &answer) {
  std::string text = std::to_string(static_cast<int>(answer.status().code()));
  text += '\0';
  return text + (answer ? *answer : answer.status().message());
}

Expected<std::string> divisi::rt::decode(std::string_view text) {
  size_t end = text.find('\0');
  auto code = parseNumber(text.substr(0, end));
  bool isKnown = end != std::string_view::npos && code &&
                 *code <= static_cast<uint32_t>(ExitCode::Version);
  if (!isKnown) {
    return Status(ExitCode::Device, "another program answers");
  }
  std::string rest(text.substr(end + 1));
  return *code == 0 ? Expected(rest) : Status(ExitCode(*code), rest);
}

/// Whether it may be part of a name, in every language that names get into.
static bool isPlain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '.' || c == '-' || c == '_';
}

/// PMIx has room for as much.
static constexpr size_t maxName = 255;

static bool isName(std::string_view text) {
  return !text.empty() && text.size() <= maxName &&
         std::ranges::all_of(text, isPlain);
}

static std::string plain(std::string name) {
  std::ranges::replace_if(name, [](char c) { return !isPlain(c); }, '-');
  return name.substr(0, maxName);
}

std::string divisi::rt::makeHostLine(const std::string &job,
                                     const PmixHost &host) {
  std::string line = plain(job) + " " + plain(host.name);
  for (uint32_t process : host.processes) {
    line += " " + std::to_string(process);
  }
  return line + "\n";
}

/// What stands before the next `end`, which goes as well; all of `text` if it
/// has none.
static std::string_view takeUntil(std::string_view &text, char end) {
  size_t length = text.find(end);
  std::string_view taken = text.substr(0, length);
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

/// The processes in `words`, none of which `isSeen`; empty if they are wrong.
static std::vector<uint32_t> parseProcesses(std::string_view words,
                                            std::vector<bool> &isSeen) {
  std::vector<uint32_t> processes;
  while (!words.empty()) {
    auto process = parseNumber(takeUntil(words, ' '));
    if (!process || *process >= isSeen.size() || isSeen[*process]) {
      return {};
    }
    isSeen[*process] = true;
    processes.push_back(*process);
  }
  return processes;
}

Expected<HostLines> divisi::rt::parseHostLines(std::string_view lines,
                                               uint32_t count, uint32_t size) {
  HostLines found;
  std::vector<bool> isSeen(size);
  while (!lines.empty()) {
    std::string_view line = takeUntil(lines, '\n');
    std::string_view job = takeUntil(line, ' ');
    std::string_view name = takeUntil(line, ' ');
    std::vector<uint32_t> processes = parseProcesses(line, isSeen);
    if (!isName(job) || !isName(name) || processes.empty()) {
      return makeError(ExitCode::Device, "host ", found.hosts.size(),
                       " does not say which processes of the ", size,
                       " it has");
    }
    if (found.hosts.empty()) {
      found.job = job;
    }
    found.hosts.push_back({std::string(name), std::move(processes)});
  }
  if (found.hosts.size() != count || std::ranges::count(isSeen, false) != 0) {
    return makeError(ExitCode::Device, "expected ", count, " hosts with ", size,
                     " processes, got ", found.hosts.size(), " with ",
                     std::ranges::count(isSeen, true),
                     "; do all have the same WORLD_SIZE?");
  }
  return found;
}

Expected<std::vector<std::pair<std::string, std::string>>>
divisi::rt::parseVariables(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> variables;
  while (!text.empty()) {
    bool isEnded = text.find('\0') != std::string_view::npos;
    std::string_view value = takeUntil(text, '\0');
    bool hasSign = value.find('=') != std::string_view::npos;
    std::string_view name = takeUntil(value, '=');
    bool isName = !name.empty() && std::ranges::all_of(name, [](char c) {
      return isPlain(c) && c != '.' && c != '-';
    });
    if (!isEnded || !hasSign || !isName) {
      return Status(ExitCode::Device,
                    "the server of this host has sent no variables");
    }
    variables.emplace_back(name, value);
  }
  return variables;
}
