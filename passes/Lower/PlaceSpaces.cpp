//===- PlaceSpaces.cpp - Let calls work in a device's memory --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the device has kernels for is called there, and what such a call makes
// lies there. A fused call that it has none for becomes calls of its parts, if
// it has kernels for each. Whoever works elsewhere gets a copy, one for all who
// do:
//
//   %x = input 0                        %x = input 0
//   %0 = alloc                          %d = alloc            "cuda"
//   call "nn.neg"(%x) into (%0)         copy %x into %d       on "copy"
//   %1 = alloc                          %0 = alloc            "cuda"
//   call "nn.exp"(%0) into (%1)    →    call "nn.neg"(%d) into (%0)
//   output 0 %1                         %1 = alloc            "cuda"
//                                       call "nn.exp"(%0) into (%1)
//                                       %h = alloc
//                                       copy %1 into %h       on "copy"
//                                       output 0 %h
//
// The list says how long buffers are needed and in which order copies are made,
// so it decides what runs beside what. A copy to the host stands behind what
// makes the value: others wait for it. One to the device stands one call of the
// device before the first that reads it, and is made beside that call; earlier
// it would hold memory, and keep copies back that stand behind it.
//
// A body is placed before the programs with its loop. What the loop carries
// lies where the body makes it, what it gives where the body reads it, in the
// body and around it: between iterations nothing is copied to another space.
//
// A global that is updated has one place in all programs of the module: on the
// device, unless steps, which read and update it, would copy it no less often
// there, nor others where steps do not care. So weights and moments of a
// training step stay where the step computes, and who wants them on the host
// gets copies.
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/Passes.h"
#include "passes/Lower/SpacePlacer.h"
#include "passes/Lower/SplitRegion.h"

#include "dialects/SPMD/Strategy.h"
#include "divisi/Codegen/GridKernels.h"
#include "divisi/Evaluate/Evaluator.h"

#include <map>

namespace divisi {
#define GEN_PASS_DEF_PLACESPACES
#include "passes/Lower/Passes.h.inc"
} // namespace divisi

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

namespace {

/// See Passes.td.
class PlaceSpacesPass : public divisi::impl::PlaceSpacesBase<PlaceSpacesPass> {
public:
  using PlaceSpacesBase::PlaceSpacesBase;
  explicit PlaceSpacesPass(const DeviceTarget &device) : device_(device) {
    space = std::string(device.backend->space());
    isReached = device.reaches != nullptr;
  }
  void runOnOperation() override;

private:
  LogicalResult checkOptions();
  bool hasKernel(const rt::CallSite &site, int version) const;
  bool takes(CallOp call, CallSites &sites) const;
  bool takesCall(CallOp call, CallSites &sites);
  bool reaches(InstructionInterface op) const;
  using Placers = std::vector<std::shared_ptr<SpacePlacer>>;
  void setInputs(EntryOp entry, Placers &placers);
  void choose(EntryOp entry, Placers &placers);
  void split(ProgramOp program);
  LogicalResult collectBodies(ProgramOp program);
  LogicalResult collect(EntryOp entry);
  bool leaveToHost();
  void place(SpacePlacer &placer);

  llvm::DenseMap<Attribute, bool> known_; ///< Of one program.
  llvm::StringSet<> updated_, collected_; ///< Globals; entries.
  llvm::StringSet<> states_; ///< Globals that are updated, on the device.
  BodyPlaces bodies_;
  /// With their programs; bodies before those with their loops.
  std::vector<std::pair<EntryOp, Placers>> entries_;
  DeviceTarget device_; ///< Without a backend `kernels` are what it has.
};

} // namespace

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

LogicalResult PlaceSpacesPass::checkOptions() {
  if (space.empty() || space == kHostSpace) {
    return mlir::emitError(getOperation().getLoc(),
                           "place-spaces needs the name of a device's memory "
                           "space, got '")
           << space << "'";
  }
  for (const std::string &name : kernels) {
    if (!rt::kernelVersion(name)) {
      return mlir::emitError(getOperation().getLoc(),
                             "no operator has a kernel '")
             << name << "'";
    }
  }
  return success();
}

/// Of its own, or one that takes the code that is made of the call later on.
bool PlaceSpacesPass::hasKernel(const rt::CallSite &site, int version) const {
  if (device_.backend->find(site, version)) {
    return true;
  }
  if (device_.codeTarget.empty() || !generatesGridKernel(site)) {
    return false;
  }
  rt::KernelCode code{device_.codeTarget, {}};
  rt::CallSite withCode = site;
  withCode.code = &code;
  return device_.backend->find(withCode, version) != nullptr;
}

bool PlaceSpacesPass::takes(CallOp call, CallSites &sites) const {
  if (!device_.backend) {
    return llvm::is_contained(kernels, call.getCallee());
  }
  // Nobody is asked about a call that makes nothing on any rank.
  auto isOfCall = [&](const rt::Kernel &kernel) {
    return call.getCallee() == StringRef(kernel.op) &&
           kernel.version == rt::kernelVersion(kernel.op);
  };
  return llvm::any_of(device_.backend->kernels(), isOfCall) &&
         sites.all(call, [&](const rt::CallSite &site, int version) {
           return hasKernel(site, version);
         });
}

bool PlaceSpacesPass::takesCall(CallOp call, CallSites &sites) {
  auto [answer, isNew] = known_.try_emplace(sites.keyOf(call), false);
  if (isNew) {
    answer->second = takes(call, sites);
  }
  return answer->second;
}

/// Whether ranks meet in the memory of devices for what `op` moves or combines.
bool PlaceSpacesPass::reaches(InstructionInterface op) const {
  if (!isReached || !device_.reaches) {
    return isReached;
  }
  auto collective = dyn_cast<CollectiveOp>(op.getOperation());
  Type moved = collective ? Type(collective.getSource().getType())
                          : cast<TransferOp>(op).getFrom();
  RankedTensorType tensor = cast<BufferType>(moved).getTensor();
  std::optional<rt::DType> type = fromMLIRType(tensor.getElementType());
  std::optional<rt::ReduceKind> combines;
  if (collective && (collective.getKind() == "all_reduce" ||
                     collective.getKind() == "reduce_scatter")) {
    combines = rt::parseReduceKind(
        stringifyReduceKind(spmd::getLocal(tensor).getLayout().partialKind));
  }
  return type && device_.reaches(*type, combines);
}

/// Lets inputs of a body lie where all its programs would have them.
void PlaceSpacesPass::setInputs(EntryOp entry, Placers &placers) {
  InputPlaces places(entry.getInputTypes().size(), true);
  for (const auto &placer : placers) {
    known_.clear();
    placer->setInputs({});
    InputPlaces wanted = placer->wantedInputs(
        places.size(),
        [&](CallOp call, CallSites &sites) { return takesCall(call, sites); },
        [&](InstructionInterface op) { return reaches(op); });
    for (auto [all, own] : llvm::zip_equal(places, wanted)) {
      all &= own;
    }
  }
  for (const auto &placer : placers) {
    placer->setInputs(places);
  }
  bodies_[entry.getSymName()] = std::move(places);
}

/// Chooses for all programs of an entry. Ranks of different programs meet in
/// one memory: that of devices if all who give something have it there, and all
/// who take something can take it there.
void PlaceSpacesPass::choose(EntryOp entry, Placers &placers) {
  std::set<StepName> sent, apart;
  while (true) {
    std::map<StepName, bool> give, all, some;
    for (const auto &placer : placers) {
      known_.clear();
      placer->choose(
          [&](CallOp call, CallSites &sites) { return takesCall(call, sites); },
          [&](InstructionInterface op) {
            return !apart.contains(stepNameOf(op)) && reaches(op);
          },
          sent);
      for (auto [name, isThere, onlyBrings] : placer->steps()) {
        if (!onlyBrings) {
          give.try_emplace(name, true).first->second &= isThere;
        }
        all.try_emplace(name, true).first->second &= isThere;
        some[name] |= isThere;
      }
    }
    std::set<StepName> newlySent;
    for (auto [name, areThere] : give) {
      if (areThere) {
        newlySent.insert(name);
      }
    }
    if (newlySent != sent) {
      sent = std::move(newlySent);
      continue;
    }
    size_t known = apart.size();
    for (auto [name, isThere] : some) {
      if (isThere && !all.at(name)) {
        apart.insert(name);
      }
    }
    if (apart.size() == known) {
      return;
    }
  }
}

void PlaceSpacesPass::place(SpacePlacer &placer) {
  placer.place();
  int64_t left = 0, met = 0;
  auto list = [](const llvm::MapVector<StringRef, int64_t> &counts,
                 int64_t &all) {
    std::string names;
    for (const auto &[name, count] : counts) {
      all += count;
      if (count != 0) {
        names += (names.empty() ? ": " : ", ") + name.str() + " (" +
                 std::to_string(count) + ")";
      }
    }
    return names;
  };
  std::string names = list(placer.onHost, left);
  std::string steps = list(placer.metOnHost, met);
  numOnDevice += placer.numOnDevice;
  numOnHost += left;
  numCopies += placer.numCopies;
  numCopiedBytes += placer.copiedBytes;
  if (report) {
    mlir::emitRemark(placer.program().getLoc())
        << placer.numOnDevice << " calls work in memory space '" << space
        << "', and " << left << " on the host" << names << "; "
        << placer.numCopies << " copies move " << placer.copiedBytes
        << " bytes";
    if (met != 0) {
      mlir::emitRemark(placer.program().getLoc())
          << met << " collectives of its values go through the host" << steps;
    }
  }
}

/// Lets fused calls that the device has no kernel for be their parts.
void PlaceSpacesPass::split(ProgramOp program) {
  known_.clear();
  CallSites sites(program, updated_);
  for (CallOp call :
       llvm::make_early_inc_range(program.getBody().getOps<CallOp>())) {
    if (call.isFused() && !takesCall(call, sites)) {
      numSplit += splitRegion(
          call, [&](CallOp part) { return takesCall(part, sites); });
    }
  }
}

/// Finds the programs of the bodies of all loops of `program`.
LogicalResult PlaceSpacesPass::collectBodies(ProgramOp program) {
  for (auto loop : program.getBody().getOps<LoopOp>()) {
    if (failed(collect(
            getOperation().lookupSymbol<EntryOp>(loop.getBodyAttr())))) {
      return failure();
    }
  }
  return success();
}

/// Finds all programs of an entry, unless that was done.
LogicalResult PlaceSpacesPass::collect(EntryOp entry) {
  if (!collected_.insert(entry.getSymName()).second) {
    return success();
  }
  Placers placers;
  for (auto program : getOperation().getOps<ProgramOp>()) {
    if (program.getEntry() != entry.getSymName()) {
      continue;
    }
    if (failed(collectBodies(program))) {
      return failure();
    }
    split(program);
    placers.push_back(std::make_shared<SpacePlacer>(program, space, updated_,
                                                    states_, bodies_));
    if (failed(placers.back()->index())) {
      return failure();
    }
  }
  entries_.emplace_back(entry, std::move(placers));
  return success();
}

/// Lets globals rest with the host that would be copied no less often on the
/// device. Whether there are such.
bool PlaceSpacesPass::leaveToHost() {
  llvm::StringMap<StateCopies> counts;
  for (auto &[entry, placers] : entries_) {
    for (const auto &placer : placers) {
      known_.clear();
      placer->countStates(
          [&](CallOp call, CallSites &sites) { return takesCall(call, sites); },
          [&](InstructionInterface op) { return reaches(op); }, counts);
    }
  }
  bool isAny = false;
  for (const auto &count : counts) {
    const StateCopies &copies = count.getValue();
    isAny |= copies.there >= copies.withHost && states_.erase(count.getKey());
  }
  return isAny;
}

void PlaceSpacesPass::runOnOperation() {
  if (failed(checkOptions())) {
    return signalPassFailure();
  }
  updated_ = updatedGlobals(getOperation());
  states_ = updated_;
  collected_.clear();
  entries_.clear();
  for (auto entry : getOperation().getOps<EntryOp>()) {
    if (failed(collect(entry))) {
      return signalPassFailure();
    }
  }
  do {
    bodies_.clear();
    for (auto &[entry, placers] : entries_) {
      if (entry.getIsBody()) {
        setInputs(entry, placers);
      }
      choose(entry, placers);
    }
  } while (leaveToHost());
  for (auto &[entry, placers] : entries_) {
    for (const auto &placer : placers) {
      place(*placer);
    }
  }
  entries_.clear();
}

std::unique_ptr<Pass> divisi::createPlaceSpaces(const DeviceTarget &device) {
  return std::make_unique<PlaceSpacesPass>(device);
}
