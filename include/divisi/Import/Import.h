//===- Import.h - From an ONNX model to nn ----------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_IMPORT_IMPORT_H
#define DIVISI_IMPORT_IMPORT_H

#include "divisi/Import/DeviceAnnotations.h"
#include "divisi/Import/OnnxLimits.h"
#include "divisi/Support/GlobalStore.h"
#include "divisi/runtime/kernels/HostTensor.h"
#include "divisi/runtime/tensors/TensorLabels.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace divisi {

/// What a user says about the model's inputs.
struct ImportOptions {
  /// An input's shape, and its element type where that is known (.npz).
  struct Input {
    rt::Dims dims;                 ///< Each at least 0.
    std::optional<rt::DType> type; ///< Unset: whatever the model says.
  };
  /// A shape of an input that matchLabels (TensorLabels.h) finds.
  struct Given {
    rt::TensorLabel label; ///< Of the tensor that has the shape.
    Input input;           ///< Its shape and type.
  };
  std::map<std::string, int64_t> dims; ///< --dim NAME=N
  /// --shape; it comes before what `tensors` say.
  std::map<std::string, Input> inputs;
  std::vector<Given> tensors; ///< --shapes-from
  /// Of how many micro-batches the shapes are, one behind the other in dim 0 of
  /// whatever is no scalar: the program is that of one of them.
  int64_t batches = 1;
  /// --shared-inputs: the inputs without a batch, which all micro-batches read;
  /// all others that are no scalars have one. Unset: those are shared whose dim
  /// 0, by the names of open dims, is not the batch.
  std::optional<std::vector<std::string>> shared;
  /// --constant: what the inputs of these names are. They are no inputs of the
  /// program then, but constants, from which shapes may follow.
  std::map<std::string, rt::HostTensor> constants;
  /// --state: inputs that a run takes from the one before, each with the output
  /// that is its next value. They are neither inputs nor outputs then, but
  /// states of the program. A '*' in both names stands for the same text.
  std::vector<std::pair<std::string, std::string>> states;
  /// Of the failure where shapes and types of inputs contradict the model:
  /// Invalid if the tensors are to be run as well.
  ExitCode misfit = ExitCode::Usage;
  /// Results of more elements are computed at run time, not at import.
  int64_t foldLimit = 1'048'576;
  /// Whether a training step is made of it: batch norms in training mode update
  /// their running statistics then.
  bool trains = false;
  /// --max-trip-count: the most steps of a loop whose number of steps only the
  /// run knows.
  std::optional<int64_t> maxTripCount;
  int64_t seed = 0;  ///< Of what dropout draws, in a training step.
  OnnxLimits limits; ///< On what the file may ask for.
  /// Told, in whole sentences, what is done to the model so that it can be
  /// read; unset: nobody.
  std::function<void(const std::string &)> note;
  /// Told of the annotations of a model that has device configurations, and
  /// what the model has become; unset: nobody.
  std::function<void(const AnnotatedModel &model, mlir::ModuleOp imported)>
      annotated;
};

/// Turns the ONNX model at `path` into a module with one function @forward,
/// whose arguments (the inputs without a value) and results carry their ONNX
/// names as `nn.name`. Weights in the file, and in files beneath its folder,
/// stay mapped in `store`. A model whose bytes `store` has in memory under that
/// name came through a pipe: files that it names lie beneath the working
/// directory. Loads what it needs of the NN and func dialects. Fails with File;
/// Usage for dims that are not given, or do not fit the model; Invalid;
/// Unsupported.
Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importOnnx(const std::string &path, const ImportOptions &options,
           mlir::MLIRContext &context, GlobalStore &store);

} // namespace divisi

#endif // DIVISI_IMPORT_IMPORT_H
