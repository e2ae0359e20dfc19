//===- Handles.h - What the handles of the C API are ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_CAPI_HANDLES_H
#define DIVISI_RUNTIME_CAPI_HANDLES_H

#include "divisi-c/runtime.h"
#include "divisi/C/Errors.h"
#include "divisi/C/Handle.h"
#include "divisi/runtime/comm/ProcessWorld.h"
#include "divisi/runtime/core/Session.h"
#include "divisi/runtime/launch/Processes.h"

#include <memory>

/// A loaded artifact.
struct divisi_artifact : divisi::Handle {
  static constexpr uint32_t kind = 0x41525446; ///< Tells handles apart.
  /// Of one, which is not null.
  explicit divisi_artifact(std::shared_ptr<divisi::rt::LoadedArtifact> loaded)
      : Handle(kind), loaded(std::move(loaded)) {}

  std::shared_ptr<divisi::rt::LoadedArtifact> loaded; ///< Never null.
};

/// Processes that are connected.
struct divisi_processes : divisi::Handle {
  static constexpr uint32_t kind = 0x50524f43; ///< Tells handles apart.
  /// These, which are not null.
  explicit divisi_processes(std::shared_ptr<divisi::rt::ProcessWorld> world)
      : Handle(kind), world(std::move(world)) {}

  std::shared_ptr<divisi::rt::ProcessWorld> world; ///< Never null.
};

/// A session, which one thread at a time uses.
struct divisi_context : divisi::Handle {
  static constexpr uint32_t kind = 0x43545854; ///< Tells handles apart.
  /// Without a session yet.
  divisi_context() : Handle(kind) {}
  /// Waits for the other processes of the caller's communicator.
  ~divisi_context();

  /// Those; null if there are none.
  std::shared_ptr<divisi::rt::ProcessWorld> world;
  bool ownsWorld = false;                       ///< Whether these end with it.
  std::chrono::milliseconds timeout{0};         ///< Of the session.
  std::unique_ptr<divisi::rt::Session> session; ///< Never null.
  /// By entry, where each process gets all of the outputs; else empty.
  std::vector<std::unique_ptr<divisi::rt::GatheredOutputs>> gathered;
  divisi_allocate allocate = nullptr; ///< As it was given.
  void *allocateUser = nullptr;       ///< Handed to it.
  std::string text;                   ///< What describe() gave last.
};

namespace divisi::rt {

/// DLPack's name of a type; lanes are 0 for one that it has not.
divisi_dtype dtypeOf(DType type);

/// What a caller's tensor shows; its shape and type are those of `info`. Fails
/// with Invalid where they are not, or it does not lie in the host's memory, or
/// has elements and no data. `what` names it in messages.
Expected<TensorView> viewOf(const divisi_tensor &tensor, const ValueInfo &info,
                            const std::string &what);

/// The functions of runtime.h by what they are about.
void addArtifactFunctions(divisi_runtime_api &api);
void addContextFunctions(divisi_runtime_api &api);
void addProcessesFunctions(divisi_runtime_api &api);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_CAPI_HANDLES_H
