//===- HostProcesses.cpp - The C API of processes that are connected ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Handles.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;

/// The most that a process says in an exchange.
static constexpr size_t wordBytes = 4096;

/// Texts of all, by the caller's exchange of bytes: each is as long as the
/// first byte of zero in it.
static Expected<std::vector<std::string>>
exchangeTexts(const divisi_processes_options &options, const std::string &own) {
  std::vector<char> word(wordBytes), all(wordBytes * options.count);
  own.copy(word.data(), word.size() - 1);
  if (options.exchange(options.exchange_user, word.data(), word.size(),
                       all.data()) != 0) {
    return Status(ExitCode::Device, "the exchange of processes has failed");
  }
  std::vector<std::string> texts;
  for (uint32_t process = 0; process < options.count; ++process) {
    const char *text = &all[wordBytes * process];
    texts.emplace_back(text, strnlen(text, wordBytes));
  }
  return texts;
}

static Status connectAll(const divisi_processes_options *given,
                         divisi_processes **processes) {
  Status status = clearResult(processes, "processes");
  if (status.isOk()) {
    status = checkGiven(given, "options");
  }
  divisi_processes_options options{};
  if (status.isOk()) {
    status = readStruct(given, options, "divisi_processes_options");
  }
  if (status.isOk()) {
    status = checkGiven(reinterpret_cast<const void *>(options.exchange),
                        "exchange");
  }
  if (!status.isOk()) {
    return status;
  }
  constexpr uint32_t most = 1 << 16;
  if (options.self >= options.count || options.count > most ||
      options.timeout_ms < 0 || options.timeout_ms > longestTimeout.count()) {
    return makeError(ExitCode::Usage, "process ", options.self, " of ",
                     options.count, ", timeout_ms ", options.timeout_ms,
                     ": expected one below ", most, ", and a day at most");
  }
  HostedProcesses hosted;
  hosted.self = options.self;
  hosted.size = options.count;
  hosted.address = options.address ? options.address : "";
  if (options.timeout_ms > 0) {
    hosted.timeout = std::chrono::milliseconds(options.timeout_ms);
  }
  hosted.exchange = [&](const std::string &own) {
    return exchangeTexts(options, own);
  };
  auto world = connectProcesses(hosted);
  if (world) {
    *processes = new divisi_processes(std::move(*world));
  }
  return world.status();
}

static divisi_error *connect(const divisi_processes_options *options,
                             divisi_processes **processes) {
  return makeErrorObject(connectAll(options, processes));
}

/// What this one has sent reaches the others, or they are no more.
static void freeProcesses(divisi_processes *processes) {
  constexpr std::chrono::milliseconds moment(2000);
  if (Handle::check(processes, divisi_processes::kind, "processes").isOk()) {
    (void)processes->world->finish(moment);
    delete processes;
  }
}

void divisi::rt::addProcessesFunctions(divisi_runtime_api &api) {
  api.processes_connect = connect;
  api.processes_free = freeProcesses;
}
