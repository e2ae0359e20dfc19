//===- NNOps.td - All operators of the nn dialect ---------*- tablegen -*--===//
//
// Part of Divisi, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_NN_NNOPS_TD
#define DIALECTS_NN_NNOPS_TD

include "dialects/NN/NNContraction.td"
include "dialects/NN/NNElementwise.td"
include "dialects/NN/NNGlobals.td"
include "dialects/NN/NNIndex.td"
include "dialects/NN/NNMovement.td"
include "dialects/NN/NNReduce.td"
include "dialects/NN/NNWindow.td"

#endif // DIALECTS_NN_NNOPS_TD
