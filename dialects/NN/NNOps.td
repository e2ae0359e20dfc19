//===- NNOps.td - All operators of the nn dialect ----------*- tablegen -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_NNOPS_TD
#define DIVISI_DIALECTS_NN_NNOPS_TD

include "dialects/NN/NNAttention.td"
include "dialects/NN/NNContraction.td"
include "dialects/NN/NNElementwise.td"
include "dialects/NN/NNGlobals.td"
include "dialects/NN/NNIndex.td"
include "dialects/NN/NNMovement.td"
include "dialects/NN/NNOrder.td"
include "dialects/NN/NNQuantize.td"
include "dialects/NN/NNReduce.td"
include "dialects/NN/NNWindow.td"

#endif // DIVISI_DIALECTS_NN_NNOPS_TD
