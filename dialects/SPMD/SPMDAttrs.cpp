//===- SPMDAttrs.cpp - Strategies and local tensors -----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/SPMD/LayoutSyntax.h"
#include "dialects/SPMD/SPMD.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

#define GET_ATTRDEF_CLASSES
#include "dialects/SPMD/SPMDAttrs.cpp.inc"

void SPMDDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/SPMD/SPMDAttrs.cpp.inc"
      >();
}

static ParseResult parseSymbol(AsmParser &parser, FlatSymbolRefAttr &symbol) {
  StringAttr name;
  if (parser.parseSymbolName(name)) {
    return failure();
  }
  symbol = FlatSymbolRefAttr::get(name);
  return success();
}

//===----------------------------------------------------------------------===//
// SplitAttr
//===----------------------------------------------------------------------===//

// `@x.y`: lexed as one symbol.
static ParseResult parseAxisNames(AsmParser &parser,
                                  llvm::SmallVectorImpl<std::string> &axes) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  StringAttr names;
  if (parser.parseSymbolName(names)) {
    return failure();
  }
  for (llvm::StringRef name : llvm::split(names.getValue(), '.')) {
    if (!isIdentifier(name)) {
      return parser.emitError(loc)
             << "'" << name << "' is not the name of an axis";
    }
    axes.push_back(name.str());
  }
  return success();
}

// `m@x.y` or `carry sum@z in 1`
static ParseResult parseSplitEntry(AsmParser &parser, NamedSplit &split) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::StringRef loop;
  if (parser.parseKeyword(&loop)) {
    return failure();
  }
  if (loop == "carry" && succeeded(parser.parseOptionalKeyword("sum"))) {
    if (!split.carry.empty()) {
      return parser.emitError(loc) << "carry is given twice";
    }
    if (parseAxisNames(parser, split.carry)) {
      return failure();
    }
    if (failed(parser.parseOptionalKeyword("in"))) {
      return success();
    }
    return parser.parseInteger(split.carrySet);
  }
  if (!isIdentifier(loop)) {
    return parser.emitError(loc) << "'" << loop << "' is not the name of a "
                                 << "loop";
  }
  if (llvm::any_of(split.loops, [&](const NamedLoopSplit &other) {
        return other.loop == loop;
      })) {
    return parser.emitError(loc) << "loop '" << loop << "' occurs twice";
  }
  split.loops.push_back({loop.str(), {}});
  return parseAxisNames(parser, split.loops.back().axes);
}

Attribute SplitAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr grid;
  NamedSplit split;
  if (parser.parseLess() || parseSymbol(parser, grid)) {
    return {};
  }
  if (succeeded(parser.parseOptionalColon()) &&
      parser.parseCommaSeparatedList(
          [&]() { return parseSplitEntry(parser, split); })) {
    return {};
  }
  if (parser.parseGreater()) {
    return {};
  }
  return get(parser.getContext(), grid, split);
}

void SplitAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printSymbolName(getGrid().getValue());
  if (!getSplit().loops.empty() || !getSplit().carry.empty()) {
    printer << ": ";
    printSplit(printer.getStream(), getSplit());
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// PlaceAttr
//===----------------------------------------------------------------------===//

Attribute PlaceAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr symbol;
  if (parser.parseLess() || parseSymbol(parser, symbol) ||
      parser.parseColon()) {
    return {};
  }
  llvm::SmallVector<GridAxis, 4> names;
  auto intern = [&](llvm::StringRef name,
                    llvm::SMLoc loc) -> std::optional<AxisId> {
    if (!isIdentifier(name)) {
      parser.emitError(loc) << "'" << name << "' is not the name of an axis";
      return std::nullopt;
    }
    auto *it = llvm::find_if(
        names, [&](const GridAxis &axis) { return axis.name == name; });
    size_t index = it - names.begin();
    if (it == names.end()) {
      names.push_back({name.str(), 1});
    }
    return AxisId{uint32_t(index)};
  };
  Layout layout;
  if (parseLayout(parser, intern, layout) || parser.parseGreater()) {
    return {};
  }
  return get(parser.getContext(), symbol, Grid(names), layout);
}

void PlaceAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printSymbolName(getGrid().getValue());
  printer << ": ";
  getLayout().print(printer.getStream(), getNames());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// LocalAttr
//===----------------------------------------------------------------------===//

Attribute LocalAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  Grid grid;
  if (parser.parseLess() || parseGrid(parser, grid)) {
    return {};
  }
  auto find = [&](llvm::StringRef name,
                  llvm::SMLoc nameLoc) -> std::optional<AxisId> {
    std::optional<AxisId> axis = grid.find(name);
    if (!axis) {
      parser.emitError(nameLoc) << "the grid has no axis '" << name << "'";
    }
    return axis;
  };
  Layout layout;
  if (parser.parseComma() || parseLayout(parser, find, layout)) {
    return {};
  }
  llvm::SmallVector<int64_t> shape;
  if (succeeded(parser.parseOptionalComma()) &&
      parser.parseDimensionList(shape, /*allowDynamic=*/false,
                                /*withTrailingX=*/false)) {
    return {};
  }
  if (parser.parseGreater()) {
    return {};
  }
  // Equal layouts are equal attributes, however they were written. What is
  // illegal is not touched and reported below.
  if (!verifyGrid(grid) && !layout.verify(grid, shape)) {
    layout.canonicalize(grid, shape);
  }
  return parser.getChecked<LocalAttr>(loc, parser.getContext(), grid, layout,
                                      shape);
}

void LocalAttr::print(AsmPrinter &printer) const {
  printer << "<";
  getGrid().print(printer.getStream());
  printer << ", ";
  getLayout().print(printer.getStream(), getGrid());
  if (!getGlobalShape().empty()) {
    printer << ", ";
    printer.printDimensionList(getGlobalShape());
  }
  printer << ">";
}

LogicalResult LocalAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                Grid grid, Layout layout,
                                ArrayRef<int64_t> globalShape) {
  if (std::optional<std::string> error = verifyGrid(grid)) {
    return emitError() << *error;
  }
  if (std::optional<std::string> error = layout.verify(grid, globalShape)) {
    return emitError() << *error;
  }
  return success();
}

LogicalResult
LocalAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                          function_ref<InFlightDiagnostic()> emitError) const {
  llvm::SmallVector<int64_t, 4> expected =
      getLayout().localShape(getGrid(), getGlobalShape());
  if (shape == ArrayRef<int64_t>(expected)) {
    return success();
  }
  auto list = [](ArrayRef<int64_t> values) {
    return "[" +
           llvm::join(
               llvm::map_range(
                   values, [](int64_t value) { return std::to_string(value); }),
               ", ") +
           "]";
  };
  return emitError() << "the local shape is " << list(shape) << ", expected "
                     << list(expected) << ", the largest box of "
                     << getLayout().str(getGrid()) << " on a tensor of "
                     << list(getGlobalShape());
}
