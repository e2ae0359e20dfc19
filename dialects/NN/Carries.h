//===- Carries.h - What partial sums are carried through --------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is linear in each factor, so that a partial sum may be multiplied
// before it is combined: x*y = x1*y + x2*y for x = x1 + x2. In floats this does
// not hold of a y that is infinite: 1*inf is inf, but with x1 = 0 and x2 = 1
// the summands are 0*inf, which is no number, and inf. Of a y that is no number
// both sides are none. Divisors must not be 0, in the same way.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_DIALECTS_NN_CARRIES_H
#define DIVISI_DIALECTS_NN_CARRIES_H

#include "dialects/NN/NN.h"

namespace divisi::nn {

/// The nest of `op`, in a program that is not partitioned, with `barred`: a
/// linear set is not in it if what multiplies it is seen to be finite, or no
/// number, in every run.
LoopNest barredLoopNest(LoopInterface op);

} // namespace divisi::nn

#endif // DIVISI_DIALECTS_NN_CARRIES_H
