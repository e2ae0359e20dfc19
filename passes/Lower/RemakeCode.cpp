//===- RemakeCode.cpp - Make code that came in anew -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Lower/RemakeCode.h"

#include "divisi/Codegen/GridKernels.h"
#include "divisi/Codegen/NativeCode.h"
#include "divisi/runtime/code/GridCode.h"
#include "divisi/runtime/code/GridTarget.h"
#include "divisi/runtime/code/ProductRegion.h"
#include "divisi/runtime/code/RowCode.h"
#include "passes/Lower/CallSites.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace divisi;
using namespace divisi::exec;

static constexpr char nothingMade[] = "no code is made of a call that names it";

static bool isForHost(CodeOp code) {
  return !rt::levelOfTarget(code.getTarget()).empty();
}

static bool isForGrid(CodeOp code) {
  return rt::isGridTarget(code.getTarget());
}

bool divisi::hasNativeCode(ModuleOp module) {
  return llvm::any_of(module.getOps<CodeOp>(), [](CodeOp code) {
    return isForHost(code) || isForGrid(code);
  });
}

std::vector<std::string> ForeignCode::warnings() const {
  std::vector<std::string> lines;
  if (!dropped.empty()) {
    lines.push_back("the input's code is left out, and parts of calls run one "
                    "by one without it: " +
                    llvm::join(dropped, "; "));
  }
  if (!kept.empty()) {
    lines.push_back("the native code of the artifact is not signed, and runs "
                    "only with --allow-native: it has, as the input has it, " +
                    llvm::join(kept, "; "));
  }
  return lines;
}

Status divisi::assembleKernels(ArrayRef<CodeOp> kernels, StringRef ptxTarget,
                               const UserCache &cache) {
  if (kernels.empty()) {
    return {};
  }
  divisi::Expected<GpuAssembler> assembler = GpuAssembler::find();
  if (!assembler) {
    return assembler.status();
  }
  std::string architecture(rt::architectureOfTarget(ptxTarget));
  std::vector<std::string> ptx, cubins = assembler->targets(architecture);
  if (cubins.empty()) {
    return {};
  }
  for (CodeOp code : kernels) {
    ptx.push_back(code.getBytes().str());
  }
  auto images = assembler->assemble(ptx, architecture, &cache);
  if (!images) {
    return images.status();
  }
  for (auto [kernel, image] : llvm::zip(kernels, *images)) {
    CodeOp code = kernel;
    code.setTarget(rt::imageTarget(ptxTarget, cubins));
    code.setBytes(image);
  }
  return {};
}

namespace {

/// Collects what calls want of each code, and gives it to them.
class CodeRemaker {
public:
  explicit CodeRemaker(ModuleOp module) : module_(module) {}
  ForeignCode run();

private:
  /// A code of the module as the calls that name it want it.
  struct Wanted {
    std::string structure; ///< That all these calls have.
    std::string bytes;     ///< What was made of it.
    std::string why;       ///< Why nothing can be made; else empty.
    bool isNamed = false;  ///< By some call.
  };

  void addCall(CallOp call, CallSites &sites);
  void add(CodeOp code, const rt::CallSite &site);
  void assemble();
  void finish(CodeOp code, const Wanted &wanted);
  void letGo(CodeOp code);

  ModuleOp module_;
  UserCache cache_{"native"};
  llvm::MapVector<CodeOp, Wanted> codes_;
  ForeignCode foreign_;
};

} // namespace

/// Whether the generator knows the processor or GPU of `target`: a dump may
/// name any.
static bool isKnown(StringRef target) {
  auto isLevel = [](StringRef level) {
    return level == "x86-64-v3" || level == "x86-64-v4";
  };
  StringRef ptx = rt::ptxOf(target);
  StringRef architecture = rt::architectureOfTarget(ptx);
  int64_t number = 0;
  if (architecture.consume_front("sm_")) {
    return !architecture.getAsInteger(10, number) && number >= 80 &&
           number < 1000;
  }
  return isLevel(rt::levelOfTarget(target)) ||
         isLevel(rt::levelOfEmulated(target));
}

/// Makes what `site` wants of `code`, once for all calls.
void CodeRemaker::add(CodeOp code, const rt::CallSite &site) {
  Wanted &wanted = codes_[code];
  StringRef target = code.getTarget();
  bool isGrid = isForGrid(code);
  if (!wanted.why.empty()) {
    return;
  }
  if (!isKnown(target)) {
    wanted.why = "no code is made for '" + target.str() + "'";
    return;
  }
  if (!(isGrid ? generatesGridKernel(site) : generatesCode(site))) {
    wanted.why = nothingMade;
    return;
  }
  std::string structure = isGrid ? gridStructure(site) : codeStructure(site);
  if (!wanted.structure.empty()) {
    wanted.why = wanted.structure == structure
                     ? ""
                     : "calls of different structure name it";
    return;
  }
  wanted.structure = structure;
  divisi::Expected<std::string> made =
      isGrid
          ? generateGridKernel(site, std::string(rt::ptxOf(target)), &cache_)
          : generateCode(site, std::string(rt::levelOfTarget(target)), &cache_);
  wanted.why = made.status().message();
  wanted.bytes = made ? std::move(*made) : "";
}

void CodeRemaker::addCall(CallOp call, CallSites &sites) {
  auto lookup = [&](FlatSymbolRefAttr name) {
    CodeOp code = name ? module_.lookupSymbol<CodeOp>(name) : CodeOp();
    auto known = codes_.find(code);
    if (known == codes_.end()) {
      return CodeOp();
    }
    known->second.isNamed = true;
    return code;
  };
  CodeOp code = lookup(call.getCodeAttr());
  CodeOp fallback = lookup(call.getFallbackAttr());
  sites.all(call, [&](const rt::CallSite &site, int) {
    rt::CallSite without = site;
    without.code = nullptr;
    if (code) {
      add(code, without);
    }
    if (!fallback) {
      return true;
    }
    if (auto region = rt::ProductRegion::of(without)) {
      add(fallback, region->product());
    } else {
      codes_[fallback].why = nothingMade;
    }
    return true;
  });
}

/// What was an image with cubins becomes one again, if that can be done here.
void CodeRemaker::assemble() {
  std::map<std::string, SmallVector<CodeOp>> images;
  for (auto &[code, wanted] : codes_) {
    StringRef target = code.getTarget(), ptx = rt::ptxOf(target);
    if (isForGrid(code) && wanted.isNamed && wanted.why.empty() &&
        target != ptx) {
      images[ptx.str()].push_back(code);
      code.setTarget(ptx.str());
    }
  }
  for (const auto &[ptx, kernels] : images) {
    Status status = assembleKernels(kernels, ptx, cache_);
    if (!status.isOk() && status.code() != ExitCode::Unsupported) {
      for (CodeOp code : kernels) {
        codes_[code].why = status.message();
      }
    }
  }
}

void CodeRemaker::letGo(CodeOp code) {
  for (auto program : module_.getOps<ProgramOp>()) {
    for (CallOp call : program.getBody().getOps<CallOp>()) {
      if (call.getCode() == code.getSymName()) {
        call.removeCodeAttr();
      }
    }
  }
  code.erase();
}

void CodeRemaker::finish(CodeOp code, const Wanted &wanted) {
  if (!wanted.isNamed) {
    code.erase();
    return;
  }
  if (wanted.why.empty()) {
    return;
  }
  std::string text =
      "exec.code @" + code.getSymName().str() + ", since " + wanted.why;
  (isForHost(code) ? foreign_.dropped : foreign_.kept).push_back(text);
  if (isForHost(code)) {
    letGo(code);
  }
}

ForeignCode CodeRemaker::run() {
  for (auto code : module_.getOps<CodeOp>()) {
    if (isForHost(code) || isForGrid(code)) {
      codes_[code];
    }
  }
  llvm::StringSet<> updated = updatedGlobals(module_);
  for (auto program : module_.getOps<ProgramOp>()) {
    CallSites sites(program, updated);
    for (CallOp call : program.getBody().getOps<CallOp>()) {
      addCall(call, sites);
    }
  }
  for (auto &[code, wanted] : codes_) {
    bool isMade = !wanted.structure.empty() && wanted.why.empty();
    if (isMade) {
      code.setBytes(wanted.bytes);
    } else if (wanted.why.empty()) {
      wanted.why = nothingMade;
    }
  }
  assemble();
  for (auto &[code, wanted] : codes_) {
    finish(code, wanted);
  }
  return std::move(foreign_);
}

ForeignCode divisi::remakeCode(ModuleOp module) {
  return CodeRemaker(module).run();
}
