//===- LayoutSyntax.cpp - Grids and layouts as text in IR -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/LayoutSyntax.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace divisi::spmd {

bool isIdentifier(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

std::optional<std::string> verifyGrid(const Grid &grid) {
  if (std::optional<std::string> error = grid.verify()) {
    return error;
  }
  for (const GridAxis &axis : grid.axes()) {
    if (!isIdentifier(axis.name)) {
      return "axis name '" + axis.name +
             "' is not an identifier of letters, digits and '_'";
    }
  }
  if (grid.numPositions() > kMaxPositions) {
    return "the grid has " + std::to_string(grid.numPositions()) +
           " positions, expected at most " + std::to_string(kMaxPositions);
  }
  return std::nullopt;
}

ParseResult parseGrid(AsmParser &parser, Grid &grid) {
  llvm::SmallVector<GridAxis, 4> axes;
  auto parseAxis = [&]() -> ParseResult {
    llvm::StringRef name;
    GridAxis &axis = axes.emplace_back();
    if (parser.parseKeyword(&name) || parser.parseEqual() ||
        parser.parseInteger(axis.size)) {
      return failure();
    }
    axis.name = name.str();
    if (failed(parser.parseOptionalColon())) {
      return success();
    }
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() {
      return parser.parseInteger(axis.weights.emplace_back());
    });
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseAxis)) {
    return failure();
  }
  grid = Grid(axes);
  return success();
}

// `0:5`
static ParseResult parseInterval(AsmParser &parser, Interval &interval) {
  return failure(parser.parseInteger(interval.begin) || parser.parseColon() ||
                 parser.parseInteger(interval.end));
}

ParseResult parseLayout(
    AsmParser &parser,
    llvm::function_ref<std::optional<AxisId>(llvm::StringRef, llvm::SMLoc)>
        axis,
    Layout &layout) {
  auto parseAxes = [&](llvm::SmallVectorImpl<AxisId> &axes) -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef names;
    if (parser.parseKeyword(&names)) {
      return failure();
    }
    // A bare identifier of MLIR's may hold dots: `x.y` is one token.
    for (llvm::StringRef name : llvm::split(names, '.')) {
      std::optional<AxisId> found = axis(name, loc);
      if (!found) {
        return failure();
      }
      axes.push_back(*found);
    }
    return success();
  };
  auto parseDim = [&]() -> ParseResult {
    DimLayout &dim = layout.dims.emplace_back();
    if (succeeded(parser.parseOptionalStar())) {
      return success();
    }
    if (parseAxes(dim.axes)) {
      return failure();
    }
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::OptionalBraces,
        [&]() { return parseInterval(parser, dim.bounds.emplace_back()); });
  };
  layout = Layout();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim)) {
    return failure();
  }
  if (failed(parser.parseOptionalKeyword("partial"))) {
    return success();
  }
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef kindName;
  if (parser.parseKeyword(&kindName)) {
    return failure();
  }
  std::optional<ReduceKind> kind = parseReduceKind(kindName);
  if (!kind) {
    return parser.emitError(loc)
           << "'" << kindName
           << "' is not a kind of partial value, expected one of sum, prod, "
              "max, min, and, or";
  }
  layout.partialKind = *kind;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&]() {
        return parseAxes(layout.partialAxes);
      })) {
    return failure();
  }
  llvm::sort(layout.partialAxes);
  return success();
}

void printSplit(llvm::raw_ostream &os, const NamedSplit &split) {
  llvm::ListSeparator separator;
  for (const NamedLoopSplit &loop : split.loops) {
    os << separator << loop.loop << "@" << llvm::join(loop.axes, ".");
  }
  if (!split.carry.empty()) {
    os << separator << "carry sum@" << llvm::join(split.carry, ".");
    if (split.carrySet != 0) {
      os << " in " << split.carrySet;
    }
  }
}

/// `x.y`; nothing if some part is no name, or there is none.
static std::optional<llvm::SmallVector<std::string, 2>>
readAxisNames(llvm::StringRef text) {
  llvm::SmallVector<std::string, 2> axes;
  do {
    auto [name, rest] = text.split('.');
    if (!isIdentifier(name)) {
      return std::nullopt;
    }
    axes.push_back(name.str());
    text = rest;
  } while (!text.empty());
  return axes;
}

std::optional<NamedSplit> readSplit(llvm::StringRef text) {
  NamedSplit split;
  while (!text.empty()) {
    auto [part, rest] = text.split(", ");
    auto [loop, where] = part.split('@');
    auto [names, set] = where.split(" in ");
    auto axes = readAxisNames(names);
    bool isCarry = loop == "carry sum";
    if (!axes || (!isCarry && !isIdentifier(loop)) ||
        (!set.empty() && (!isCarry || set.getAsInteger(10, split.carrySet)))) {
      return std::nullopt;
    }
    if (isCarry) {
      split.carry = *axes;
    } else {
      split.loops.push_back({loop.str(), *axes});
    }
    text = rest;
  }
  return split;
}

Layout mapAxes(const Layout &layout, llvm::function_ref<AxisId(AxisId)> axis) {
  Layout mapped = layout;
  for (DimLayout &dim : mapped.dims) {
    for (AxisId &id : dim.axes) {
      id = axis(id);
    }
  }
  for (AxisId &id : mapped.partialAxes) {
    id = axis(id);
  }
  llvm::sort(mapped.partialAxes);
  return mapped;
}

} // namespace divisi::spmd
