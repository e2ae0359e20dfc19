//===- ClusterVerb.cpp - divisi cluster -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActsOn.h"
#include "Console.h"
#include "Verbs.h"

#include "divisi/Cluster/ClusterFile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace divisi;

namespace {

/// Prints a preset, for whoever wants to change it, or reads a file back.
class ClusterVerb : public Verb {
public:
  ClusterVerb() : Verb("cluster") {}

  Status run() override {
    divisi::Expected<Cluster> cluster = findCluster(spec_);
    if (!cluster) {
      return cluster.status();
    }
    printClusterYAML(*cluster, textOut());
    return Status();
  }

private:
  cl::opt<std::string> spec_{cl::Positional, cl::Required, cl::sub(command),
                             cl::desc("NAME:N|FILE.yaml")};
};

} // namespace

std::unique_ptr<Verb> divisi::makeClusterVerb() {
  return std::make_unique<ClusterVerb>();
}
