//===- LoadedArtifact.cpp - What sessions of an artifact share ------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Support/Signature.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/RowCode.h"
#include "runtime/core/LoadedArtifactImpl.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::rt;
namespace pb = divisi::artifact;

static ValueInfo describeValue(const std::string &name,
                               const Placement &placement) {
  return {name, placement.type, placement.dims, {}};
}

void LoadedArtifact::Impl::describe() {
  for (const ResolvedEntry &entry : resolved->entries) {
    if (entry.isBody()) {
      break; // they are the last
    }
    EntryInfo &info = entries.emplace_back();
    info.name = entry.message->name();
    for (size_t i = 0; i < entry.inputs.size(); ++i) {
      const pb::Value &value = entry.message->inputs(static_cast<int>(i));
      info.inputs.push_back(describeValue(value.name(), *entry.inputs[i]));
      info.inputs.back().isShared = value.is_shared();
    }
    for (size_t i = 0; i < entry.outputs.size(); ++i) {
      const pb::Value &value = entry.message->outputs(static_cast<int>(i));
      info.outputs.push_back(describeValue(value.name(), *entry.outputs[i]));
    }
  }
  for (size_t i = 0; i < resolved->globals.size(); ++i) {
    const pb::Global &message =
        resolved->manifest->globals(static_cast<int>(i));
    globals.push_back({describeValue(message.name(), *resolved->globals[i]),
                       message.kind(), resolved->isUpdated[i],
                       message.sha256()});
  }
}

/// Why sessions do not run native code; empty: they do.
static std::string whyUntrusted(const ArtifactFile &file,
                                const LoadOptions &options) {
  if (options.allowsNativeCode) {
    return "";
  }
  if (file.signer().empty()) {
    return "nobody has signed it";
  }
  std::string key = publicKeyText(file.signer());
  if (!file.isSignatureRight()) {
    return "its signature by '" + key + "' is wrong";
  }
  bool isTrusted = std::ranges::count(options.trustedKeys, file.signer()) != 0;
  return isTrusted ? "" : "it is signed by '" + key + "', which is not trusted";
}

/// Code for the host can do whatever this process can, and code for a GPU reach
/// all memory that the process has there. Calls can go without the one, and not
/// without the other. Code for another device is run by who made the session
/// with it.
Status LoadedArtifact::Impl::chooseCodes(const LoadOptions &options) {
  const pb::Manifest &manifest = *resolved->manifest;
  std::string untrusted =
      manifest.codes().empty() ? "" : whyUntrusted(file, options);
  for (const pb::Code &code : manifest.codes()) {
    std::string_view level = levelOfTarget(code.target());
    if (level.empty()) {
      continue;
    }
    ++nativeCode.codes;
    nativeCode.bytes += code.bytes();
    if (!runsOnHost(code.target())) {
      nativeCode.refused =
          "it is for " + std::string(level) + ", which this processor is not";
    }
  }
  bool hasGrids =
      std::ranges::any_of(manifest.codes(), [](const pb::Code &code) {
        return isGridTarget(code.target());
      });
  if (hasGrids && !untrusted.empty()) {
    return makeError(ExitCode::Unsupported,
                     "the artifact's code for GPUs is not run: ", untrusted,
                     "; trust who signed it (--trust), allow native code "
                     "whoever made it (--allow-native), or compile the model "
                     "again");
  }
  if (nativeCode.codes > 0 && !untrusted.empty()) {
    nativeCode.refused = untrusted;
  }
  for (int i = 0; i < manifest.codes_size(); ++i) {
    std::string_view target = manifest.codes(i).target();
    bool isRefused =
        !levelOfTarget(target).empty() && !nativeCode.refused.empty();
    codes.push_back(isRefused ? KernelCode()
                              : KernelCode{target, file.codeBytes(i)});
  }
  return {};
}

Status LoadedArtifact::Impl::load(const LoadOptions &options) {
  Expected<std::unique_ptr<ResolvedManifest>> read =
      resolveManifest(file.manifest());
  if (!read) {
    return read.status();
  }
  resolved = std::move(*read);
  describe();
  return chooseCodes(options);
}

LoadedArtifact::LoadedArtifact(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

LoadedArtifact::~LoadedArtifact() = default;

Expected<std::shared_ptr<LoadedArtifact>>
LoadedArtifact::open(const std::string &path, const LoadOptions &options) {
  Expected<ArtifactFile> file =
      ArtifactFile::open(path, {options.externalFolder, options.verifyHashes});
  if (!file) {
    return file.status();
  }
  if (!options.artifactHash.empty() && options.artifactHash != file->hash()) {
    return makeError(ExitCode::Invalid, "'", path,
                     "' was replaced while processes agreed on it; run again");
  }
  auto impl = std::make_unique<Impl>(path, std::move(*file));
  if (Status status = impl->load(options); !status.isOk()) {
    return status.in("'" + path + "'");
  }
  return std::shared_ptr<LoadedArtifact>(new LoadedArtifact(std::move(impl)));
}

const std::string &LoadedArtifact::path() const { return impl_->path; }

const std::string &LoadedArtifact::hash() const { return impl_->file.hash(); }

uint32_t LoadedArtifact::numRanks() const {
  return impl_->resolved->manifest->num_ranks();
}

std::span<const EntryInfo> LoadedArtifact::entries() const {
  return impl_->entries;
}

std::span<const GlobalInfo> LoadedArtifact::globals() const {
  return impl_->globals;
}

const NativeCodeUse &LoadedArtifact::nativeCode() const {
  return impl_->nativeCode;
}
