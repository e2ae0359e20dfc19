//===- Emit.h - From a lowered module to an artifact ------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of a compilation: the programs of a module in `exec`, with the
// bytes of its globals, become one `.divisi` file. `@init` runs here, once, by
// the reference kernels; its results are stored like any other global.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_ARTIFACT_EMIT_H
#define DIVISI_ARTIFACT_EMIT_H

#include "divisi/Support/GlobalStore.h"
#include "divisi/Support/Status.h"
#include "divisi/Support/TemporaryFile.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/kernels/Kernel.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

namespace divisi {

/// What `@init` has computed, by the names of the derived globals. Kept by who
/// emits one model many times.
struct DerivedValues {
  bool areComputed = false; ///< False until `@init` has run.
  std::map<std::string, rt::HostTensor> values; ///< Whole, by name.
};

/// How an artifact is written.
struct EmitOptions {
  /// Leave parameters in the files that they came in; the artifact names them
  /// by paths relative to its own folder.
  bool externalWeights = false;
  /// JSON for `divisi explain`, stored as it is.
  std::string report;
  /// So many devices share a machine of the cluster, by links of that name; 0:
  /// nothing is known.
  uint32_t machineDevices = 0;
  std::string machineLinks; ///< Empty where each device is a machine.
  /// Filled by the first emission and taken by later ones of modules that have
  /// the same `@init`; null: `@init` runs.
  std::shared_ptr<DerivedValues> derived;
  /// The kernels of the device that programs are for; null: there is none.
  const rt::Backend *device = nullptr;
  /// Whether this process has made all native code that the module has: what
  /// others may have made is never signed.
  bool isCodeOwn = false;
};

/// What was written.
struct EmitSummary {
  int64_t fileBytes = 0;   ///< Of the artifact itself.
  int64_t weightBytes = 0; ///< Of all globals, in the artifact or outside.
  /// Why nobody vouches for native code that there is; else empty.
  std::string unsignedCode;
};

/// Writes `module`, for which `verify-lower` holds, to `path` (under a
/// temporary name first). `store` has the bytes of the globals. ExitCode::File
/// if a global's file or the output cannot be read or written,
/// ExitCode::Invalid if a global's bytes do not fit its type.
Expected<EmitSummary> emitArtifact(mlir::ModuleOp module, GlobalStore &store,
                                   const std::string &path,
                                   const EmitOptions &options = {});

/// An artifact that goes with this object: it has no name, so that nothing
/// stays of it, however the process ends.
class TemporaryArtifact {
public:
  /// Of an empty file.
  explicit TemporaryArtifact(UnnamedFile file)
      : file_(std::move(file)), path_(file_.path()) {}
  /// What opens it, in this process. Not of one that was moved.
  const std::string &path() const { return path_; }

private:
  UnnamedFile file_;
  std::string path_;
};

/// emitArtifact to such a file.
Expected<TemporaryArtifact>
emitTemporaryArtifact(mlir::ModuleOp module, GlobalStore &store,
                      const EmitOptions &options = {});

} // namespace divisi

#endif // DIVISI_ARTIFACT_EMIT_H
