//===- Hosts.cpp - Any bytes along a connection of hosts ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "runtime/comm/pmix/HostMessages.h"

using namespace divisi;
using namespace divisi::rt;
using fuzz::require;

static void readFrames(std::string_view bytes) {
  const FrameLimits limits{maxGreeting, 32};
  while (auto frame = parseFrame(bytes, limits)) {
    if (!frame->isWhole) {
      require(frame->size > bytes.size(), "more bytes are wanted");
      return;
    }
    require(frame->size > 0 && frame->size <= bytes.size() &&
                frame->text.size() <= limits.text &&
                frame->code.size() == limits.code,
            "a frame lies in its bytes");
    require(makeFrame(frame->text, frame->code) == bytes.substr(0, frame->size),
            "a frame is made as it was");
    bytes.remove_prefix(frame->size);
  }
}

void fuzz::readHosts(std::string_view bytes) {
  readFrames(bytes);
  if (auto greeting = parseGreeting(bytes)) {
    require(makeGreeting(*greeting) == bytes, "a greeting is made as it was");
  }
  // Another host may have failed in any way, and somebody else says how.
  if (auto answer = decode(bytes); !answer) {
    require(answer.status().code() <= ExitCode::Version,
            "a documented exit code");
  }
  for (uint32_t count = 1; count <= 3; ++count) {
    auto lines = parseHostLines(bytes, count, 2 * count);
    if (!lines) {
      fuzz::requireFailure(lines.status());
      continue;
    }
    require(lines->hosts.size() == count, "all hosts are there");
  }
  if (auto variables = parseVariables(bytes); !variables) {
    fuzz::requireFailure(variables.status());
  }
}
