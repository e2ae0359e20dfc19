//===- runtime.hpp - Loading and running artifacts from C++20 ---*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See divisi.hpp.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_RUNTIME_HPP
#define DIVISI_INCLUDE_DIVISI_C_RUNTIME_HPP

#include "divisi-c/result.hpp"
#include "divisi-c/tensors.hpp"

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace divisi {
inline namespace v1 {

namespace detail {
/// The functions of libdivisi_runtime; NULL where it is of another version.
inline const divisi_runtime_api *runtime() {
  static const divisi_runtime_api *const api =
      divisi_runtime_get_api(DIVISI_RUNTIME_VERSION);
  return api;
}
} // namespace detail

//===----------------------------------------------------------------------===//
// Artifacts
//===----------------------------------------------------------------------===//

/// How an artifact is opened: divisi_artifact_options.
struct ArtifactOptions {
  std::string externalFolder;   ///< Empty: the artifact's.
  std::string trustedKeys;      ///< Empty: those of this user.
  bool allowNativeCode = false; ///< Whoever made it.
  bool verifyHashes = false;    ///< Of all weights, now.
  Log log;                      ///< Of opening it; may be empty.
};

/// A loaded artifact, which copies share.
class Artifact {
public:
  /// From a file.
  static Result<Artifact> open(const std::string &path,
                               const ArtifactOptions &options = {}) {
    return opened(options, [&](const auto &api, const auto &c, auto **handle) {
      return api.artifact_open(path.c_str(), &c, handle);
    });
  }
  /// From memory, which is copied.
  static Result<Artifact> open(std::span<const std::byte> bytes,
                               const ArtifactOptions &options = {}) {
    return opened(options, [&](const auto &api, const auto &c, auto **handle) {
      return api.artifact_open_bytes(bytes.data(), bytes.size(), &c, handle);
    });
  }

  /// For the C API.
  divisi_artifact *get() const { return held_->handle.get(); }
  /// SHA-256 of what it is, in hexadecimal.
  const std::string &hash() const { return held_->hash; }
  /// For how many devices it was compiled.
  uint32_t numRanks() const { return held_->numRanks; }
  /// Its programs.
  const std::vector<Entry> &entries() const { return held_->entries; }
  /// The program of that name, or the only one for an empty one; NULL if there
  /// is none.
  const Entry *find(std::string_view name) const {
    for (const Entry &entry : entries()) {
      if (entry.name == name || (name.empty() && entries().size() == 1)) {
        return &entry;
      }
    }
    return nullptr;
  }

private:
  struct Free {
    void operator()(divisi_artifact *handle) const {
      detail::runtime()->artifact_free(handle);
    }
  };
  struct Held {
    std::unique_ptr<divisi_artifact, Free> handle;
    std::string hash;
    uint32_t numRanks = 0;
    std::vector<Entry> entries;
  };

  template <typename Open>
  static Result<Artifact> opened(const ArtifactOptions &options, Open open) {
    const divisi_runtime_api *api = detail::runtime();
    if (!api) {
      return detail::wrongVersion("libdivisi_runtime");
    }
    divisi_artifact_options c{};
    c.struct_size = sizeof(c);
    c.external_folder = detail::textOrNull(options.externalFolder);
    c.trusted_keys = detail::textOrNull(options.trustedKeys);
    c.allow_native_code = options.allowNativeCode;
    c.verify_hashes = options.verifyHashes;
    c.log = options.log ? detail::log : nullptr;
    c.log_user = const_cast<Log *>(&options.log);
    divisi_artifact *handle = nullptr;
    if (divisi_error *error = open(*api, c, &handle)) {
      return detail::take(api->errors, error);
    }
    Artifact artifact;
    artifact.held_->handle.reset(handle);
    if (divisi_error *error = artifact.read(*api, handle)) {
      return detail::take(api->errors, error);
    }
    return artifact;
  }

  /// What it says of itself.
  divisi_error *read(const divisi_runtime_api &api, divisi_artifact *handle) {
    const char *hash = nullptr;
    size_t count = 0;
    divisi_error *error = api.artifact_hash(handle, &hash);
    error = error ? error : api.artifact_num_ranks(handle, &held_->numRanks);
    error = error ? error : api.artifact_num_entries(handle, &count);
    for (size_t i = 0; !error && i != count; ++i) {
      const char *name = nullptr;
      size_t numInputs = 0, numOutputs = 0;
      error = api.artifact_entry(handle, i, &name, &numInputs, &numOutputs);
      Entry &entry = held_->entries.emplace_back();
      entry.name = name ? name : "";
      error = error ? error
                    : readValues(api.artifact_input, handle, i, numInputs,
                                 entry.inputs);
      error = error ? error
                    : readValues(api.artifact_output, handle, i, numOutputs,
                                 entry.outputs);
    }
    held_->hash = hash ? hash : "";
    return error;
  }

  template <typename Read>
  static divisi_error *readValues(Read read, divisi_artifact *handle,
                                  size_t entry, size_t count,
                                  std::vector<ValueInfo> &values) {
    divisi_error *error = nullptr;
    for (size_t i = 0; !error && i != count; ++i) {
      divisi_value_info info{};
      info.struct_size = sizeof(info);
      error = read(handle, entry, i, &info);
      if (!error) {
        values.push_back(
            {info.name, info.dtype, {info.shape, info.shape + info.ndim}});
      }
    }
    return error;
  }

  std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// How a context is made: divisi_context_options.
struct ContextOptions {
  std::string backends;                 ///< Empty: "cpu,reference".
  int32_t threadsPerDevice = 0;         ///< 0: one.
  int64_t timeoutMs = 0;                ///< 0: a minute.
  bool checkIndices = true;             ///< That data gives.
  bool trace = false;                   ///< For writeTrace.
  std::span<const uint32_t> localRanks; ///< Empty: all, or a share.
  const void *mpiComm = nullptr;        ///< Points to an MPI_Comm.
  std::span<void *const> ncclComms; ///< Of devices here, an ncclComm_t each.
  std::span<const int32_t> cudaDevices;  ///< The numbers of their GPUs.
  divisi_processes *processes = nullptr; ///< Of processes_connect.
  bool wholeOutputs = false; ///< On each process, not only its own parts.
};

/// What one run at a time of an artifact needs.
class Context {
public:
  /// Shares what runs of the artifact share.
  static Result<Context> create(const Artifact &artifact,
                                const ContextOptions &options = {}) {
    divisi_context_options c{};
    c.struct_size = sizeof(c);
    c.backends = detail::textOrNull(options.backends);
    c.threads_per_device = options.threadsPerDevice;
    c.timeout_ms = options.timeoutMs;
    c.no_index_check = !options.checkIndices;
    c.trace = options.trace;
    c.local_ranks =
        options.localRanks.empty() ? nullptr : options.localRanks.data();
    c.num_local_ranks = options.localRanks.size();
    c.mpi_comm = options.mpiComm;
    c.nccl_comms =
        options.ncclComms.empty() ? nullptr : options.ncclComms.data();
    c.num_nccl_comms = options.ncclComms.size();
    c.cuda_devices =
        options.cudaDevices.empty() ? nullptr : options.cudaDevices.data();
    c.num_cuda_devices = options.cudaDevices.size();
    c.processes = options.processes;
    c.whole_outputs = options.wholeOutputs;
    divisi_context *handle = nullptr;
    if (divisi_error *error =
            detail::runtime()->context_create(artifact.get(), &c, &handle)) {
      return detail::take(detail::runtime()->errors, error);
    }
    return Context(artifact, handle);
  }

  /// For the C API.
  divisi_context *get() const { return handle_.get(); }

  /// Runs the only entry, or that of a name, on inputs in its order, and
  /// returns its outputs.
  Result<std::vector<Array>> run(std::initializer_list<Tensor> inputs,
                                 const std::string &entry = "") {
    return run(std::span<const Tensor>(inputs.begin(), inputs.size()), entry);
  }
  Result<std::vector<Array>> run(std::span<const Tensor> inputs,
                                 const std::string &entry = "") {
    std::vector<Array> arrays;
    std::vector<Tensor> outputs;
    if (const Entry *found = artifact_.find(entry)) {
      for (const ValueInfo &value : found->outputs) {
        arrays.emplace_back(value.shape, value.dtype);
      }
    }
    for (Array &array : arrays) {
      outputs.push_back(array.view());
    }
    // An entry that is not there is an error of the call.
    Result<void> status = runInto(inputs, outputs, entry);
    if (!status) {
      return status.error();
    }
    return arrays;
  }

  /// Runs an entry into memory of the caller: without copies where that is
  /// aligned to 64 bytes.
  Result<void> runInto(std::span<const Tensor> inputs,
                       std::span<const Tensor> outputs,
                       const std::string &entry = "") {
    std::vector<divisi_tensor> in, out;
    for (const Tensor &input : inputs) {
      in.push_back(input.get());
    }
    for (const Tensor &output : outputs) {
      out.push_back(output.get());
    }
    return done(detail::runtime()->run(get(), detail::textOrNull(entry),
                                       in.data(), in.size(), out.data(),
                                       out.size()));
  }

  /// Ends the run that is in progress, if any. By any thread.
  Result<void> cancel() { return done(detail::runtime()->cancel(get())); }
  /// Copies the present value of a global.
  Result<void> readGlobal(const std::string &name, const Tensor &value) {
    divisi_tensor c = value.get();
    return done(detail::runtime()->read_global(get(), name.c_str(), &c));
  }
  /// Gives all updated globals the values that the artifact has.
  Result<void> resetState() {
    return done(detail::runtime()->reset_state(get()));
  }
  /// What a device holds, in bytes.
  Result<divisi_memory_info> memory(uint32_t rank) {
    divisi_memory_info info{};
    info.struct_size = sizeof(info);
    Result<void> status = done(detail::runtime()->memory(get(), rank, &info));
    return status ? Result<divisi_memory_info>(info) : status.error();
  }
  /// Which operators run on which backend, as JSON.
  Result<std::string> describe() {
    const char *json = nullptr;
    Result<void> status = done(detail::runtime()->describe(get(), &json));
    return status ? Result<std::string>(json) : status.error();
  }
  /// Writes what the last run did as Chrome's trace events.
  Result<void> writeTrace(const std::string &path) {
    return done(detail::runtime()->write_trace(get(), path.c_str()));
  }

private:
  struct Free {
    void operator()(divisi_context *handle) const {
      detail::runtime()->context_free(handle);
    }
  };
  Context(Artifact artifact, divisi_context *handle)
      : artifact_(std::move(artifact)), handle_(handle) {}
  static Result<void> done(divisi_error *error) {
    return detail::done(detail::runtime()->errors, error);
  }

  Artifact artifact_;
  std::unique_ptr<divisi_context, Free> handle_;
};

} // namespace v1
} // namespace divisi

#endif // DIVISI_INCLUDE_DIVISI_C_RUNTIME_HPP
