//===- Artifacts.cpp - The C API of loaded artifacts ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/C/MemoryFile.h"
#include "divisi/Support/Signature.h"
#include "runtime/capi/Handles.h"

#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

/// The functions of C are not overloaded: the checks that most begin with.
static Status check(const divisi_artifact *artifact) {
  return Handle::check(artifact, divisi_artifact::kind, "artifact");
}

static Expected<LoadOptions> readOptions(const divisi_artifact_options *given,
                                         divisi_artifact_options &options) {
  Status status = readStruct(given, options, "divisi_artifact_options");
  if (!status.isOk()) {
    return status;
  }
  LoadOptions load;
  load.verifyHashes = options.verify_hashes != 0;
  load.externalFolder = options.external_folder ? options.external_folder : "";
  load.allowsNativeCode = options.allow_native_code != 0;
  Expected<TrustedCode> trust =
      readTrust(options.trusted_keys ? options.trusted_keys : "");
  if (!trust) {
    return trust.status();
  }
  load.trustedKeys = std::move(trust->publicKeys);
  return load;
}

static Status openArtifact(const char *path,
                           const divisi_artifact_options *given,
                           divisi_artifact **artifact) {
  Status status = clearResult(artifact, "artifact");
  if (status.isOk()) {
    status = checkGiven(path, "path");
  }
  if (!status.isOk()) {
    return status;
  }
  divisi_artifact_options options{};
  Expected<LoadOptions> load = readOptions(given, options);
  if (!load) {
    return load.status();
  }
  auto loaded = LoadedArtifact::open(path, *load);
  if (!loaded) {
    return loaded.status();
  }
  const NativeCodeUse &code = (*loaded)->nativeCode();
  if (!code.refused.empty() && options.log) {
    std::string text =
        "native code of the artifact is not run: " + code.refused;
    options.log(options.log_user, DIVISI_WARNING, text.c_str());
  }
  *artifact = new divisi_artifact(std::move(*loaded));
  return {};
}

static divisi_error *artifactOpen(const char *path,
                                  const divisi_artifact_options *options,
                                  divisi_artifact **artifact) {
  return makeErrorObject(openArtifact(path, options, artifact),
                         path ? path : "");
}

/// Speaks of "the artifact" instead of a path that no caller has given.
static Status nameless(const Status &status, std::string_view path) {
  std::string message = status.message();
  for (size_t at = 0; (at = message.find(path, at)) != std::string::npos;) {
    message.replace(at, path.size(), "the artifact");
  }
  return status.isOk() ? status : Status(status.code(), std::move(message));
}

static Status openBytes(const void *bytes, size_t size,
                        const divisi_artifact_options *options,
                        divisi_artifact **artifact) {
  Status status = clearResult(artifact, "artifact");
  if (status.isOk()) {
    status = checkGiven(bytes, "bytes");
  }
  if (!status.isOk()) {
    return status;
  }
  Expected<int> file =
      makeMemoryFile({static_cast<const std::byte *>(bytes), size});
  if (!file) {
    return file.status();
  }
  std::string path = "/proc/self/fd/" + std::to_string(*file);
  status = openArtifact(path.c_str(), options, artifact);
  close(*file);
  return nameless(status, "'" + path + "'");
}

static divisi_error *artifactOpenBytes(const void *bytes, size_t size,
                                       const divisi_artifact_options *options,
                                       divisi_artifact **artifact) {
  return makeErrorObject(openBytes(bytes, size, options, artifact));
}

static void artifactFree(divisi_artifact *artifact) {
  if (check(artifact).isOk()) {
    delete artifact;
  }
}

static divisi_error *artifactHash(const divisi_artifact *artifact,
                                  const char **hash) {
  Status status = check(artifact);
  if (status.isOk()) {
    status = checkGiven(hash, "hash");
  }
  if (status.isOk()) {
    *hash = artifact->loaded->hash().c_str();
  }
  return makeErrorObject(status);
}

/// Gives `to` what `count` says of the artifact.
template <typename T, typename Count>
static divisi_error *tell(const divisi_artifact *artifact, T *to, Count count) {
  Status status = check(artifact);
  if (status.isOk()) {
    status = checkGiven(to, "count");
  }
  if (status.isOk()) {
    *to = static_cast<T>(count(*artifact->loaded));
  }
  return makeErrorObject(status);
}

static divisi_error *artifactNumRanks(const divisi_artifact *artifact,
                                      uint32_t *count) {
  return tell(artifact, count,
              [](const LoadedArtifact &loaded) { return loaded.numRanks(); });
}

static divisi_error *artifactNumEntries(const divisi_artifact *artifact,
                                        size_t *count) {
  return tell(artifact, count, [](const LoadedArtifact &loaded) {
    return loaded.entries().size();
  });
}

static divisi_error *artifactNumGlobals(const divisi_artifact *artifact,
                                        size_t *count) {
  return tell(artifact, count, [](const LoadedArtifact &loaded) {
    return loaded.globals().size();
  });
}

static Status checkIndex(size_t index, size_t count, const char *what) {
  return index < count ? Status()
                       : makeError(ExitCode::Usage, what, " ", index,
                                   ": there are ", count);
}

static Expected<const EntryInfo *> findEntry(const divisi_artifact *artifact,
                                             size_t index) {
  Status status = check(artifact);
  if (status.isOk()) {
    status = checkIndex(index, artifact->loaded->entries().size(), "entry");
  }
  return status.isOk()
             ? Expected<const EntryInfo *>(&artifact->loaded->entries()[index])
             : status;
}

static divisi_error *artifactEntry(const divisi_artifact *artifact,
                                   size_t index, const char **name,
                                   size_t *numInputs, size_t *numOutputs) {
  Expected<const EntryInfo *> entry = findEntry(artifact, index);
  if (!entry) {
    return makeErrorObject(entry.status());
  }
  if (name) {
    *name = (*entry)->name.c_str();
  }
  if (numInputs) {
    *numInputs = (*entry)->inputs.size();
  }
  if (numOutputs) {
    *numOutputs = (*entry)->outputs.size();
  }
  return nullptr;
}

static Status describeValue(const ValueInfo &value, divisi_value_info *info) {
  return writeStruct({sizeof(divisi_value_info), value.name.c_str(),
                      dtypeOf(value.type), int32_t(value.dims.size()),
                      value.dims.data()},
                     info, "divisi_value_info");
}

/// The `values` of an entry are its inputs or its outputs, each a `what`.
static divisi_error *describeOf(const divisi_artifact *artifact,
                                size_t entryIndex,
                                std::vector<ValueInfo> EntryInfo::*values,
                                const char *what, size_t index,
                                divisi_value_info *info) {
  Expected<const EntryInfo *> entry = findEntry(artifact, entryIndex);
  if (!entry) {
    return makeErrorObject(entry.status());
  }
  const std::vector<ValueInfo> &all = (*entry)->*values;
  Status status = checkIndex(index, all.size(), what);
  return makeErrorObject(status.isOk() ? describeValue(all[index], info)
                                       : status);
}

static divisi_error *artifactInput(const divisi_artifact *artifact,
                                   size_t entry, size_t index,
                                   divisi_value_info *info) {
  return describeOf(artifact, entry, &EntryInfo::inputs, "input", index, info);
}

static divisi_error *artifactOutput(const divisi_artifact *artifact,
                                    size_t entry, size_t index,
                                    divisi_value_info *info) {
  return describeOf(artifact, entry, &EntryInfo::outputs, "output", index,
                    info);
}

static divisi_error *artifactGlobal(const divisi_artifact *artifact,
                                    size_t index, divisi_value_info *info,
                                    int32_t *isUpdated) {
  Status status = check(artifact);
  if (status.isOk()) {
    status = checkIndex(index, artifact->loaded->globals().size(), "global");
  }
  if (!status.isOk()) {
    return makeErrorObject(status);
  }
  const GlobalInfo &global = artifact->loaded->globals()[index];
  if (isUpdated) {
    *isUpdated = global.isUpdated;
  }
  return makeErrorObject(describeValue(global.value, info));
}

void divisi::rt::addArtifactFunctions(divisi_runtime_api &api) {
  api.artifact_open = artifactOpen;
  api.artifact_open_bytes = artifactOpenBytes;
  api.artifact_free = artifactFree;
  api.artifact_hash = artifactHash;
  api.artifact_num_ranks = artifactNumRanks;
  api.artifact_num_entries = artifactNumEntries;
  api.artifact_entry = artifactEntry;
  api.artifact_input = artifactInput;
  api.artifact_output = artifactOutput;
  api.artifact_num_globals = artifactNumGlobals;
  api.artifact_global = artifactGlobal;
}
