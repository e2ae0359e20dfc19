//===- LoweredFacts.cpp - What a lowered module adds to a report ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Report.h"

#include "dialects/Exec/Exec.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"

#include <map>

using namespace mlir;
using namespace divisi;

/// How many calls there are, by entry, operator and backend.
using CallCounts =
    std::map<std::tuple<std::string, std::string, std::string>, int64_t>;

static std::vector<rt::TensorInfo> tensorsOf(ValueRange buffers) {
  std::vector<rt::TensorInfo> infos;
  for (Value buffer : buffers) {
    auto type = cast<exec::BufferType>(buffer.getType());
    infos.push_back(kernelTensor(type.getTensor()).value_or(rt::TensorInfo()));
  }
  return infos;
}

/// The entry for which `program` runs, also where it is that of a body.
static std::string entryOf(exec::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  llvm::SmallPtrSet<Operation *, 4> seen;
  for (exec::ProgramOp next = program; next && seen.insert(next).second;) {
    program = next;
    next = nullptr;
    auto entry = module.lookupSymbol<exec::EntryOp>(program.getEntryAttr());
    if (entry && entry.getIsBody()) {
      module.walk([&](exec::LoopOp loop) {
        bool runs = loop.getBody() == program.getEntry();
        next = runs ? loop->getParentOfType<exec::ProgramOp>() : next;
        return runs ? WalkResult::interrupt() : WalkResult::advance();
      });
    }
  }
  return program.getEntry().str();
}

/// Counts which backend takes the calls of `program`, of those that `run` asks
/// unless told otherwise; what was placed on a device was asked of it.
static void countKernels(exec::ProgramOp program, const rt::Backend *device,
                         CallCounts &calls) {
  const rt::Backend *const backends[] = {&rt::cpuBackend(),
                                         &rt::referenceBackend()};
  std::string entry = entryOf(program);
  for (auto call : program.getBody().getOps<exec::CallOp>()) {
    std::vector<rt::TensorInfo> operands = tensorsOf(call.getInputs());
    std::vector<rt::TensorInfo> results = tensorsOf(call.getOutputs());
    rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
    std::string op = call.getCallee().str();
    if (!call.getSpace().empty()) {
      std::string name(device ? StringRef(device->name()) : call.getSpace());
      ++calls[{entry, op, name}];
      continue;
    }
    if (call.getCode()) { // which host kernels of this build run
      ++calls[{entry, op, "native"}];
      continue;
    }
    rt::CallSite site{op, attributes, operands, results};
    std::optional<rt::Region> region =
        call.isFused() ? kernelRegion(call.getBody().front()) : std::nullopt;
    site.region = region ? &*region : nullptr;
    const rt::Backend *taker =
        rt::chooseBackend(site, rt::kernelVersion(op).value_or(0), backends);
    ++calls[{entry, op, std::string((taker ? taker : backends[1])->name())}];
  }
}

/// The copies of one program between the host and each device.
static std::map<StringRef, ReportCopies> copiesOf(exec::ProgramOp program) {
  std::map<StringRef, ReportCopies> spaces;
  for (auto copy : program.getBody().getOps<exec::CopyOp>()) {
    exec::BufferType from = copy.getSource().getType();
    exec::BufferType to = copy.getTarget().getType();
    if (from != to) {
      ReportCopies &copies = spaces[(from.isOnHost() ? to : from).getSpace()];
      ++copies.copies;
      copies.bytes += program.bytesOf(to).value_or(0);
    }
  }
  return spaces;
}

/// Of each entry the program that copies most.
static void addCopies(ModuleOp module, Report &report) {
  for (auto program : module.getOps<exec::ProgramOp>()) {
    for (auto &[space, copies] : copiesOf(program)) {
      copies.entry = program.getEntry().str();
      copies.space = space.str();
      auto known = llvm::find_if(
          report.spaceCopies, [&, &copies = copies](const ReportCopies &other) {
            return other.entry == copies.entry && other.space == copies.space;
          });
      if (known == report.spaceCopies.end()) {
        report.spaceCopies.push_back(copies);
      } else if (copies.bytes > known->bytes) {
        *known = copies;
      }
    }
  }
}

void divisi::addLoweredFacts(ModuleOp module, Report &report,
                             const rt::Backend *device) {
  CallCounts calls;
  for (auto program : module.getOps<exec::ProgramOp>()) {
    if (report.countsKernels) {
      countKernels(program, device, calls);
    }
  }
  addCopies(module, report);
  for (auto code : module.getOps<exec::CodeOp>()) {
    report.codes.push_back(
        {code.getTarget().str(), int64_t(code.getBytes().size())});
  }
  for (const auto &[key, count] : calls) {
    const auto &[entry, op, backend] = key;
    report.kernels.push_back({entry, op, backend, count});
  }
}
