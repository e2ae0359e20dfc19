//===- PmixServer.cpp - A server of PMIx for the processes of a host ------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Thread.h"
#include "divisi/Support/Version.h"
#include "runtime/comm/pmix/PmixPlugin.h"

#include <cstdlib>
#include <cstring>
#include <future>
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

static Status check(pmix_status_t code) {
  return code == PMIX_SUCCESS || code == PMIX_OPERATION_SUCCEEDED
             ? Status()
             : makeError(ExitCode::Device,
                         "PMIx failed: ", PMIx_Error_string(code));
}

//===----------------------------------------------------------------------===//
// What PMIx is told
//===----------------------------------------------------------------------===//

namespace {

/// Keys and values, in the memory of PMIx.
class Facts {
public:
  ~Facts() {
    for (pmix_info_t &fact : facts_) {
      PMIX_INFO_DESTRUCT(&fact);
    }
  }
  void add(const char *key, const std::string &value) {
    add(key, value.c_str(), PMIX_STRING);
  }
  /// `value` points at what `type` says.
  void add(const char *key, const void *value, pmix_data_type_t type) {
    pmix_info_t &fact = facts_.emplace_back();
    PMIX_INFO_CONSTRUCT(&fact);
    PMIX_INFO_LOAD(&fact, key, value, type);
  }
  void addNumber(const char *key, uint32_t value) {
    add(key, &value, PMIX_UINT32);
  }
  void addRank(const char *key, pmix_rank_t value) {
    add(key, &value, PMIX_PROC_RANK);
  }
  /// A text that PMIx has made, and which is PMIx's to read.
  void addMap(const char *key, pmix_status_t (*encode)(const char *, char **),
              const std::string &text) {
    char *map = nullptr;
    if (encode(text.c_str(), &map) == PMIX_SUCCESS) {
      add(key, map, PMIX_REGEX);
      std::free(map);
    }
  }
  /// Facts about one process.
  void addProcess(Facts &process) {
    pmix_data_array_t array{PMIX_INFO, process.size(), process.data()};
    add(PMIX_PROC_DATA, &array, PMIX_DATA_ARRAY);
  }
  pmix_info_t *data() { return facts_.data(); }
  size_t size() const { return facts_.size(); }

private:
  std::vector<pmix_info_t> facts_;
};

/// Waits for what PMIx does in its own thread.
class Completion {
public:
  /// The status of what `begin` starts with a callback and its argument.
  template <typename Begin> Status of(Begin begin) {
    pmix_status_t code = begin(
        [](pmix_status_t status, void *self) {
          static_cast<Completion *>(self)->status_.set_value(status);
        },
        this);
    return check(code == PMIX_SUCCESS ? status_.get_future().get() : code);
  }

private:
  std::promise<pmix_status_t> status_;
};

} // namespace

static std::string join(const std::vector<uint32_t> &numbers) {
  std::string text;
  for (uint32_t number : numbers) {
    text += (text.empty() ? "" : ",") + std::to_string(number);
  }
  return text;
}

/// All processes are one application, and each host has some of them.
static void describe(const PmixJob &job, Facts &facts) {
  std::string hosts, processes;
  uint32_t size = 0;
  for (const PmixHost &host : job.hosts) {
    hosts += (hosts.empty() ? "" : ",") + host.name;
    processes += (processes.empty() ? "" : ";") + join(host.processes);
    size += static_cast<uint32_t>(host.processes.size());
  }
  const PmixHost &own = job.hosts[job.self];
  auto ownSize = static_cast<uint32_t>(own.processes.size());
  facts.addMap(PMIX_NODE_MAP, PMIx_generate_regex, hosts);
  facts.addMap(PMIX_PROC_MAP, PMIx_generate_ppn, processes);
  facts.add(PMIX_JOBID, job.name);
  facts.addNumber(PMIX_UNIV_SIZE, size);
  facts.addNumber(PMIX_JOB_SIZE, size);
  facts.addNumber(PMIX_MAX_PROCS, size);
  facts.addNumber(PMIX_LOCAL_SIZE, ownSize);
  facts.addNumber(PMIX_NODE_SIZE, ownSize);
  facts.addNumber(PMIX_NUM_NODES, static_cast<uint32_t>(job.hosts.size()));
  facts.addNumber(PMIX_NODEID, job.self);
  facts.add(PMIX_LOCAL_PEERS, join(own.processes));
  facts.addRank(PMIX_LOCALLDR, own.processes.front());
  facts.add(PMIX_TMPDIR, job.folder);
  facts.add(PMIX_NSDIR, job.folder);
  for (uint32_t host = 0; host < job.hosts.size(); ++host) {
    const std::vector<uint32_t> &there = job.hosts[host].processes;
    for (uint16_t local = 0; local < there.size(); ++local) {
      Facts process;
      process.addRank(PMIX_RANK, there[local]);
      process.add(PMIX_LOCAL_RANK, &local, PMIX_UINT16);
      process.add(PMIX_NODE_RANK, &local, PMIX_UINT16);
      process.addNumber(PMIX_NODEID, host);
      process.addNumber(PMIX_APPNUM, 0);
      facts.addProcess(process);
    }
  }
}

//===----------------------------------------------------------------------===//
// What PMIx asks
//===----------------------------------------------------------------------===//

/// That a process has come, or leaves in order.
static pmix_status_t note(const pmix_proc_t *, void *, pmix_op_cbfunc_t,
                          void *) {
  return PMIX_OPERATION_SUCCEEDED;
}

/// The process ends by itself; its launcher ends the others.
static pmix_status_t noteAbort(const pmix_proc_t *, void *, int, const char *,
                               pmix_proc_t *, size_t, pmix_op_cbfunc_t,
                               void *) {
  return PMIX_OPERATION_SUCCEEDED;
}

/// What the server is told, where PMIx does not say which server it asks.
static const PmixJob *served = nullptr;

namespace {

/// What the processes of this host have said at a fence, and who wants to know
/// what those of all hosts do.
struct Fence {
  char *data;
  size_t size;
  pmix_modex_cbfunc_t done;
  void *context;

  /// Waits for all hosts.
  void exchange(const PmixJob &job) const {
    auto all = job.exchange(std::string(data, size));
    std::free(data);
    auto *copy = static_cast<char *>(std::malloc(all ? all->size() + 1 : 1));
    pmix_status_t status = !all    ? PMIX_ERR_LOST_CONNECTION
                           : !copy ? PMIX_ERR_NOMEM
                                   : PMIX_SUCCESS;
    size_t bytes = status == PMIX_SUCCESS ? all->size() : 0;
    if (bytes > 0) {
      std::memcpy(copy, all->data(), bytes);
    }
    done(status, copy, bytes, context, std::free, copy);
  }
};

} // namespace

/// All processes of this host have come to a fence with `data`, and wait for
/// what those of all hosts bring.
static pmix_status_t fence(const pmix_proc_t *, size_t, const pmix_info_t *,
                           size_t, char *data, size_t size,
                           pmix_modex_cbfunc_t done, void *context) {
  if (!served->exchange) {
    done(PMIX_SUCCESS, data, size, context, std::free, data);
    return PMIX_SUCCESS;
  }
  Fence waiting{data, size, done, context};
  auto thread = Thread::start(
      "fences", [waiting, job = *served] { waiting.exchange(job); });
  if (!thread) {
    return PMIX_ERR_OUT_OF_RESOURCE;
  }
  thread->detach(); // the process may end while it waits
  return PMIX_SUCCESS;
}

/// A fence has told all that there is to know.
static pmix_status_t findNothing(const pmix_proc_t *, const pmix_info_t *,
                                 size_t, pmix_modex_cbfunc_t, void *) {
  return PMIX_ERR_NOT_FOUND;
}

//===----------------------------------------------------------------------===//
// The server
//===----------------------------------------------------------------------===//

namespace {

class Server : public PmixServer {
public:
  explicit Server(const PmixJob &job) : job_(job) {}
  ~Server() override {
    if (isOpen_) {
      PMIx_server_finalize();
    }
  }

  Status open();
  Expected<std::vector<std::string>>
  environment(uint32_t process) const override;

private:
  pmix_proc_t named(uint32_t process) const {
    pmix_proc_t result;
    PMIX_LOAD_PROCID(&result, job_.name.c_str(), process);
    return result;
  }

  PmixJob job_;
  pmix_server_module_t module_{};
  bool isOpen_ = false;
};

} // namespace

Status Server::open() {
  served = &job_;
  module_.client_connected = note;
  module_.client_finalized = note;
  module_.abort = noteAbort;
  module_.fence_nb = fence;
  module_.direct_modex = findNothing;
  // What all know is sent to them, and not laid in files that they map.
  setenv("PMIX_MCA_gds", "hash", 1);
  Facts facts;
  facts.add(PMIX_HOSTNAME, job_.hosts[job_.self].name);
  facts.add(PMIX_SERVER_TMPDIR, job_.folder);
  facts.add(PMIX_SYSTEM_TMPDIR, job_.folder);
  Status status = check(PMIx_server_init(&module_, facts.data(), facts.size()));
  if (!status.isOk()) {
    return status;
  }
  isOpen_ = true;
  Facts about;
  describe(job_, about);
  const PmixHost &own = job_.hosts[job_.self];
  pmix_nspace_t name;
  PMIX_LOAD_NSPACE(name, job_.name.c_str());
  status = Completion().of([&](pmix_op_cbfunc_t done, void *context) {
    return PMIx_server_register_nspace(
        name, static_cast<int>(own.processes.size()), about.data(),
        about.size(), done, context);
  });
  for (uint32_t process : own.processes) {
    pmix_proc_t client = named(process);
    if (status.isOk()) {
      status = Completion().of([&](pmix_op_cbfunc_t done, void *context) {
        return PMIx_server_register_client(&client, geteuid(), getegid(),
                                           nullptr, done, context);
      });
    }
  }
  return status;
}

Expected<std::vector<std::string>> Server::environment(uint32_t process) const {
  pmix_proc_t client = named(process);
  char **variables = nullptr;
  Status status = check(PMIx_server_setup_fork(&client, &variables));
  if (!status.isOk()) {
    return status;
  }
  std::vector<std::string> all = {
      // As if jsrun had started it: of OpenMPI's ways to begin, the one that
      // asks the server of PMIx for everything and starts no daemon of its own.
      "JSM_JSRUN_PORT=1",
      // The memory that processes share goes with the server, too.
      "OMPI_MCA_btl_vader_backing_directory=" + job_.folder};
  for (char **variable = variables; variable && *variable; ++variable) {
    all.emplace_back(*variable);
    std::free(*variable);
  }
  std::free(variables);
  return all;
}

extern "C" __attribute__((visibility("default"))) PmixServer *
divisiOpenPmixServer(const std::string &build, const PmixJob &job,
                     Status &status) {
  if (build != version()) {
    status = makeError(ExitCode::Device, "the library for PMIx is of divisi ",
                       version(), ", and this is ", build,
                       "; install both from one build");
    return nullptr;
  }
  auto server = std::make_unique<Server>(job);
  status = server->open();
  return status.isOk() ? server.release() : nullptr;
}

static_assert(std::is_same_v<decltype(divisiOpenPmixServer), OpenPmixPlugin>);
