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
/// unless told otherwise.
static void countKernels(exec::ProgramOp program, CallCounts &calls) {
  const rt::Backend *const backends[] = {&rt::cpuBackend(),
                                         &rt::referenceBackend()};
  std::string entry = entryOf(program);
  for (auto call : program.getBody().getOps<exec::CallOp>()) {
    std::vector<rt::TensorInfo> operands = tensorsOf(call.getInputs());
    std::vector<rt::TensorInfo> results = tensorsOf(call.getOutputs());
    rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
    std::string op = call.getCallee().str();
    const rt::Backend *taker =
        rt::chooseBackend({op, attributes, operands, results},
                          rt::kernelVersion(op).value_or(0), backends);
    ++calls[{entry, op, std::string((taker ? taker : backends[1])->name())}];
  }
}

void divisi::addLoweredFacts(ModuleOp module, Report &report) {
  CallCounts calls;
  for (auto program : module.getOps<exec::ProgramOp>()) {
    if (report.countsKernels) {
      countKernels(program, calls);
    }
  }
  for (const auto &[key, count] : calls) {
    const auto &[entry, op, backend] = key;
    report.kernels.push_back({entry, op, backend, count});
  }
}
