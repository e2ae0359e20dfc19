//===- Emit.cpp - From a lowered module to an artifact --------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Artifact/Emit.h"

#include "Manifest.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Support/UserKey.h"
#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/RowCode.h"
#include "divisi/runtime/verify/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <filesystem>
#include <list>

using namespace mlir;
using namespace divisi;

namespace {

/// Finds the bytes of every global that a manifest lists.
class DataCollector {
public:
  DataCollector(ModuleOp module, GlobalStore &store, const EmitOptions &options,
                std::string folder)
      : module_(module), store_(store), options_(options),
        folder_(std::move(folder)), values_(module, store) {}

  /// Data in the order of the draft's globals; points into this object.
  Expected<std::vector<rt::GlobalData>> run(const ManifestDraft &draft);

  int64_t weightBytes = 0;

private:
  Status runInit();
  Status keepDerived(DerivedValues &derived);
  Expected<rt::GlobalData> dataOf(nn::GlobalOp global);
  Expected<rt::GlobalData> externalData(nn::GlobalOp global);
  Expected<rt::GlobalData> keep(rt::HostTensor tensor);

  ModuleOp module_;
  GlobalStore &store_;
  const EmitOptions &options_;
  std::string folder_;
  GlobalValues values_;
  std::list<rt::HostTensor>
      kept_; ///< What the data of derived globals points to.
};

} // namespace

/// Puts the values of derived globals into `values`.
Status DataCollector::runInit() {
  DerivedValues *derived = options_.derived.get();
  if (derived && derived->areComputed) {
    for (const auto &[name, value] : derived->values) {
      values_.write(name, value);
    }
    return Status();
  }
  for (auto function : module_.getOps<func::FuncOp>()) {
    if (spmd::isEntry(function) || function.isExternal()) {
      continue;
    }
    auto results = evaluateFunction(function, {}, values_);
    if (!results) {
      return results.status();
    }
  }
  return derived ? keepDerived(*derived) : Status();
}

/// Makes what `@init` has computed known to later emissions.
Status DataCollector::keepDerived(DerivedValues &derived) {
  for (auto global : module_.getOps<nn::GlobalOp>()) {
    if (global.getKind() == nn::GlobalKind::Derived) {
      std::string name = global.getSymName().str();
      Expected<rt::HostTensor> value = values_.read(name);
      if (!value) {
        return value.status();
      }
      derived.values[name] = *value;
    }
  }
  derived.areComputed = true;
  return Status();
}

Expected<rt::GlobalData> DataCollector::keep(rt::HostTensor tensor) {
  kept_.push_back(std::move(tensor));
  return rt::GlobalData{kept_.back().bytes(), {}, 0};
}

/// The file relative to the artifact's folder: both may move together.
Expected<rt::GlobalData> DataCollector::externalData(nn::GlobalOp global) {
  std::error_code error;
  std::filesystem::path relative = std::filesystem::relative(
      std::filesystem::path(global.getFile()->str()), folder_, error);
  if (error || relative.empty() || *relative.begin() == "..") {
    return Status(ExitCode::Usage,
                  "external weights must be below the artifact's folder: '" +
                      global.getFile()->str() + "' is outside of '" + folder_ +
                      "'; write the artifact beside the model, or embed the "
                      "weights");
  }
  rt::GlobalData data;
  data.externalFile = relative.string();
  data.externalOffset = *global.getOffset();
  return data;
}

/// Zeros are not stored, derived globals have been computed, all others lie in
/// the blob or in a file of the model.
Expected<rt::GlobalData> DataCollector::dataOf(nn::GlobalOp global) {
  if (global.getZero()) {
    return rt::GlobalData();
  }
  if (global.getKind() == nn::GlobalKind::Derived) {
    auto value = values_.read(global.getSymName().str());
    return value ? keep(*value) : Expected<rt::GlobalData>(value.status());
  }
  if (!global.getFile()) {
    return Status(ExitCode::File,
                  "the bytes of '" + global.getSymName().str() +
                      "' are missing: the model names no file for them; a "
                      "model without weights can be planned, not compiled");
  }
  bool hasFile = !store_.bytesInMemory(*global.getFile());
  bool isParameter = global.getKind() == nn::GlobalKind::Parameter;
  auto bytes =
      store_.bytes({global.getFile()->str(), int64_t(*global.getOffset()),
                    int64_t(*global.getLength())});
  if (!bytes) {
    return Status(bytes.status().code(), "the bytes of '" +
                                             global.getSymName().str() +
                                             "': " + bytes.status().message());
  }
  if (options_.externalWeights && isParameter && hasFile) {
    Expected<rt::GlobalData> data = externalData(global);
    if (data) {
      data->bytes = *bytes;
      data->isMapped = true;
    }
    return data;
  }
  return rt::GlobalData{*bytes, {}, 0, hasFile};
}

/// The manifest lists the module's globals first, then the constants of
/// programs.
Expected<std::vector<rt::GlobalData>>
DataCollector::run(const ManifestDraft &draft) {
  Status status = runInit();
  if (!status.isOk()) {
    return status;
  }
  std::vector<rt::GlobalData> data;
  for (const artifact::Global &message : draft.manifest.globals()) {
    size_t constant = data.size() - std::min(data.size(), draft.numGlobals);
    Expected<rt::GlobalData> next = rt::GlobalData();
    if (data.size() < draft.numGlobals) {
      next = dataOf(module_.lookupSymbol<nn::GlobalOp>(message.name()));
    } else {
      auto tensor = fromDenseAttr(
          cast<DenseElementsAttr>(draft.constants[constant]),
          rt::parseDType(
              draft.manifest.tensors(int(message.tensor())).dtype()));
      next = tensor ? keep(*tensor) : Expected<rt::GlobalData>(tensor.status());
    }
    if (!next) {
      return next.status();
    }
    weightBytes += next->bytes.size();
    data.push_back(*next);
  }
  return data;
}

/// Verifies what is about to be written as a session would on loading it, so
/// that no artifact exists that nobody can load.
static Status verifyDraft(artifact::Manifest &manifest,
                          const std::vector<rt::GlobalData> &data,
                          const rt::Backend *device) {
  for (auto [i, source] : llvm::enumerate(data)) {
    manifest.mutable_globals(i)->set_bytes(source.bytes.size());
  }
  std::vector<const rt::Backend *> backends = {&rt::referenceBackend()};
  if (device) {
    backends.push_back(device);
  }
  return rt::verifyManifest(manifest, backends)
      .in("nothing was written, because the program could not run");
}

/// Whether hosts or GPUs are to run code of the artifact, which the user
/// vouches for.
static bool hasNativeCode(const artifact::Manifest &manifest) {
  return llvm::any_of(manifest.codes(), [](const artifact::Code &code) {
    return !rt::levelOfTarget(code.target()).empty() ||
           rt::isGridTarget(code.target());
  });
}

// The manifest first: it says which globals are needed, and a module that it
// cannot describe costs no reading of weights.
Expected<EmitSummary> divisi::emitArtifact(ModuleOp module, GlobalStore &store,
                                           const std::string &path,
                                           const EmitOptions &options) {
  Expected<ManifestDraft> draft = draftManifest(module);
  if (!draft) {
    return draft.status();
  }
  draft->manifest.set_report(options.report);
  if (options.machineDevices > 0) {
    artifact::Machine &machine = *draft->manifest.mutable_machine();
    machine.set_ranks(options.machineDevices);
    machine.set_links(options.machineLinks);
  }
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error) { // the folder of this process is gone
    return makeError(ExitCode::File, "cannot write '", path,
                     "': ", error.message());
  }
  std::filesystem::path folder = whole.parent_path().lexically_normal();
  DataCollector collector(module, store, options, folder.string());
  Expected<std::vector<rt::GlobalData>> data = collector.run(*draft);
  if (!data) {
    return data.status();
  }
  if (Status status = verifyDraft(draft->manifest, *data, options.device);
      !status.isOk()) {
    return status;
  }
  EmitSummary summary;
  std::string key;
  if (options.isCodeOwn && hasNativeCode(draft->manifest)) {
    Expected<std::string> made = makeUserKey(KeyUse::Signing);
    key = made ? *made : "";
    summary.unsignedCode = made.status().message();
  }
  Expected<int64_t> written = rt::writeArtifact(
      path, std::move(draft->manifest), *data, draft->codes, key);
  if (!written) {
    return written.status();
  }
  summary.weightBytes = collector.weightBytes;
  summary.fileBytes = *written;
  return summary;
}

Expected<TemporaryArtifact>
divisi::emitTemporaryArtifact(ModuleOp module, GlobalStore &store,
                              const EmitOptions &options) {
  Expected<UnnamedFile> file = UnnamedFile::make();
  if (!file) {
    return file.status();
  }
  TemporaryArtifact artifact(std::move(*file));
  Expected<EmitSummary> emitted =
      emitArtifact(module, store, artifact.path(), options);
  if (!emitted) {
    return emitted.status().in("a temporary file in '" + temporaryFolder() +
                               "'");
  }
  return artifact;
}
