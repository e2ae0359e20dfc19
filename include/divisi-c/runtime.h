//===- runtime.h - Loading and running artifacts from C ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   const divisi_runtime_api *api =
//       divisi_runtime_get_api(DIVISI_RUNTIME_VERSION);
//   divisi_artifact *artifact;
//   divisi_error *error = api->artifact_open("m.divisi", NULL, &artifact);
//   divisi_context *context;
//   error = api->context_create(artifact, NULL, &context);
//   error = api->run(context, "forward", inputs, 1, outputs, 1);
//
// An artifact holds what runs share: programs, and weights in the layouts of
// kernels, once. A context holds what a run needs for itself: threads,
// activations, state. Any number of contexts of an artifact run at the same
// time; one context does one run at a time. A call on a context that is at
// work on another thread fails with DIVISI_USAGE; `cancel` and the queries
// of an artifact are for any thread at any time.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_INCLUDE_DIVISI_C_RUNTIME_H
#define DIVISI_INCLUDE_DIVISI_C_RUNTIME_H

#include "divisi-c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this header.
#define DIVISI_RUNTIME_VERSION DIVISI_API_VERSION(1, 2)

/// A loaded artifact. It lives until it is freed and its contexts are.
typedef struct divisi_artifact divisi_artifact;
/// What one run at a time of an artifact needs.
typedef struct divisi_context divisi_context;

/// Processes that their host connects, without MPI.
typedef struct divisi_processes divisi_processes;

/// Where a tensor lies, as in DLPack's DLDevice: type 1 is the host.
typedef struct divisi_device {
  int32_t type; ///< DLDeviceType.
  int32_t id;   ///< Which of these; 0 of the host.
} divisi_device;

/// The type of elements, as in DLPack's DLDataType.
typedef struct divisi_dtype {
  uint8_t code;   ///< DLDataTypeCode: 0 int, 1 uint, 2 float, 4 bfloat, …
  uint8_t bits;   ///< Of an element; those of 2 or 4 take a byte each.
  uint16_t lanes; ///< 1.
} divisi_dtype;

/// A tensor in memory of the caller: DLPack's DLTensor, field by field, so that
/// a pointer to that may be passed.
typedef struct divisi_tensor {
  void *data;           ///< Of the first element, less byte_offset.
  divisi_device device; ///< The host.
  int32_t ndim;         ///< How many extents there are.
  divisi_dtype dtype;   ///< That of the entry's input or output.
  int64_t *shape;       ///< The extents; may be NULL without dimensions.
  /// From an element to the next of each dimension, in elements; NULL:
  /// row-major without gaps.
  int64_t *strides;
  uint64_t byte_offset; ///< In bytes.
} divisi_tensor;

/// An input or output of an entry, or a global. It lives as long as the
/// artifact.
typedef struct divisi_value_info {
  size_t struct_size;   ///< Set by the caller.
  const char *name;     ///< As the model has it.
  divisi_dtype dtype;   ///< Of its elements.
  int32_t ndim;         ///< How many extents.
  const int64_t *shape; ///< The extents of the whole tensor.
} divisi_value_info;

/// How an artifact is opened.
typedef struct divisi_artifact_options {
  size_t struct_size; ///< Set by the caller.
  /// Where external weights lie; NULL: the artifact's folder.
  const char *external_folder;
  /// A file with public keys, as `divisi key` prints them, whose native code is
  /// run beside that of this user and of those this user trusts always.
  const char *trusted_keys;
  /// Not 0: run native code whoever made it.
  int32_t allow_native_code;
  /// Not 0: hash all weights now, not when they are first read.
  int32_t verify_hashes;
  /// Told of notes and warnings; may be NULL.
  divisi_log log;
  void *log_user; ///< Handed to `log`.
} divisi_artifact_options;

/// Gives memory for an output: `bytes` at a multiple of `alignment`, or NULL,
/// which fails the run. It is the caller's to free.
typedef void *(*divisi_allocate)(void *user, size_t bytes, size_t alignment);

/// Gives each process what all have: `own` is `size` bytes of this one, and
/// `all` gets as many of each, in the order of the processes, as MPI_Allgather
/// does. Not 0: it failed.
typedef int32_t (*divisi_exchange)(void *user, const void *own, size_t size,
                                   void *all);

/// How processes are connected.
typedef struct divisi_processes_options {
  size_t struct_size;       ///< Set by the caller.
  uint32_t self;            ///< Which process this is, from 0 on.
  uint32_t count;           ///< How many there are.
  divisi_exchange exchange; ///< Called a few times; not NULL.
  void *exchange_user;      ///< Handed to `exchange`.
  /// By which name or address processes of other machines reach this one; NULL:
  /// by any address that it has. Processes of one machine use no network.
  const char *address;
  /// How long one process may take to reach another, in milliseconds; 0: 60000.
  int64_t timeout_ms;
} divisi_processes_options;

/// How a context is made.
typedef struct divisi_context_options {
  size_t struct_size; ///< Set by the caller.
  /// Backends in order of preference; NULL: "cpu,reference". GPUs are used
  /// where the artifact asks for them.
  const char *backends;
  /// Threads of the kernels of one device; 0: one.
  int32_t threads_per_device;
  /// How long a device waits for others in one step, or works at one kernel,
  /// before the run fails, in milliseconds; 0: 60000.
  int64_t timeout_ms;
  /// Not 0: do not check the indices that data gives.
  int32_t no_index_check;
  /// Not 0: record when each instruction began and ended, for write_trace.
  int32_t trace;
  /// For outputs whose `data` is NULL; NULL: these are an error.
  divisi_allocate allocate;
  void *allocate_user; ///< Handed to `allocate`.
  /// With num_local_ranks, the devices that run in this process, ascending; the
  /// others run in the other processes of `mpi_comm`. NULL: all, or with
  /// `mpi_comm` an equal share.
  const uint32_t *local_ranks;
  size_t num_local_ranks; ///< How many there are.
  /// Points to an MPI_Comm of MPI as this process has initialized it with
  /// MPI_THREAD_MULTIPLE; its processes create the context at the same time.
  /// NULL: this process is alone.
  const void *mpi_comm;
  /// With num_nccl_comms, an ncclComm_t for each device of this process, in the
  /// order of local_ranks, by the libnccl.so.2 of this process: of all devices
  /// of the artifact, with the device's number for its rank, and ready. In the
  /// first run of each entry, and in that after a failure, the communicators of
  /// its devices are split from it (ncclCommSplit), by all of its ranks at
  /// once; while that lasts nobody else calls it. It is never put to other use,
  /// nor finalized, destroyed or aborted: it stays the caller's, who may do
  /// that after the context was freed. NULL, and where an entry is not run by
  /// all devices: they make one. All processes give some, or none.
  void *const *nccl_comms;
  size_t num_nccl_comms; ///< How many: 0, or as many as devices run here.
  /// With num_cuda_devices, the number of the GPU of each device of this
  /// process, as CUDA counts them here; its primary context is used. NULL: that
  /// of its nccl_comms, else the device's own number.
  const int32_t *cuda_devices;
  size_t num_cuda_devices; ///< How many: 0, or as many as devices run here.
  /// In the place of `mpi_comm`: these processes create the context at the same
  /// time. They outlive it. NULL: this process is alone.
  divisi_processes *processes;
  /// Not 0: each process gets all of the outputs. Without, a process of several
  /// writes those parts of them that its own devices have.
  int32_t whole_outputs;
} divisi_context_options;

/// What a device holds, in bytes.
typedef struct divisi_memory_info {
  size_t struct_size; ///< Set by the caller.
  int64_t weights;    ///< Its part of the globals.
  int64_t arena;      ///< Activations.
  int64_t workspace;  ///< Of kernels, beyond the arena.
  int64_t packed;     ///< Weights in the layouts of kernels.
  int64_t messages;   ///< Of collectives.
  int64_t device;     ///< All of it that lies in memory of a GPU.
} divisi_memory_info;

/// The functions. Pointers to handles must not be NULL but where it says so.
typedef struct divisi_runtime_api {
  size_t struct_size;      ///< Of the library that has made it.
  uint32_t version;        ///< Of that library.
  divisi_error_api errors; ///< How errors are read.

  /// Loads and checks the artifact at `path`; `options` may be NULL.
  /// DIVISI_FILE, DIVISI_INVALID, DIVISI_VERSION.
  divisi_error *(*artifact_open)(const char *path,
                                 const divisi_artifact_options *options,
                                 divisi_artifact **artifact);
  /// The same of an artifact in memory, which is copied.
  divisi_error *(*artifact_open_bytes)(const void *bytes, size_t size,
                                       const divisi_artifact_options *options,
                                       divisi_artifact **artifact);
  /// Lets go of it; contexts keep what they need. NULL is nothing.
  void (*artifact_free)(divisi_artifact *artifact);
  /// SHA-256 of what it is, in hexadecimal.
  divisi_error *(*artifact_hash)(const divisi_artifact *artifact,
                                 const char **hash);
  /// For how many devices it was compiled.
  divisi_error *(*artifact_num_ranks)(const divisi_artifact *artifact,
                                      uint32_t *count);
  /// How many entries it has.
  divisi_error *(*artifact_num_entries)(const divisi_artifact *artifact,
                                        size_t *count);
  /// The name of an entry, and how many inputs and outputs it has.
  divisi_error *(*artifact_entry)(const divisi_artifact *artifact, size_t index,
                                  const char **name, size_t *num_inputs,
                                  size_t *num_outputs);
  /// An input of an entry.
  divisi_error *(*artifact_input)(const divisi_artifact *artifact, size_t entry,
                                  size_t index, divisi_value_info *info);
  /// An output of an entry.
  divisi_error *(*artifact_output)(const divisi_artifact *artifact,
                                   size_t entry, size_t index,
                                   divisi_value_info *info);
  /// How many globals (weights, states) it has.
  divisi_error *(*artifact_num_globals)(const divisi_artifact *artifact,
                                        size_t *count);
  /// A global, and whether some entry updates it.
  divisi_error *(*artifact_global)(const divisi_artifact *artifact,
                                   size_t index, divisi_value_info *info,
                                   int32_t *is_updated);

  /// Makes a context; `options` may be NULL. DIVISI_USAGE where these do not
  /// fit the artifact, DIVISI_UNSUPPORTED where nothing runs an operator,
  /// DIVISI_DEVICE where memory or threads run out, or MPI, CUDA or NCCL fails.
  divisi_error *(*context_create)(divisi_artifact *artifact,
                                  const divisi_context_options *options,
                                  divisi_context **context);
  /// Ends it. No call on it is in progress. NULL is nothing. With `mpi_comm`,
  /// all its processes do so at the same time; with `processes`, each when it
  /// likes.
  void (*context_free)(divisi_context *context);

  /// Runs an entry; NULL is the only one that there is. Tensors are in the
  /// order of the artifact. An output whose `data` is NULL gets memory from the
  /// context's `allocate`, and its other fields are filled in: its `shape` then
  /// lives as long as the artifact. DIVISI_INVALID for tensors that do not fit,
  /// and for bad indices in them; DIVISI_CANCELLED.
  divisi_error *(*run)(divisi_context *context, const char *entry,
                       const divisi_tensor *inputs, size_t num_inputs,
                       divisi_tensor *outputs, size_t num_outputs);
  /// Ends the run that is in progress, if any, when its devices come to their
  /// next instruction. By any thread. The context can be used again, unless
  /// other processes have a part in it, or state was being written.
  divisi_error *(*cancel)(divisi_context *context);

  /// Copies the present value of a global to `value`.
  divisi_error *(*read_global)(divisi_context *context, const char *name,
                               divisi_tensor *value);
  /// Gives all updated globals the values that the artifact has.
  divisi_error *(*reset_state)(divisi_context *context);

  /// What a device of this context holds.
  divisi_error *(*memory)(divisi_context *context, uint32_t rank,
                          divisi_memory_info *info);
  /// Which operators run on which backend, and what each run does to memory and
  /// with others, as JSON. It lives until the next call on the context.
  divisi_error *(*describe)(divisi_context *context, const char **json);
  /// Writes what the last run did as Chrome's trace events.
  divisi_error *(*write_trace)(divisi_context *context, const char *path);

  /// Connects processes by sockets; all of them call it at the same time. Where
  /// it fails on one, it does on all: DIVISI_DEVICE where one cannot reach
  /// another, DIVISI_VERSION where they have different versions of the library.
  divisi_error *(*processes_connect)(const divisi_processes_options *options,
                                     divisi_processes **processes);
  /// Ends the connections; the contexts have been freed. Waits for no process.
  /// NULL is nothing.
  void (*processes_free)(divisi_processes *processes);
} divisi_runtime_api;

/// The functions, for a caller that was compiled with `version`; NULL if the
/// library is of another major version or of an older minor one.
DIVISI_EXPORT const divisi_runtime_api *
divisi_runtime_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif // DIVISI_INCLUDE_DIVISI_C_RUNTIME_H
