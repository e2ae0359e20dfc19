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
#include "dialects/SPMD/Strategy.h"
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
  return backend == "native" ? "generated"
         : library.empty()   ? backend
                             : library;
}

namespace {

/// The copies of a module's programs between the host and each device.
class CopyFacts {
public:
  CopyFacts(ModuleOp module, const Cluster &cluster)
      : module_(module), cluster_(cluster) {}
  /// Of each entry those of the program that copies most.
  std::vector<ReportCopies> run();

private:
  using BySpace = std::map<StringRef, HostCopies>;
  BySpace ofProgram(exec::ProgramOp program);
  void addBody(exec::LoopOp loop, exec::ProgramOp program, BySpace &spaces);

  ModuleOp module_;
  const Cluster &cluster_;
};

} // namespace

/// As often as the body may run.
void CopyFacts::addBody(exec::LoopOp loop, exec::ProgramOp program,
                        BySpace &spaces) {
  for (auto body : module_.getOps<exec::ProgramOp>()) {
    if (body.getEntry() == loop.getBody() &&
        llvm::is_contained(body.getRanks(), program.getRanks().front())) {
      for (auto &[space, copies] : ofProgram(body)) {
        spaces[space].add(copies, loop.getMax());
      }
    }
  }
}

CopyFacts::BySpace CopyFacts::ofProgram(exec::ProgramOp program) {
  BySpace spaces;
  for (Operation &op : program.getBody().front()) {
    if (auto loop = dyn_cast<exec::LoopOp>(op)) {
      addBody(loop, program, spaces);
    }
    auto copy = dyn_cast<exec::CopyOp>(op);
    if (!copy || copy.getSource().getType() == copy.getTarget().getType()) {
      continue;
    }
    exec::BufferType from = copy.getSource().getType();
    exec::BufferType to = copy.getTarget().getType();
    HostCopies cost = hostCopyOf(to.getTensor(),
                                 spmd::lookupGrid(&op, to.getGrid()), cluster_);
    cost.bytes = program.bytesOf(to).value_or(cost.bytes);
    spaces[(from.isOnHost() ? to : from).getSpace()].add(cost);
  }
  return spaces;
}

std::vector<ReportCopies> CopyFacts::run() {
  std::map<std::pair<std::string, StringRef>, HostCopies> most;
  for (auto program : module_.getOps<exec::ProgramOp>()) {
    auto entry = module_.lookupSymbol<exec::EntryOp>(program.getEntryAttr());
    if (!entry.getIsBody()) {
      for (const auto &[space, copies] : ofProgram(program)) {
        HostCopies &known = most[{program.getEntry().str(), space}];
        known = copies.bytes >= known.bytes ? copies : known;
      }
    }
  }
  std::vector<ReportCopies> found;
  for (const auto &[key, copies] : most) {
    found.push_back({copies, key.first, key.second.str()});
  }
  return found;
}

/// What an entry takes for `copies`.
static int64_t copyNanoseconds(ArrayRef<ReportCopies> copies, StringRef entry) {
  int64_t sum = 0;
  for (const ReportCopies &own : copies) {
    sum += own.entry == entry ? own.nanoseconds : 0;
  }
  return sum;
}

/// What is copied takes the place of what was planned to be.
static void addCopies(std::vector<ReportCopies> copies, Report &report) {
  for (ScheduleRecord &record : report.schedule) {
    record.nanoseconds += copyNanoseconds(copies, record.entry) -
                          copyNanoseconds(report.spaceCopies, record.entry);
  }
  report.spaceCopies = std::move(copies);
  sumRows(report);
}

void divisi::addLoweredFacts(ModuleOp module, const Cluster &cluster,
                             Report &report, const rt::Backend *device) {
  KernelFacts kernels(report, device);
  for (auto program : module.getOps<exec::ProgramOp>()) {
    if (report.countsKernels) {
      kernels.add(program);
    }
  }
  kernels.finish();
  bool isLowered = !module.getOps<exec::ProgramOp>().empty();
  std::vector<ReportCopies> copies = CopyFacts(module, cluster).run();
  // On the host alone it would run as planned on no device.
  if (isLowered && (device || !copies.empty())) {
    addCopies(std::move(copies), report);
  }
  for (auto code : module.getOps<exec::CodeOp>()) {
    report.codes.push_back(
        {code.getTarget().str(), int64_t(code.getBytes().size())});
  }
}
