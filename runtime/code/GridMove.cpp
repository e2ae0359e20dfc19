//===- GridMove.cpp - Code that moves elements in blocks of threads -------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/runtime/code/GridMove.h"

#include <algorithm>
#include <numeric>

using namespace divisi;
using namespace divisi::rt;

/// The dimensions of the result in the order of loops.
static std::vector<size_t> loopOrder(const CallSite &site, bool &hasSquares) {
  size_t rank = site.results[0].rank();
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), size_t(0));
  Dims permutation = site.op == "nn.transpose"
                         ? site.attributes.getInts("permutation")
                         : Dims();
  auto innermost =
      std::ranges::find(permutation, static_cast<int64_t>(rank) - 1);
  hasSquares =
      innermost != permutation.end() && innermost + 1 != permutation.end();
  if (hasSquares) {
    auto from = order.begin() + (innermost - permutation.begin());
    std::rotate(from, from + 1, order.end() - 1);
  }
  return order;
}

std::optional<GridMove> GridMove::of(const CallSite &site) {
  std::string ignored;
  bool isPlain =
      site.results.size() == 1 && !site.region &&
      site.results[0].format.empty() &&
      std::ranges::all_of(site.operands, [](const TensorInfo &operand) {
        return operand.format.empty();
      });
  auto movement =
      isPlain ? planMovement(site, Checks(site, ignored)) : std::nullopt;
  if (!movement) {
    return std::nullopt;
  }
  GridMove move;
  move.width = byteWidth(site.results[0].type);
  std::vector<size_t> order = loopOrder(site, move.hasSquares);
  move.loops = std::max<size_t>(order.size(), 1);
  move.fill = movement->fill;
  for (const MovedPart &part : movement->parts) {
    Piece &piece = move.pieces.emplace_back();
    piece.operand = part.operand;
    piece.toBase = part.to.base * move.width;
    piece.fromBase = part.from.base * move.width;
    for (size_t dim : order) {
      piece.extents.push_back(part.extents[dim]);
      piece.to.push_back(part.to.strides[dim]);
      piece.from.push_back(part.from.strides[dim]);
    }
    if (order.empty()) { // one element
      piece.extents = piece.to = piece.from = {1};
    }
  }
  return move;
}

static int64_t squaresOf(int64_t extent) {
  return (extent + GridMove::square - 1) / GridMove::square;
}

/// Elements, or how many matrices are transposed.
static int64_t countOf(const GridMove &move, const GridMove::Piece &piece) {
  int64_t count = 1;
  for (size_t l = 0; l + (move.hasSquares ? 2 : 0) < move.loops; ++l) {
    count *= piece.extents[l];
  }
  return count;
}

std::string GridMove::structure() const {
  return "move " + std::to_string(width) + " bytes, " + std::to_string(loops) +
         " loops" + (hasSquares ? ", by squares" : "");
}

static GridLaunch launchOf(const GridMove &move, const GridMove::Piece &piece,
                           size_t operands) {
  int64_t count = countOf(move, piece);
  GridLaunch launch;
  launch.pointers = {{static_cast<int>(operands), piece.toBase},
                     {static_cast<int>(piece.operand), piece.fromBase}};
  launch.numbers = {count};
  for (const Dims *dims : {&piece.extents, &piece.to, &piece.from}) {
    launch.numbers.insert(launch.numbers.end(), dims->begin(), dims->end());
  }
  if (move.hasSquares) {
    launch.blockX = GridMove::square;
    launch.blockY = GridMove::rowsAtOnce;
    launch.gridX = blocksFor(count * squaresOf(piece.extents[move.loops - 2]) *
                                 squaresOf(piece.extents[move.loops - 1]),
                             1);
  } else {
    launch.blockX = GridMove::threads;
    launch.gridX = blocksFor(count, GridMove::threads);
  }
  return launch;
}

std::vector<GridLaunch> GridMove::launches(size_t operands) const {
  std::vector<GridLaunch> all;
  for (const Piece &piece : pieces) {
    all.push_back(launchOf(*this, piece, operands));
  }
  return all;
}
