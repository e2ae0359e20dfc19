//===- Clusters.cpp - Any bytes as a cluster ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"

#include "divisi/Cluster/ClusterFile.h"

#include "llvm/Support/raw_ostream.h"

using namespace divisi;

static std::string printed(const Cluster &cluster) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printClusterYAML(cluster, os);
  return text;
}

void fuzz::readClusters(std::string_view bytes) {
  auto cluster = parseClusterYAML(bytes);
  if (!cluster) {
    return fuzz::requireFailure(cluster.status());
  }
  std::string text = printed(*cluster);
  auto again = parseClusterYAML(text);
  fuzz::require(bool(again), "what is printed is read");
  fuzz::require(printed(*again) == text, "and is printed as it was");
}
