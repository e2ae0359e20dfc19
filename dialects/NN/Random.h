//===- Random.h - Random numbers --------------------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// nn.random, of which nearly nobody has to know.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_RANDOM_H
#define DIVISI_DIALECTS_NN_RANDOM_H

#include "dialects/NN/NN.h"

#define GET_OP_CLASSES
#include "dialects/NN/NNRandom.h.inc"

#endif // DIVISI_DIALECTS_NN_RANDOM_H
