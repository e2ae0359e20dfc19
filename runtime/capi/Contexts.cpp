//===- Contexts.cpp - The C API of running --------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/ContextOptions.h"
#include "runtime/capi/Description.h"
#include "runtime/capi/Handles.h"

#include <cstring>

using namespace divisi;
using namespace divisi::rt;

static_assert(cancelledCode == kCancelled);

/// Where one process cannot, none does; what connects them is then as it was.
static Status openSession(std::shared_ptr<LoadedArtifact> artifact,
                          SessionOptions options, divisi_context &context) {
  bool isConnected = false;
  if (options.communicator) {
    options.communicator = [&, connect = options.communicator](
                               const CommunicatorRequest &request) {
      isConnected = true;
      return connect(request);
    };
  }
  auto session = Session::open(std::move(artifact), options);
  if (!context.world || context.ownsWorld) {
    context.session = session ? std::move(*session) : nullptr;
    return session.status();
  }
  if (!isConnected) { // as often as the others
    context.world->connect({}, options.timeout, {}, 1);
  }
  Status status = agree(*context.world, session.status(), {}, context.timeout);
  context.session = status.isOk() ? std::move(*session) : nullptr;
  return status;
}

/// Prepares what brings outputs to all processes, of all entries.
static Status gatherOutputs(divisi_context &context) {
  Status status;
  for (const EntryInfo &entry : context.session->entries()) {
    auto gathered = GatheredOutputs::prepareForAll(
        *context.world, context.timeout, *context.session, entry);
    status = status.isOk() ? gathered.status() : status;
    context.gathered.push_back(gathered ? std::move(*gathered) : nullptr);
  }
  return agree(*context.world, status, {}, context.timeout);
}

static Status createContext(divisi_artifact *artifact,
                            const divisi_context_options *given,
                            divisi_context **context) {
  Status status = clearResult(context, "context");
  if (status.isOk()) {
    status = Handle::check(artifact, divisi_artifact::kind, "artifact");
  }
  if (!status.isOk()) {
    return status;
  }
  divisi_context_options options{};
  Expected<SessionOptions> chosen = readOptions(given, options);
  if (!chosen) {
    return chosen.status();
  }
  auto made = std::make_unique<divisi_context>();
  made->timeout = chosen->timeout;
  made->ownsWorld = !options.processes;
  status = connectDevices(options, *artifact->loaded, *chosen, made->world);
  if (!status.isOk()) {
    return status;
  }
  status = openSession(artifact->loaded, *chosen, *made);
  if (status.isOk() && options.whole_outputs && made->world) {
    status = gatherOutputs(*made);
  }
  if (!status.isOk()) {
    return status;
  }
  made->allocate = options.allocate;
  made->allocateUser = options.allocate_user;
  *context = made.release();
  return {};
}

static divisi_error *contextCreate(divisi_artifact *artifact,
                                   const divisi_context_options *options,
                                   divisi_context **context) {
  return makeErrorObject(createContext(artifact, options, context));
}

/// Does `work` on the session of `context`, which no other thread does.
template <typename Work>
static divisi_error *with(divisi_context *context, const char *place,
                          Work work) {
  Status status = Handle::check(context, divisi_context::kind, "context");
  if (status.isOk()) {
    HandleUse use(*context);
    status = use.status("context");
    if (status.isOk()) {
      status = work(*context);
    }
  }
  return makeErrorObject(status, place);
}

/// The other processes may still be at work with what this one gives them.
divisi_context::~divisi_context() {
  gathered.clear();
  session.reset();
  if (world && ownsWorld && !world->finish(timeout).isOk()) {
    // MPI still works on it: it is never destroyed.
    new std::shared_ptr<ProcessWorld>(std::move(world));
  }
}

static void contextFree(divisi_context *context) {
  if (Handle::check(context, divisi_context::kind, "context").isOk()) {
    delete context;
  }
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static Expected<const EntryInfo *> findEntry(const Session &session,
                                             const char *name) {
  if (name) {
    const EntryInfo *entry = session.findEntry(name);
    return entry ? Expected<const EntryInfo *>(entry)
                 : makeError(ExitCode::Usage, "the artifact has no entry '",
                             name, "'");
  }
  if (session.entries().size() != 1) {
    return makeError(ExitCode::Usage, "the artifact has ",
                     session.entries().size(), " entries; name one");
  }
  return &session.entries().front();
}

static Status checkCount(size_t count, size_t expected, const void *tensors,
                         const char *what) {
  if (count != expected) {
    return makeError(ExitCode::Invalid, "got ", count, " ", what, ", expected ",
                     expected);
  }
  return count == 0 ? Status() : checkGiven(tensors, what);
}

/// Gives an output without memory some of the caller's.
static Status allocateOutput(const divisi_context &context,
                             const ValueInfo &info, divisi_tensor &tensor) {
  if (!context.allocate) {
    return makeError(ExitCode::Usage, "output '", info.name,
                     "' has no data, and the context no allocator");
  }
  constexpr size_t alignment = 64;
  auto bytes = size_t(numElements(info.dims) * byteWidth(info.type));
  void *data = context.allocate(context.allocateUser,
                                std::max<size_t>(bytes, 1), alignment);
  if (!data) {
    return makeError(ExitCode::Device, "the allocator has no ", bytes,
                     " bytes for output '", info.name, "'");
  }
  tensor = {data,
            {1, 0},
            int32_t(info.dims.size()),
            dtypeOf(info.type),
            const_cast<int64_t *>(info.dims.data()),
            nullptr,
            0};
  return {};
}

/// What the caller gives for all of `values`.
template <typename T>
static Expected<std::vector<TensorArgument>>
readTensors(const std::vector<ValueInfo> &values, T *tensors,
            const char *what) {
  std::vector<TensorArgument> arguments;
  arguments.reserve(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    Expected<TensorView> view = viewOf(
        tensors[i], values[i], std::string(what) + " '" + values[i].name + "'");
    if (!view) {
      return view.status();
    }
    arguments.emplace_back(std::move(*view));
  }
  return arguments;
}

/// Copies whole outputs to where the caller wants them.
static Status copyOutputs(const std::vector<HostTensor> &whole,
                          const std::vector<TensorArgument> &to) {
  for (size_t i = 0; i < whole.size(); ++i) {
    const TensorView &view = to[i].views.front();
    int64_t width = byteWidth(view.type);
    Box box = Box::whole(view.dims);
    Dims dense = denseStrides(width, view.dims), strides = dense;
    for (size_t d = 0; d < view.strides.size(); ++d) {
      strides[d] = view.strides[d] * width;
    }
    if (whole[i].byteSize() != 0) {
      BoxCopy(width, box, box, dense, box, strides)
          .run(whole[i].data(), view.first());
    }
  }
  return {};
}

/// Runs an entry, each process with its devices; all get all outputs.
static Status runForAll(divisi_context &context, const EntryInfo &entry,
                        const std::vector<TensorArgument> &from,
                        const std::vector<TensorArgument> &to) {
  size_t index = &entry - context.session->entries().data();
  const GatheredOutputs &gathered = *context.gathered[index];
  auto boxes = gathered.run(*context.session, from);
  auto whole = boxes ? gathered.gather(*boxes)
                     : Expected<std::vector<HostTensor>>(boxes.status());
  return whole ? copyOutputs(*whole, to) : whole.status();
}

static Status runEntry(divisi_context &context, const char *name,
                       const divisi_tensor *inputs, size_t numInputs,
                       divisi_tensor *outputs, size_t numOutputs) {
  Expected<const EntryInfo *> found = findEntry(*context.session, name);
  if (!found) {
    return found.status();
  }
  const EntryInfo &entry = **found;
  Status status = checkCount(numInputs, entry.inputs.size(), inputs, "inputs");
  if (status.isOk()) {
    status = checkCount(numOutputs, entry.outputs.size(), outputs, "outputs");
  }
  if (!status.isOk()) {
    return status;
  }
  auto from = readTensors(entry.inputs, inputs, "input");
  for (size_t i = 0; from && status.isOk() && i < numOutputs; ++i) {
    if (!outputs[i].data) {
      status = allocateOutput(context, entry.outputs[i], outputs[i]);
    }
  }
  if (!from || !status.isOk()) {
    return from ? status : from.status();
  }
  auto to = readTensors(entry.outputs, outputs, "output");
  if (to && !context.gathered.empty()) {
    return runForAll(context, entry, *from, *to);
  }
  return to ? context.session->run(entry.name, *from, *to) : to.status();
}

static divisi_error *run(divisi_context *context, const char *entry,
                         const divisi_tensor *inputs, size_t numInputs,
                         divisi_tensor *outputs, size_t numOutputs) {
  return with(context, entry ? entry : "", [&](divisi_context &mine) {
    return runEntry(mine, entry, inputs, numInputs, outputs, numOutputs);
  });
}

static divisi_error *cancel(divisi_context *context) {
  Status status = Handle::check(context, divisi_context::kind, "context");
  if (status.isOk()) {
    context->session->cancel();
  }
  return makeErrorObject(status);
}

//===----------------------------------------------------------------------===//
// State, and what is told
//===----------------------------------------------------------------------===//

static Status copyGlobal(const Session &session, const char *name,
                         divisi_tensor *value) {
  Status status = checkGiven(name, "name");
  if (status.isOk()) {
    status = checkGiven(value, "value");
  }
  if (!status.isOk()) {
    return status;
  }
  Expected<HostTensor> tensor = session.readGlobal(name);
  if (!tensor) {
    return tensor.status();
  }
  Expected<TensorView> to =
      viewOf(*value, ValueInfo{name, tensor->type(), tensor->dims()},
             "global '" + std::string(name) + "'");
  if (!to) {
    return to.status();
  }
  if (!to->strides.empty()) {
    return makeError(
        ExitCode::Unsupported, "global '", name,
        "' is copied to row-major memory only; leave strides NULL");
  }
  if (tensor->byteSize() > 0) {
    std::memcpy(to->first(), tensor->data(), size_t(tensor->byteSize()));
  }
  return {};
}

static divisi_error *readGlobal(divisi_context *context, const char *name,
                                divisi_tensor *value) {
  return with(context, name ? name : "", [&](divisi_context &mine) {
    return copyGlobal(*mine.session, name, value);
  });
}

static divisi_error *resetState(divisi_context *context) {
  return with(context, "",
              [](divisi_context &mine) { return mine.session->reloadState(); });
}

static divisi_error *memory(divisi_context *context, uint32_t rank,
                            divisi_memory_info *info) {
  return with(context, "", [&](divisi_context &mine) {
    std::vector<RankMemory> ranks = mine.session->memory();
    if (rank >= ranks.size()) {
      return makeError(ExitCode::Usage, "rank ", rank, ": there are ",
                       ranks.size());
    }
    const RankMemory &of = ranks[rank];
    return writeStruct({sizeof(divisi_memory_info), of.weights, of.arena,
                        of.workspace, of.packed, of.messages, of.device},
                       info, "divisi_memory_info");
  });
}

static divisi_error *describeContext(divisi_context *context,
                                     const char **json) {
  return with(context, "", [&](divisi_context &mine) {
    Status status = checkGiven(json, "json");
    if (status.isOk()) {
      mine.text = describeSession(*mine.session);
      *json = mine.text.c_str();
    }
    return status;
  });
}

static divisi_error *writeTrace(divisi_context *context, const char *path) {
  return with(context, path ? path : "", [&](divisi_context &mine) {
    Status status = checkGiven(path, "path");
    return status.isOk() ? mine.session->writeTrace(path) : status;
  });
}

void divisi::rt::addContextFunctions(divisi_runtime_api &api) {
  api.context_create = contextCreate;
  api.context_free = contextFree;
  api.run = run;
  api.cancel = cancel;
  api.read_global = readGlobal;
  api.reset_state = resetState;
  api.memory = memory;
  api.describe = describeContext;
  api.write_trace = writeTrace;
}
