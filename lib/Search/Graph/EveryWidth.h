//===- EveryWidth.h - Loops for each width of vectors -----------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_SEARCH_GRAPH_EVERYWIDTH_H
#define DIVISI_LIB_SEARCH_GRAPH_EVERYWIDTH_H

/// The compiler makes each of these functions twice, and the loader chooses.
/// Sums and products are not fused, so both give the same numbers. Resolvers
/// run before sanitizers are ready.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) &&                    \
    !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define DIVISI_FOR_EVERY_WIDTH __attribute__((target_clones("avx2", "default")))
#else
#define DIVISI_FOR_EVERY_WIDTH
#endif

#endif // DIVISI_LIB_SEARCH_GRAPH_EVERYWIDTH_H
