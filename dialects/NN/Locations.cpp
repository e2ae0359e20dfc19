//===- Locations.cpp - Where an operator comes from, for people -----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/NN/Locations.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace {
/// What a location says, put in order.
struct Parts {
  std::string position; ///< `file:line:column`, of the first place.
  llvm::SmallVector<llvm::StringRef> nodes; ///< Each once.
  llvm::SmallVector<Location> callers;      ///< Of calls around it.
};
} // namespace

static std::string textOf(FileLineColRange place) {
  std::string text = place.getFilename().str();
  // Line 0 is all of the file.
  if (place.getStartLine() != 0) {
    text += ":" + std::to_string(place.getStartLine()) + ":" +
            std::to_string(place.getStartColumn());
  }
  return text;
}

static void collect(Location location, Parts &parts) {
  if (auto place = dyn_cast<FileLineColRange>(location)) {
    if (parts.position.empty()) {
      parts.position = textOf(place);
    }
  } else if (auto named = dyn_cast<NameLoc>(location)) {
    if (!llvm::is_contained(parts.nodes, named.getName().getValue())) {
      parts.nodes.push_back(named.getName().getValue());
    }
    collect(named.getChildLoc(), parts);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collect(call.getCallee(), parts);
    parts.callers.push_back(call.getCaller());
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    if (auto position =
            dyn_cast_if_present<LocationAttr>(fused.getMetadata())) {
      collect(position, parts);
    }
    for (Location part : fused.getLocations()) {
      collect(part, parts);
    }
  } else if (auto opaque = dyn_cast<OpaqueLoc>(location)) {
    collect(opaque.getFallbackLocation(), parts);
  }
}

static Parts partsOf(Location location) {
  Parts parts;
  collect(location, parts);
  return parts;
}

std::string divisi::nn::nodeName(Location location) {
  Parts parts = partsOf(location);
  return parts.nodes.empty() ? std::string() : parts.nodes.front().str();
}

std::string divisi::nn::describeLocation(Location location) {
  Parts parts = partsOf(location);
  std::string text = parts.position;
  if (!parts.nodes.empty()) {
    text += text.empty() ? "" : ": ";
    text += parts.nodes.size() == 1 ? "node " : "nodes ";
    llvm::interleave(
        parts.nodes,
        [&](llvm::StringRef node) { text += ("'" + node + "'").str(); },
        [&] { text += ", "; });
  }
  for (Location caller : parts.callers) {
    std::string from = describeLocation(caller);
    text += from.empty() ? "" : ", called from " + from;
  }
  return text;
}

/// Null if `fused` names no rules.
static ArrayAttr rulesOf(FusedLoc fused) {
  auto rules = dyn_cast_if_present<ArrayAttr>(fused.getMetadata());
  return rules && llvm::all_of(rules, llvm::IsaPred<StringAttr>) ? rules
                                                                 : ArrayAttr();
}

std::vector<std::string> divisi::nn::rulesOf(Location location) {
  std::vector<std::string> names;
  location->walk([&](Location part) {
    auto fused = dyn_cast<FusedLoc>(part);
    if (ArrayAttr rules = fused ? ::rulesOf(fused) : ArrayAttr()) {
      for (auto rule : rules.getAsRange<StringAttr>()) {
        if (!llvm::is_contained(names, rule.getValue())) {
          names.push_back(rule.str());
        }
      }
    }
    return WalkResult::advance();
  });
  return names;
}

/// `location` without what withRules has added around it.
static Location withoutRules(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  bool isAdded = fused && ::rulesOf(fused) && fused.getLocations().size() == 1;
  return isAdded ? withoutRules(fused.getLocations().front()) : location;
}

Location divisi::nn::withRules(Location location,
                               const std::vector<std::string> &rules) {
  std::vector<std::string> names = rulesOf(location);
  for (const std::string &rule : rules) {
    if (!llvm::is_contained(names, rule)) {
      names.push_back(rule);
    }
  }
  if (names.empty()) {
    return location;
  }
  MLIRContext *context = location.getContext();
  SmallVector<Attribute> attributes;
  for (const std::string &name : names) {
    attributes.push_back(StringAttr::get(context, name));
  }
  return FusedLoc::get({withoutRules(location)},
                       ArrayAttr::get(context, attributes), context);
}

Location divisi::nn::withPosition(Location location, FileLineColLoc position) {
  return FusedLoc::get({location}, position, location.getContext());
}

Location divisi::nn::withoutPosition(Location location) {
  MLIRContext *context = location.getContext();
  if (auto named = dyn_cast<NameLoc>(location)) {
    return NameLoc::get(named.getName(), withoutPosition(named.getChildLoc()));
  }
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    return CallSiteLoc::get(withoutPosition(call.getCallee()),
                            withoutPosition(call.getCaller()));
  }
  auto fused = dyn_cast<FusedLoc>(location);
  if (!fused) {
    return location;
  }
  llvm::SmallVector<Location> locations;
  for (Location part : fused.getLocations()) {
    locations.push_back(withoutPosition(part));
  }
  Attribute metadata = fused.getMetadata();
  return FusedLoc::get(locations,
                       isa_and_present<LocationAttr>(metadata) ? Attribute()
                                                               : metadata,
                       context);
}

//===----------------------------------------------------------------------===//
// Names that people give
//===----------------------------------------------------------------------===//

// Brackets and backslashes stand in names of nodes.
bool divisi::nn::matchesName(llvm::StringRef name, llvm::StringRef text) {
  if (name.find_first_of("*?") == llvm::StringRef::npos) {
    return name == text;
  }
  std::string pattern;
  for (char letter : name) {
    pattern += letter == '[' || letter == '\\' ? "\\" : "";
    pattern += letter;
  }
  auto glob = llvm::GlobPattern::create(pattern);
  if (!glob) {
    llvm::consumeError(glob.takeError());
    return false;
  }
  return glob->match(text);
}

/// Whether `name` means a run of whole parts of `scope`: h.0 of
/// transformer.h.0.
static bool isPartOf(llvm::StringRef name, llvm::StringRef scope) {
  llvm::SmallVector<size_t> begins = {0}, ends;
  for (auto [i, letter] : llvm::enumerate(scope)) {
    if (letter == '.' || letter == '/') {
      ends.push_back(i);
      begins.push_back(i + 1);
    }
  }
  ends.push_back(scope.size());
  for (auto [first, begin] : llvm::enumerate(begins)) {
    for (size_t end : llvm::ArrayRef(ends).drop_front(first)) {
      if (divisi::nn::matchesName(name, scope.slice(begin, end))) {
        return true;
      }
    }
  }
  return false;
}

bool divisi::nn::isNamed(Operation *op, llvm::StringRef name) {
  llvm::StringRef kind = op->getName().getStringRef();
  if (matchesName(name, kind) ||
      (kind.consume_front("nn.") && matchesName(name, kind))) {
    return true;
  }
  auto scope = op->getAttrOfType<StringAttr>(kScopeAttr);
  if (scope && isPartOf(name, scope.getValue())) {
    return true;
  }
  return op->getLoc()
      ->walk([&](Location part) {
        auto named = dyn_cast<NameLoc>(part);
        return named && matchesName(name, named.getName())
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

void divisi::nn::copyScope(Operation *from, Operation *to) {
  if (Attribute scope = from->getDiscardableAttr(kScopeAttr)) {
    to->setDiscardableAttr(kScopeAttr, scope);
  }
}
