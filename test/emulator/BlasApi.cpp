//===- BlasApi.cpp - cuBLASLt, emulated -----------------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Divisi uses of libcublasLt, and no more. An algorithm remembers for
// which descriptors and alignments it was chosen, and is refused for others.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/BlasProblem.h"
#include "test/emulator/DeviceNumbers.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

using namespace divisi::emulator;

using Lock = std::lock_guard<std::mutex>;

namespace {

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignments[4] = {256, 256, 256, 256}; ///< Of A, B, C, D.
};

/// What stands in a cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t hash, workspace;
  uint32_t alignments[4];
};

} // namespace

static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

static BlasLayout &layoutOf(cublasLtMatrixLayout_t layout) {
  return *reinterpret_cast<BlasLayout *>(layout);
}

static BlasDescription &descOf(cublasLtMatmulDesc_t desc) {
  return *reinterpret_cast<BlasDescription *>(desc);
}

static Preference &preferenceOf(cublasLtMatmulPreference_t preference) {
  return *reinterpret_cast<Preference *>(preference);
}

static cublasStatus_t refuse(const std::string &what) {
  std::fprintf(stderr, "emulator: cuBLASLt refuses %s\n", what.c_str());
  return CUBLAS_STATUS_INVALID_VALUE;
}

const char *cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS"
         : status == CUBLAS_STATUS_EXECUTION_FAILED
             ? "CUBLAS_STATUS_EXECUTION_FAILED"
             : "CUBLAS_STATUS_INVALID_VALUE";
}

/// A handle is the number of its device, and one.
cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  Lock lock(gpus().mutex);
  if (currentDevice() < 0) {
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  // cuBLAS, cublasLtCreate: it "allocates light hardware resources on the host
  // and device".
  gpus().synchronize(currentDevice(), "cublasLtCreate");
  *handle = reinterpret_cast<cublasLtHandle_t>(uintptr_t(currentDevice()) + 1);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  Lock lock(gpus().mutex);
  gpus().synchronize(int(uint64_t(handle)) - 1, "cublasLtDestroy");
  return CUBLAS_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// Sets `field` if the value is as large as it.
template <typename T>
static cublasStatus_t set(T &field, const void *value, size_t bytes) {
  if (bytes != sizeof(T)) {
    return refuse("an attribute of another size");
  }
  std::memcpy(&field, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(
      new BlasDescription{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete &descOf(desc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  BlasDescription &made = descOf(desc);
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(made.transA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(made.transB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(made.epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(made.bias, value, bytes);
  default:
    return refuse("an attribute that the emulator does not know");
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new BlasLayout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &layoutOf(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  BlasLayout &made = layoutOf(layout);
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return set(made.batch, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return set(made.batchStride, value, bytes);
  default:
    return refuse("an attribute that the emulator does not know");
  }
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &preferenceOf(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  Preference &made = preferenceOf(preference);
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set(made.workspace, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return set(made.alignments[0], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return set(made.alignments[1], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return set(made.alignments[2], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set(made.alignments[3], value, bytes);
  default:
    return refuse("a preference that the emulator does not know");
  }
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Whether there is no algorithm for a product, of what the letters of
/// DIVISI_EMULATOR_BLAS_LACKS name: `g` GELU in f32, `b` a bias of a batch, `a`
/// matrices with columns that begin at odd multiples of 2 bytes, `p` any
/// product.
static bool isLacking(const BlasProblem &problem, const Preference &wanted) {
  const char *letters = std::getenv("DIVISI_EMULATOR_BLAS_LACKS");
  auto lacks = [&](char letter) {
    return letters && std::strchr(letters, letter);
  };
  const BlasDescription &what = problem.what;
  bool isOdd = std::ranges::any_of(wanted.alignments,
                                   [](uint32_t bytes) { return bytes <= 2; });
  for (const BlasLayout *layout : {&problem.a, &problem.b, &problem.d}) {
    bool isNarrow = layout->type == CUDA_R_16F || layout->type == CUDA_R_16BF;
    isOdd |= isNarrow && layout->leading % 2 != 0;
  }
  return lacks('p') ||
         (lacks('g') && what.hasGelu() && problem.d.type == CUDA_R_32F) ||
         (lacks('b') && what.hasBias() && problem.d.batch > 1) ||
         (lacks('a') && isOdd);
}

/// For tests: how many products were asked for that end with more than a sum.
static uint64_t &fusedCalls() {
  static uint64_t count = 0;
  return count;
}

extern "C" uint64_t emulatedEpilogues() {
  Lock lock(gpus().mutex);
  return fusedCalls();
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t *results, int *returned) {
  BlasProblem problem{descOf(desc), layoutOf(a), layoutOf(b), layoutOf(c),
                      layoutOf(d)};
  if (requested < 1) {
    return refuse("to find no algorithm");
  }
  if (auto wrong = problem.refusal()) {
    refuse(*wrong);
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const Preference &wanted = preferenceOf(preference);
  if (isLacking(problem, wanted)) { // one way or the other
    *returned = 0;
    return problem.what.epilogue == CUBLASLT_EPILOGUE_DEFAULT
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  Algorithm algorithm{
      std::hash<std::string>()(problem.text()), wanted.workspace, {}};
  std::memcpy(algorithm.alignments, wanted.alignments,
              sizeof(algorithm.alignments));
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

/// What is wrong with how a product is called.
static std::optional<std::string> checkCall(const BlasProblem &problem,
                                            const Algorithm &algorithm,
                                            const uint64_t (&addresses)[4],
                                            uint64_t workspace,
                                            uint64_t workspaceBytes) {
  if (auto wrong = problem.refusal()) {
    return wrong;
  }
  if (algorithm.hash != std::hash<std::string>()(problem.text())) {
    return "an algorithm that was chosen for another product";
  }
  for (int t = 0; t < 4; ++t) {
    if (addresses[t] % algorithm.alignments[t] != 0) {
      return std::string("matrix ") + "ABCD"[t] + ", which is not aligned to " +
             std::to_string(algorithm.alignments[t]);
    }
  }
  if (workspaceBytes < algorithm.workspace ||
      (workspaceBytes > 0 && workspace % 256 != 0)) {
    return "a workspace that is too small, or not aligned to 256";
  }
  return addresses[2] == addresses[3] && problem.c != problem.d
             ? std::optional<std::string>("C over D with another layout")
             : std::nullopt;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
               const void *alpha, const void *a, cublasLtMatrixLayout_t aDesc,
               const void *b, cublasLtMatrixLayout_t bDesc, const void *beta,
               const void *c, cublasLtMatrixLayout_t cDesc, void *d,
               cublasLtMatrixLayout_t dDesc, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, cudaStream_t on) {
  Lock lock(gpus().mutex);
  if (gpus().fault()) {
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
  auto &stream = *reinterpret_cast<Stream *>(on);
  if (uint64_t(handle) != uint64_t(stream.device) + 1 ||
      currentDevice() != stream.device) {
    return refuse("a stream of another device");
  }
  BlasProblem problem{descOf(desc), layoutOf(aDesc), layoutOf(bDesc),
                      layoutOf(cDesc), layoutOf(dDesc)};
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof(algorithm));
  uint64_t at = uint64_t(workspace);
  if (auto wrong =
          checkCall(problem, algorithm,
                    {uint64_t(a), uint64_t(b), uint64_t(c), uint64_t(d)}, at,
                    workspaceBytes)) {
    return refuse(*wrong);
  }
  // Its kernel comes with the first call (CUDA Programming Guide, "Lazy
  // Loading").
  static std::set<std::pair<int, uint64_t>> loaded;
  if (loaded.insert({stream.device, algorithm.hash}).second) {
    gpus().synchronize(stream.device, "a product's first launch");
  }
  fusedCalls() += problem.what.epilogue != CUBLASLT_EPILOGUE_DEFAULT;
  auto factor = [&](const void *value) {
    return problem.what.scale == CUDA_R_64F
               ? *static_cast<const double *>(value)
               : double(*static_cast<const float *>(value));
  };
  BlasProblem::Arguments arguments{uint64_t(a), uint64_t(b),   uint64_t(c),
                                   uint64_t(d), factor(alpha), factor(beta)};
  auto run = [=](Touched &touched) {
    auto wrong = spoil(at, algorithm.workspace, touched);
    return wrong ? wrong : problem.run(arguments, gpus(), touched);
  };
  gpus().put(stream, {"a product", run});
  return CUBLAS_STATUS_SUCCESS;
}
