//===- CodeOptions.cpp - For which machines code is made ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeOptions.h"

#include "divisi/runtime/backends/cuda/CudaBackend.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridTarget.h"
#include "divisi/runtime/code/RowCode.h"
#include "divisi/runtime/comm/Communicator.h"

using namespace llvm;
using namespace divisi;

divisi::Expected<std::string> divisi::nativeLevelOf(const GivenOptions &given) {
  const std::string &native = given.native, &targetCpu = given.targetCpu;
  if (native != "auto" && native != "off") {
    return Status(ExitCode::Usage,
                  "--native '" + native + "': expected auto or off");
  }
  if (targetCpu != "cluster" && targetCpu != "host" &&
      targetCpu != "x86-64-v3" && targetCpu != "x86-64-v4") {
    return Status(ExitCode::Usage, "--target-cpu '" + targetCpu +
                                       "': expected cluster, host, x86-64-v3 "
                                       "or x86-64-v4");
  }
  std::string level = targetCpu == "cluster" ? kTargetLevel.str()
                      : targetCpu == "host"  ? std::string(rt::hostLevel())
                                             : targetCpu;
  return native == "off" ? std::string() : level;
}

/// What NCCL does not combine as the reference does goes through the host.
static bool reachesByNccl(rt::DType type,
                          std::optional<rt::ReduceKind> combines) {
  return !combines || rt::combineQueued(type, *combines);
}

/// The first compute capability that there are kernels for.
static constexpr int64_t kFirstCapability = 80;

static DeviceTarget targetOf(std::string code, bool meets) {
  DeviceTarget device;
  device.backend = &rt::cudaBackend();
  device.reaches = meets ? &reachesByNccl : nullptr;
  device.codeTarget = std::move(code);
  return device;
}

/// Code for GPUs from that compute capability on.
static std::string codeFor(int64_t capability, bool assembles) {
  std::string target = rt::ptxTarget("sm_" + std::to_string(capability));
  return assembles ? rt::imageTarget(target, {}) : target;
}

Status divisi::addDevice(const GivenOptions &given, CompileOptions &options) {
  const std::string &cubins = given.cubins, &collectives = given.collectives;
  if (cubins != "auto" && cubins != "off") {
    return Status(ExitCode::Usage,
                  "--cubins '" + cubins + "': expected auto or off");
  }
  if (collectives != "nccl" && collectives != "host") {
    return Status(ExitCode::Usage,
                  "--collectives '" + collectives + "': expected nccl or host");
  }
  bool assembles = cubins == "auto", meets = collectives == "nccl";
  StringRef architecture = given.gpu;
  int64_t number = 0;
  bool isArchitecture = architecture.starts_with("sm_") &&
                        !architecture.drop_front(3).getAsInteger(10, number) &&
                        number >= kFirstCapability;
  if (architecture == "auto") {
    options.deviceOf = [assembles, meets](const Cluster &machine) {
      int64_t capability = machine.pace().computeCapability;
      return capability < kFirstCapability
                 ? DeviceTarget()
                 : targetOf(codeFor(capability, assembles), meets);
    };
  } else if (isArchitecture) {
    options.device = targetOf(codeFor(number, assembles), meets);
  } else if (architecture == "emulated") {
    options.device = targetOf(rt::emulatedTarget(rt::hostLevel()), meets);
  } else if (architecture != "off") {
    return Status(ExitCode::Usage, "--gpu '" + architecture.str() +
                                       "': expected auto, off, emulated, or "
                                       "sm_N with N from 80 on (sm_90: H100)");
  }
  return Status();
}
