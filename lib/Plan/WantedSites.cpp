//===- WantedSites.cpp - Strategies with wanted layouts -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WantedSites.h"

#include "dialects/NN/Locations.h"
#include "divisi/Plan/WantedLayouts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace divisi::plan {

namespace {

/// Deals the axes of factors of a tensor to the dimensions that an operator has
/// it in. One use.
class AxisDealer {
public:
  explicit AxisDealer(ArrayRef<int64_t> extents)
      : extents_(extents), axes_(extents.size()) {}

  /// Nothing where a factor is no product of dimensions, or no major part of
  /// one.
  std::optional<std::vector<std::vector<std::string>>>
  deal(const std::vector<std::vector<WantedFactor>> &dims) {
    for (const auto &factors : dims) {
      for (const WantedFactor &factor : factors) {
        if (!place(factor)) {
          return std::nullopt;
        }
      }
    }
    return std::move(axes_);
  }

private:
  bool place(const WantedFactor &factor);

  ArrayRef<int64_t> extents_;
  std::vector<std::vector<std::string>> axes_;
  size_t next_ = 0;   ///< The dimension that comes next,
  int64_t taken_ = 1; ///< and what of it earlier factors are.
};

} // namespace

/// The factor is the rest of a dimension, a part of it, or several of them; its
/// axes go to the first that has more than one element.
bool AxisDealer::place(const WantedFactor &factor) {
  int64_t left = factor.extent;
  bool isPlaced = factor.axes.empty();
  while (left > 1) {
    while (next_ < extents_.size() && extents_[next_] == taken_) {
      ++next_;
      taken_ = 1;
    }
    if (next_ == extents_.size()) {
      return false;
    }
    int64_t rest = extents_[next_] / taken_;
    int64_t part = std::min(left, rest);
    if (part < 1 || left % part != 0 || rest % part != 0) {
      return false;
    }
    if (!isPlaced) {
      if (taken_ != 1) {
        return false; // it would be a minor part
      }
      axes_[next_] = factor.axes;
      isPlaced = true;
    }
    left /= part;
    taken_ *= part;
  }
  return isPlaced;
}

static void want(Site &site, bool isResult, unsigned number, Value value,
                 const ModelValues &values, const WantedNode &node) {
  std::optional<ModelValue> known = values.find(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (const WantedTensor &tensor : node.tensors) {
    if (!known || !type || !(tensor.value == *known)) {
      continue;
    }
    if (auto axes = AxisDealer(type.getShape()).deal(tensor.dims)) {
      site.wanted.push_back(
          {isResult, number, std::move(*axes), tensor.tensor});
    }
  }
}

void readWanted(ModuleOp module, ModuleDataflow &dataflow) {
  std::map<std::string, WantedNode> nodes = wantedNodes(module);
  auto entry = module.lookupSymbol<func::FuncOp>("forward");
  if (nodes.empty() || !entry) {
    return;
  }
  ModelValues values(entry);
  unsigned kinds = 0;
  for (const Site &site : dataflow.sites) {
    kinds = std::max(kinds, site.kind + 1);
  }
  std::vector<std::pair<const Site *, unsigned>> known;
  for (auto [site, op] : llvm::zip(dataflow.sites, dataflow.ops)) {
    auto node = nodes.find(nn::nodeName(op.getLoc()));
    if (node == nodes.end() || op->getParentOfType<func::FuncOp>() != entry) {
      continue;
    }
    for (unsigned i = 0; i < op->getNumOperands(); ++i) {
      want(site, false, i, op->getOperand(i), values, node->second);
    }
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      want(site, true, i, op->getResult(i), values, node->second);
    }
    if (site.wanted.empty()) {
      continue;
    }
    auto same = llvm::find_if(known, [&](const auto &other) {
      return other.second == site.kind && other.first->wanted == site.wanted;
    });
    unsigned plain = site.kind;
    site.kind = same == known.end() ? kinds++ : same->first->kind;
    known.emplace_back(&site, plain);
  }
}

static bool lies(const WantedLayout &wanted, const Grid &grid,
                 const Layout &layout) {
  for (auto [dim, names] : llvm::zip(layout.dims, wanted.axes)) {
    llvm::SmallVector<AxisId, 2> axes;
    for (const std::string &name : names) {
      std::optional<AxisId> axis = grid.find(name);
      if (axis && grid.size(*axis) > 1) {
        axes.push_back(*axis);
      }
    }
    if (axes != dim.axes) {
      return false;
    }
  }
  return true;
}

bool hasWanted(const Site &site, const Grid &grid, const Split &split) {
  return llvm::all_of(site.wanted, [&](const WantedLayout &wanted) {
    return lies(wanted, grid,
                wanted.isResult
                    ? resultLayout(site.nest, grid, split, wanted.number)
                    : operandLayout(site.nest, grid, split, wanted.number));
  });
}

/// Of operators with very many, as many as anybody would look at.
static std::vector<Split> findWanted(const Site &site, const Grid &grid) {
  constexpr size_t kMost = 20000;
  std::vector<Split> splits;
  for (const Split &split : enumerateSplits(site.nest, grid, kMost)) {
    if (hasWanted(site, grid, split)) {
      splits.push_back(split);
    }
  }
  return splits;
}

std::vector<Split> wantedSplits(const Site &site, const Grid &grid) {
  std::vector<Split> splits = findWanted(site, grid);
  if (splits.empty()) {
    splits.push_back(Split::replicated(site.nest));
  }
  return splits;
}

/// `'x' as [*, m], 'w' as [m, *]`
static std::string describe(const std::vector<WantedLayout> &wanted) {
  std::string text;
  for (const WantedLayout &each : wanted) {
    text += (text.empty() ? "'" : ", '") + each.tensor + "' as [";
    for (auto [number, axes] : llvm::enumerate(each.axes)) {
      text += (number ? ", " : "") +
              (axes.empty() ? std::string("*") : llvm::join(axes, "."));
    }
    text += "]";
  }
  return text;
}

Status checkWanted(ModuleDataflow &dataflow,
                   const std::vector<DeviceGrid> &grids) {
  for (auto [number, site] : llvm::enumerate(dataflow.sites)) {
    for (const DeviceGrid &grid : grids) {
      if (site.wanted.empty() || !findWanted(site, grid.grid).empty()) {
        continue;
      }
      std::vector<WantedLayout> all = site.wanted;
      llvm::erase_if(site.wanted,
                     [](const WantedLayout &each) { return each.isResult; });
      if (site.wanted.size() < all.size() &&
          !findWanted(site, grid.grid).empty()) {
        continue;
      }
      return makeError(
          ExitCode::Invalid, "node '",
          nn::nodeName(dataflow.ops[number].getLoc()), "' (", site.name,
          "): no strategy has its tensors as the model's annotations say: ",
          describe(all));
    }
  }
  return {};
}

} // namespace divisi::plan
