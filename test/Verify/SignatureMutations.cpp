//===- SignatureMutations.cpp - Lies around functions ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MutationLister.h"

#include "LayoutVariants.h"
#include "dialects/NN/NN.h"
#include "dialects/SPMD/Strategy.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace divisi;
using namespace divisi::spmd;

/// The place that says `layout` on the grid called `grid`.
static PlaceAttr placeOf(Operation *op, FlatSymbolRefAttr grid,
                         const Layout &layout, ArrayRef<int64_t> shape) {
  GridOp gridOp = lookupGrid(op, grid);
  if (layout.verify(gridOp.getValue(), shape)) {
    return {};
  }
  return makePlace(gridOp, shape, layout);
}

void MutationLister::listSignature(size_t index, func::FuncOp function) {
  auto list = [&](bool isArgument, unsigned number, PlaceAttr place,
                  Type type) {
    std::string what =
        (isArgument ? "argument " : "result ") + std::to_string(number);
    StringRef key = SPMDDialect::kPlace;
    LocalAttr local = getLocal(type);
    auto setPlaceAttr = [=](Operation *op, Attribute attr) {
      auto function = cast<func::FuncOp>(op);
      isArgument ? function.setArgAttr(number, key, attr)
                 : function.setResultAttr(number, key, attr);
    };
    for (const Layout &layout : layoutVariants(
             local.getGrid(), local.getGlobalShape(), local.getLayout())) {
      std::string text = layout.str(local.getGrid());
      SmallVector<int64_t> shape(local.getGlobalShape());
      auto changePlace = [=](Operation *op) {
        PlaceAttr changed = placeOf(op, place.getGrid(), layout, shape);
        if (changed) {
          setPlaceAttr(op, changed);
        }
        return bool(changed);
      };
      add(index, what + " has the place " + text, changePlace);
      if (isArgument) {
        auto changeType = [=](Operation *op) {
          return setLayout(cast<func::FuncOp>(op).getArgument(number), layout);
        };
        add(index, what + " lies as " + text, changeType);
        add(index, what + " lies and has the place " + text,
            [=](Operation *op) { return changePlace(op) && changeType(op); });
      }
    }
    for (FlatSymbolRefAttr other : gridsBeside(place.getGrid())) {
      add(index, what + " on " + other.getValue().str(), [=](Operation *op) {
        setPlaceAttr(op, PlaceAttr::get(op->getContext(), other,
                                        place.getNames(), place.getLayout()));
        return true;
      });
    }
    for (int64_t other : {0, 1, 2}) {
      add(index, what + " is number " + std::to_string(other),
          [=](Operation *op) {
            auto function = cast<func::FuncOp>(op);
            Attribute attr = Builder(op->getContext()).getI64IntegerAttr(other);
            Attribute old =
                isArgument
                    ? function.getArgAttr(number, SPMDDialect::kIndex)
                    : function.getResultAttr(number, SPMDDialect::kIndex);
            isArgument
                ? function.setArgAttr(number, SPMDDialect::kIndex, attr)
                : function.setResultAttr(number, SPMDDialect::kIndex, attr);
            return attr != old;
          });
    }
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    list(true, i, getArgPlace(function, i), function.getArgumentTypes()[i]);
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    list(false, i, getResultPlace(function, i), function.getResultTypes()[i]);
  }
}

void MutationLister::listFunction(size_t index) {
  auto function = dyn_cast<func::FuncOp>(ops_[index]);
  if (!function) {
    return;
  }
  listSignature(index, function);
  auto ranks = function->getAttrOfType<DenseI32ArrayAttr>(SPMDDialect::kRanks);
  auto addRanks = [&](const std::string &what, std::vector<int32_t> changed) {
    add(index, what, [=](Operation *op) {
      op->setAttr(SPMDDialect::kRanks,
                  DenseI32ArrayAttr::get(op->getContext(), changed));
      return true;
    });
  };
  std::vector<int32_t> all(ranks.asArrayRef().begin(),
                           ranks.asArrayRef().end());
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<int32_t> fewer = all, others = all;
    fewer.erase(fewer.begin() + i);
    others[i] += 1;
    addRanks("without rank " + std::to_string(all[i]), fewer);
    addRanks("another rank for " + std::to_string(all[i]), others);
  }
  all.push_back(all.back() + 1);
  addRanks("a rank more", all);
  add(index, "belongs to another entry", [](Operation *op) {
    op->setAttr(SPMDDialect::kEntry,
                StringAttr::get(op->getContext(), "other"));
    return true;
  });
}

void MutationLister::listGrid(size_t index) {
  auto grid = dyn_cast<GridOp>(ops_[index]);
  if (!grid) {
    return;
  }
  SmallVector<int64_t> devices = grid.getDeviceIds();
  auto addDevices = [&](const std::string &what, SmallVector<int64_t> changed) {
    add(index, what, [=](Operation *op) {
      cast<GridOp>(op).setDevices(ArrayRef<int64_t>(changed));
      return true;
    });
  };
  SmallVector<int64_t> reversed(llvm::reverse(devices)), shifted = devices;
  for (int64_t &device : shifted) {
    ++device;
  }
  addDevices("devices reversed", reversed);
  addDevices("devices shifted", shifted);
  for (size_t i = 0; i < grid.getAxisSizes().size(); ++i) {
    for (int64_t by : {-1, 1}) {
      SmallVector<int64_t> sizes(grid.getAxisSizes());
      sizes[i] += by;
      add(index, "axis size " + std::to_string(sizes[i]), [=](Operation *op) {
        cast<GridOp>(op).setAxisSizes(sizes);
        return true;
      });
    }
    add(index, "axis renamed", [=](Operation *op) {
      SmallVector<Attribute> names(cast<GridOp>(op).getAxisNames().getValue());
      names[i] = StringAttr::get(op->getContext(), "renamed");
      cast<GridOp>(op).setAxisNamesAttr(
          ArrayAttr::get(op->getContext(), names));
      return true;
    });
  }
}

void MutationLister::listGlobal(size_t index) {
  auto global = dyn_cast<nn::GlobalOp>(ops_[index]);
  if (!global) {
    return;
  }
  PlaceAttr place = getPlace(global);
  Grid grid = lookupGrid(global, place.getGrid()).getValue();
  RankedTensorType type = global.getTensorType();
  auto layout = resolvePlace(place, grid, type.getShape(),
                             [&]() { return global.emitOpError(); });
  for (const Layout &variant : layoutVariants(grid, type.getShape(), *layout)) {
    std::string text = variant.str(grid);
    auto change = [=](Operation *op) {
      PlaceAttr changed =
          placeOf(op, place.getGrid(), variant, type.getShape());
      if (changed) {
        setPlace(cast<nn::GlobalOp>(op), changed);
      }
      return bool(changed);
    };
    add(index, "has the place " + text, change);
    add(index, "is read and has the place " + text, [=](Operation *op) {
      bool isSet = change(op);
      op->getParentOfType<ModuleOp>().walk([&](nn::ReadOp read) {
        if (read.getGlobal() == cast<nn::GlobalOp>(op).getSymName()) {
          isSet &= setLayout(read.getValue(), variant);
        }
      });
      return isSet;
    });
  }
}
