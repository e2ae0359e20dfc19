//===- DnnEngine.cpp - How cuDNN would do it ------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DnnEngine.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::emulator;

static const DnnOperation &windowOf(const DnnProblem &problem) {
  return problem.operations.front();
}

static bool isFused(const DnnProblem &problem) {
  return problem.operations.size() > 1;
}

static rt::DType typeOf(const DnnProblem &problem) {
  return problem.tensors.at(windowOf(problem).left).type;
}

/// Without gaps, and with as much padding before as behind.
static bool isRegular(const DnnProblem &problem) {
  return windowOf(problem).before == windowOf(problem).after &&
         std::ranges::all_of(problem.inMemory(), [&](int64_t number) {
           return problem.tensors.at(number).isDense();
         });
}

static bool isAlone(const DnnProblem &problem) {
  return !isFused(problem) && isRegular(problem) && problem.groups() == 1;
}

static bool isOfF32(const DnnProblem &problem) {
  return isRegular(problem) && typeOf(problem) == rt::DType::F32;
}

static bool hasEvenFeatures(const DnnProblem &problem) {
  return problem.tensors.at(windowOf(problem).right).dims[0] % 2 == 0;
}

static bool fusesNarrow(const DnnProblem &problem) {
  return isFused(problem) && isRegular(problem) && problem.groups() == 1 &&
         typeOf(problem) != rt::DType::F32;
}

static bool fusesNarrowAndEven(const DnnProblem &problem) {
  return fusesNarrow(problem) && hasEvenFeatures(problem);
}

static bool fusesF32(const DnnProblem &problem) {
  return isFused(problem) && isOfF32(problem) && hasEvenFeatures(problem);
}

static bool isOfThreeDims(const DnnProblem &problem) {
  return !isFused(problem) && windowOf(problem).strides.size() == 3;
}

static bool isNarrow(const DnnProblem &problem) {
  return isAlone(problem) && typeOf(problem) != rt::DType::F32;
}

static bool isAnyRegular(const DnnProblem &problem) {
  return !isFused(problem) && isRegular(problem);
}

std::map<int64_t, int64_t> &divisi::emulator::engineUses() {
  static std::map<int64_t, int64_t> uses;
  return uses;
}

std::span<const DnnEngine>
divisi::emulator::enginesOf(cudnnBackendHeurMode_t mode) {
  static const DnnArithmetic exact, rounding{.roundsToTf32 = true},
      careless{.dropsNan = true}, wrong{.isWrong = true};
  static const DnnEngine best[] = {
      {40,
       {CUDNN_NUMERICAL_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4},
       isAlone,
       0,
       wrong},
      {41, {CUDNN_NUMERICAL_NOTE_FFT}, isAlone, 0, wrong},
      {42,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
        CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION},
       isNarrow,
       0,
       wrong},
      {43, {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}, isAlone, 0, wrong},
      {44,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
        CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS,
        CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP},
       isOfF32,
       0,
       rounding},
      {2, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, fusesNarrow, 64, careless},
      {1,
       {CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP},
       fusesNarrowAndEven,
       4096,
       exact},
      {3, {CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP}, fusesF32, 0, exact},
      {4, {}, isAlone, int64_t(1) << 40, wrong},
      {5, {}, isOfThreeDims, 256, exact},
      {0, {}, isAlone, 4096, exact}};
  static const DnnEngine last[] = {{6, {}, isAnyRegular, 0, exact}};
  return mode == CUDNN_HEUR_MODE_FALLBACK ? std::span<const DnnEngine>(last)
                                          : std::span<const DnnEngine>(best);
}
