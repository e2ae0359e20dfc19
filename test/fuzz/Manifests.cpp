//===- Manifests.cpp - Any bytes as an artifact, or its manifest ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hardly any random bytes have the hash that an artifact begins with, so that
// others are taken for the manifest behind it.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "divisi/runtime/artifact/ArtifactFile.h"
#include "divisi/runtime/verify/Verify.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace divisi;
using namespace divisi::rt;

/// In a file, which has a name while it is read.
static void openArtifact(std::string_view bytes) {
  int file = memfd_create("artifact", MFD_CLOEXEC);
  fuzz::require(file >= 0 && write(file, bytes.data(), bytes.size()) ==
                                 static_cast<ssize_t>(bytes.size()),
                "a file of memory");
  auto opened = ArtifactFile::open("/proc/self/fd/" + std::to_string(file));
  close(file);
  if (!opened) {
    fuzz::requireFailure(opened.status());
  }
}

void fuzz::readManifests(std::string_view bytes) {
  if (bytes.starts_with("DIVISI")) {
    return openArtifact(bytes);
  }
  artifact::Manifest manifest;
  if (!manifest.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  const Backend *backends[] = {&referenceBackend()};
  if (Status status = verifyManifest(manifest, backends); !status.isOk()) {
    fuzz::requireFailure(status);
  }
}
