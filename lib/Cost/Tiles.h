//===- Tiles.h - Products in tiles and waves --------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A GPU makes a product of matrices in square tiles of the result, as many at a
// time as it has multiprocessors. A partial tile or a partial last wave takes
// as long as a full one:
//
//   128 x 128 tiles, 132 at a time        tiles      waves
//   rows 4096, columns 4096               32 x 32    8 (7.76)
//   rows 4096, columns 4224               32 x 33    8
//   rows 4096, columns 4225               32 x 34    9
//   rows   64, columns 4224                1 x 33    1, as with 128 rows
//
// Multiprocessors that would have no tile share the sums of others.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_COST_TILES_H
#define DIVISI_LIB_COST_TILES_H

#include "divisi/Cluster/Cluster.h"
#include "divisi/Layout/Loops.h"

namespace divisi {

/// How many floating-point operations the fullest device of `part` could do in
/// the time that an operator keeps it busy: localFlops, and for a product those
/// of whole tiles and waves. Of a convolution the positions of images are rows
/// and the output's channels are columns. A product of a matrix and a vector
/// makes no tiles.
double tiledFlops(const LoopNest &nest, const Grid &grid, const Split &split,
                  const DeviceKind &device, const GridPart &part = {});

} // namespace divisi

#endif // DIVISI_LIB_COST_TILES_H
