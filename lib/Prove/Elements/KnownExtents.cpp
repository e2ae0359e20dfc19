//===- KnownExtents.cpp - Extents that are shown, not fitted --------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Prove/Elements/ElementProof.h"

using namespace divisi::rewrite;

bool ElementProof::isExtent(bool isSource, size_t value, size_t dim,
                            const Expr &extent) {
  cases_ = 0;
  beginFactors();
  try {
    ElementCase at;
    addConditions(at);
    return holdsAt(
        [&](SymbolicEvaluator &source, SymbolicEvaluator &target,
            ElementCase &) {
          SymbolicEvaluator &side = isSource ? source : target;
          return facts_.isZero(side.shape(value)[dim] - side.integer(extent));
        },
        at, 0);
  } catch (const GivenUp &) {
    return false;
  }
}

/// Of which extents of operands one of the result is made, whatever these are;
/// of all where that is not known.
static std::vector<bool> extentsBehind(const SymbolicRule &rule,
                                       const SymbolicGraph &side,
                                       const SymbolicCall &call, size_t dim) {
  SymbolicRule alone;
  alone.sizes = rule.sizes;
  alone.ints = rule.ints;
  alone.reals = rule.reals;
  SymbolicCall only = call;
  std::vector<std::string> names;
  for (size_t i = 0; i != call.operands.size(); ++i) {
    size_t operand = call.operands[i];
    size_t variables = rule.variables.size();
    bool isVariable = operand < variables;
    size_t rank = isVariable ? rule.variables[operand].size()
                             : side.calls[operand - variables].dims.size();
    SymbolicDims dims;
    for (size_t j = 0; j != rank; ++j) {
      names.push_back("extent " + std::to_string(names.size()));
      Expr name;
      name.kind = Expr::Kind::Name;
      name.name = names.back();
      dims.emplace_back(name);
      alone.sizes.push_back(names.back());
    }
    alone.variables.push_back(std::move(dims));
    alone.elements.push_back(isVariable
                                 ? rule.elements[operand]
                                 : side.calls[operand - variables].element);
    only.operands[i] = i;
  }
  alone.source.calls = {only};
  alone.source.results = {call.operands.size()};
  std::vector<bool> behind(names.size(), true);
  Facts facts;
  std::multimap<std::string, const SymbolicRule *> definitions;
  std::map<std::string, Sum> reals;
  ElementContext context{facts, definitions, {}};
  Values symbols;
  for (const std::string &name : alone.sizes) {
    symbols.emplace(name, Polynomial(sizeAtom(name, true)));
  }
  for (const std::string &name : alone.ints) {
    symbols.emplace(name, Polynomial(sizeAtom(name, false)));
  }
  SymbolicEvaluator of(alone, alone.source, symbols, reals, context);
  try {
    Polynomial extent = of.shape(call.operands.size())[dim];
    for (size_t i = 0; i != names.size(); ++i) {
      behind[i] = extent.mentions(*sizeAtom(names[i], true));
    }
  } catch (const GivenUp &) {
  } catch (const SplitAt &) {
  } catch (const SplitIndex &) {
  } catch (const SplitExtent &) {
  } catch (const SplitMultiple &) {
  }
  return behind;
}

void divisi::rewrite::keepKnownExtents(SymbolicRule &rule) {
  for (bool isSource : {true, false}) {
    SymbolicGraph &side = isSource ? rule.source : rule.target;
    for (size_t i = 0; i != side.calls.size(); ++i) {
      SymbolicCall &call = side.calls[i];
      std::vector<std::vector<bool>> depends(call.dims.size());
      for (size_t dim = 0; dim != call.dims.size() && !call.isTyped; ++dim) {
        size_t value = rule.variables.size() + i;
        if (call.dims[dim] && !ElementProof(rule, {}).isExtent(
                                  isSource, value, dim, *call.dims[dim])) {
          call.dims[dim].reset();
        }
        if (!call.dims[dim]) {
          depends[dim] = extentsBehind(rule, side, call, dim);
        }
      }
      call.depends = std::move(depends);
    }
  }
}
