//===- LoweredFacts.cpp - What a lowered module adds to a report ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Report/Report.h"

#include "dialects/Exec/Exec.h"
#include "dialects/NN/Locations.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/runtime/kernels/OperatorKinds.h"

#include <array>
#include <map>

using namespace mlir;
using namespace divisi;

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

namespace {

/// Says which kernels take the calls of a module.
class KernelFacts {
public:
  KernelFacts(Report &report, const rt::Backend *device)
      : report_(report), device_(device) {}
  void add(exec::ProgramOp program);
  /// What was found, in the report.
  void finish();

private:
  ReportKernel kernelOf(exec::CallOp call) const;

  Report &report_;
  const rt::Backend *device_; ///< What was placed there was asked of it.
  /// By entry, operator, head, backend and library.
  std::map<std::array<std::string, 5>, int64_t> calls_;
  /// By entry, node and operator.
  std::map<std::array<std::string, 3>, std::string> names_;
};

} // namespace

/// That of several which is no function of elements, if there is one.
static std::string headOf(exec::CallOp call) {
  if (!call.isFused()) {
    return call.getCallee().str();
  }
  Block &block = call.getBody().front();
  auto isWork = [](Operation &op) {
    StringRef name = op.getName().getStringRef();
    return !isa<exec::YieldOp>(op) && !rt::isElementwise(name);
  };
  auto head = llvm::find_if(block, isWork);
  Operation &found = head == block.end() ? block.front() : *head;
  return found.getName().getStringRef().str();
}

/// Of those that `run` asks unless told otherwise.
ReportKernel KernelFacts::kernelOf(exec::CallOp call) const {
  const rt::Backend *const backends[] = {&rt::cpuBackend(),
                                         &rt::referenceBackend()};
  std::string op = call.getCallee().str();
  ReportKernel made{.op = op, .head = headOf(call)};
  bool isThere = !call.getSpace().empty();
  if (!isThere && call.getCode()) { // which host kernels of this build run
    made.backend = "native";
    return made;
  }
  std::vector<rt::TensorInfo> operands = tensorsOf(call.getInputs());
  std::vector<rt::TensorInfo> results = tensorsOf(call.getOutputs());
  rt::Attributes attributes = toRuntimeAttributes(call.getConfig());
  rt::CallSite site{op, attributes, operands, results};
  std::optional<rt::Region> region =
      call.isFused() ? kernelRegion(call.getBody().front()) : std::nullopt;
  site.region = region ? &*region : nullptr;
  int version = rt::kernelVersion(op).value_or(0);
  const rt::Backend *taker =
      isThere ? device_ : rt::chooseBackend(site, version, backends);
  made.backend = taker     ? std::string(taker->name())
                 : isThere ? call.getSpace().str()
                           : std::string(backends[1]->name());
  rt::KernelCode code;
  if (FlatSymbolRefAttr symbol = call.getCodeAttr()) {
    auto module = call->getParentOfType<ModuleOp>();
    code.target =
        module.lookupSymbol<exec::CodeOp>(symbol.getAttr()).getTarget();
    site.code = &code;
  }
  const rt::Kernel *kernel = taker ? taker->find(site, version) : nullptr;
  made.library = kernel ? std::string(kernel->library) : "";
  if (site.code) { // what a library leaves of a region, or all of it
    made.library += made.library.empty() ? "generated" : " and generated";
  }
  return made;
}

void KernelFacts::add(exec::ProgramOp program) {
  std::string entry = entryOf(program);
  for (auto call : program.getBody().getOps<exec::CallOp>()) {
    ReportKernel kernel = kernelOf(call);
    ++calls_[{entry, kernel.op, kernel.head, kernel.backend, kernel.library}];
    auto note = [&](Operation *op, StringRef name) {
      names_.try_emplace({entry, nn::nodeName(op->getLoc()), name.str()},
                         kernel.name());
    };
    note(call, call.getCallee());
    if (call.isFused()) {
      for (Operation &part : call.getBody().front()) {
        note(&part, part.getName().getStringRef());
      }
    }
  }
}

void KernelFacts::finish() {
  for (const auto &[key, count] : calls_) {
    const auto &[entry, op, head, backend, library] = key;
    report_.kernels.push_back({entry, op, head, backend, library, count});
  }
  for (ReportRow &row : report_.rows) {
    auto found = names_.find({row.entry, row.node, row.op});
    if (found != names_.end()) {
      row.kernel = found->second;
    }
  }
}

std::string ReportKernel::name() const {
  return backend == "native" ? "generated" : library.empty() ? backend : library;
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
  KernelFacts kernels(report, device);
  for (auto program : module.getOps<exec::ProgramOp>()) {
    if (report.countsKernels) {
      kernels.add(program);
    }
  }
  kernels.finish();
  addCopies(module, report);
  for (auto code : module.getOps<exec::CodeOp>()) {
    report.codes.push_back(
        {code.getTarget().str(), int64_t(code.getBytes().size())});
  }
}
