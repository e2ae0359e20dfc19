//===- MatmulPlan.cpp - What oneDNN does of a product ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/MatmulPlan.h"

#include "divisi/Support/Labels.h"
#include "runtime/backends/cpu/Answers.h"
#include "runtime/kernels/Formats.h"

namespace divisi::rt::cpu {

MemoryDesc describeMatrix(const MatrixProduct &product, const Matrix &matrix,
                          int64_t rows, int64_t columns,
                          dnnl_data_type_t type) {
  Dims dims, strides;
  for (size_t i = 0; i < product.batch.size(); ++i) {
    if (product.batch[i] != 1) {
      dims.push_back(product.batch[i]);
      strides.push_back(matrix.batch.strides[i]);
    }
  }
  dims.insert(dims.end(), {rows, columns});
  // The stride of an extent of 1 is free; these look like plain matrices.
  int64_t outer = rows == 1 && matrix.inner == 1 ? columns : matrix.outer;
  int64_t inner = columns == 1 && matrix.outer == 1 ? rows : matrix.inner;
  strides.insert(strides.end(), {outer, inner});
  return describe(dims, strides, type);
}

/// Where it is copied first, the call says how.
std::string MatmulPlan::packedName() const {
  const Matrix &right = product.matrices[RightMatrix];
  return "matmul " + std::to_string(right.batch.base) + " " +
         (right.packed ? keyOf(site) : nameOfLayout(descs[RightMatrix].get())) +
         " ";
}

int64_t MatmulPlan::packingBytes() const {
  // Where it is copied first, all of it is.
  return product.matrices[RightMatrix].packed
             ? operands[!product.swapped].bytes() +
                   product.matrices[RightMatrix].bytes
             : cpu::packingBytes(givenRight(), wantedRight());
}

MatmulPlan::MatmulPlan(const CallSite &call)
    : MatmulPlan(call, FirstOperator(call)) {}

MatmulPlan::MatmulPlan(const CallSite &call, const FirstOperator &first)
    : numbers(first.operands),
      site{first.op,     first.attributes,  {}, call.results, {},
           call.threads, call.checksIndices} {
  for (int number : numbers) {
    operands.push_back(call.operands[size_t(number)]);
    constants.push_back(
        call.constants.empty() ? Constant() : call.constants[size_t(number)]);
  }
  site.operands = operands;
  site.constants = constants;
}

/// Which dimensions of the result are batch, rows and columns, as
/// describeMatrix() has them.
static DimGroups groupsOf(const CallSite &site, bool swapped) {
  std::vector<std::string_view> labels =
      splitLabels(*site.attributes.find<std::string>("labels"));
  std::string_view left = labels[0], right = labels[1];
  DimGroups groups;
  std::vector<size_t> rows, columns;
  for (size_t d = 0; d < site.results[0].rank(); ++d) {
    char label = labels[2][d];
    bool inLeft = left.find(label) != left.npos;
    bool inRight = right.find(label) != right.npos;
    if (!inLeft || !inRight) {
      (inLeft != swapped ? rows : columns).push_back(d);
    } else if (site.results[0].extents[d] != 1) {
      groups.push_back({d});
    }
  }
  groups.push_back(std::move(rows));
  groups.push_back(std::move(columns));
  return groups;
}

/// With a constant right matrix the product is an inner product layer, for
/// which oneDNN has blocked weights where its matmul has not: twice as fast on
/// AVX2. `plain` is the transpose of the right matrix.
static PrimitiveDesc makeInnerProduct(const MatmulPlan &plan,
                                      const PrimitiveAttr &attr) {
  MemoryDesc any = describeAny({plan.product.n, plan.product.k},
                               typeOf(plan.operands[0].type));
  dnnl_primitive_desc_t desc = nullptr;
  if (!any ||
      !isDone(dnnl_inner_product_forward_primitive_desc_create(
          &desc, engine(), dnnl_forward_inference, plan.descs[LeftMatrix].get(),
          any.get(), nullptr, plan.descs[ResultMatrix].get(), attr.get()))) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

/// With a right matrix that lies as `right` says.
static PrimitiveDesc makeMatmul(const MatmulPlan &plan, const MemoryDesc &right,
                                const PrimitiveAttr &attr) {
  dnnl_primitive_desc_t desc = nullptr;
  if (!right || !isDone(dnnl_matmul_primitive_desc_create(
                    &desc, engine(), plan.descs[LeftMatrix].get(), right.get(),
                    nullptr, plan.descs[ResultMatrix].get(), attr.get()))) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

/// With a right matrix in the layout that oneDNN likes best.
static PrimitiveDesc makeBlocked(const MatmulPlan &plan,
                                 const PrimitiveAttr &attr) {
  return makeMatmul(plan,
                    describeAny({plan.product.k, plan.product.n},
                                typeOf(plan.operands[0].type)),
                    attr);
}

/// With a right matrix as it lies.
static PrimitiveDesc makePlain(const MatmulPlan &plan,
                               const PrimitiveAttr &attr) {
  return makeMatmul(plan, plan.descs[RightMatrix], attr);
}

/// Whether it pays to copy the right matrix in each launch: its rows are more
/// than 8 KiB apart, and so many rows of the left one meet it that the copy
/// takes little beside the product. Of 768 x 3072 and 512 rows, the product
/// takes 41 ms, or 18 ms and 1 ms for the copy, on a Xeon with AVX-512; rows of
/// 2048 elements and less are as fast without.
static bool hasFarRows(const MatmulPlan &plan) {
  const Matrix &right = plan.product.matrices[RightMatrix];
  return plan.operands[0].type == DType::F32 && right.inner == 1 &&
         numElements(plan.product.batch) == 1 && plan.product.m >= 64 &&
         plan.product.k > 1 && right.outer * byteWidth(DType::F32) > 8192;
}

/// Lets a primitive that `make` makes do at most `most` operators of the
/// region; how many they are, or 0 if it cannot.
static size_t fitPrimitive(const CallSite &call, size_t most, auto make,
                           MatmulPlan &plan) {
  size_t done = plan.postOps.read(call, most);
  PrimitiveAttr attr = scratchpadAttr();
  if (attr &&
      plan.postOps.addTo(attr.get(), plan.site.results[0], plan.groups)) {
    plan.primitive = make(plan, attr);
  }
  // What is left goes on with what lies there.
  const std::vector<RegionPart> *parts =
      call.region ? &call.region->parts : nullptr;
  bool hasType =
      !parts || (*parts)[done - 1].results[0].type == call.results[0].type;
  bool isFast =
      hasType && plan.primitive && isOptimized(plan.primitive.get()) &&
      (plan.postOps.isEmpty() || !hasPlainPostOps(plan.primitive.get()));
  return isFast     ? done
         : done > 1 ? fitPrimitive(call, done - 1, make, plan)
                    : 0;
}

/// How many of the call's operators are done; 0 if the product cannot be.
static size_t makePrimitive(const CallSite &call, MatmulPlan &plan) {
  // What is brought to its place later is not where operands lie.
  bool isInPlace = !plan.product.matrices[ResultMatrix].packed;
  size_t most = call.region && isInPlace ? call.region->parts.size() : 1;
  if (!plan.descs[LeftMatrix] || !plan.descs[RightMatrix] ||
      !plan.descs[ResultMatrix]) {
    return 0;
  }
  if (plan.constantRight) {
    const MatrixProduct &product = plan.product;
    const Matrix &right = product.matrices[RightMatrix];
    MemoryDesc plain =
        describe({product.n, product.k}, {right.inner, right.outer},
                 typeOf(plan.operands[0].type));
    size_t done = plain ? fitPrimitive(call, most, makeInnerProduct, plan) : 0;
    if (done != 0) {
      plan.descs[RightMatrix] = std::move(plain);
      return done;
    }
  }
  if (plan.constantRight || hasFarRows(plan)) {
    size_t done = fitPrimitive(call, most, makeBlocked, plan);
    if (done != 0 && !plan.constantRight) {
      plan.blocking =
          describeReorder(plan.descs[RightMatrix].get(),
                          dnnl_primitive_desc_query_md(
                              plan.primitive.get(), dnnl_query_weights_md, 0));
    }
    if (plan.constantRight || plan.blocking) {
      return done;
    }
  }
  return fitPrimitive(call, most, makePlain, plan);
}

/// Whether the call begins with a product of elements that the processor
/// multiplies, and its results are of that type or f32.
static bool isProduct(const CallSite &call, const CallSite &site) {
  if (site.op != "nn.matmul" || call.results.size() != 1 ||
      site.operands.size() != 2 || !multiplies(site.operands[0].type)) {
    return false;
  }
  auto isSum = [&](const TensorInfo &info) {
    return info.type == DType::F32 || info.type == site.operands[0].type;
  };
  if (!call.region) {
    return isSum(call.results[0]);
  }
  const std::vector<TensorInfo> &made = call.region->parts[0].results;
  return made.size() == 1 && isSum(made[0]) && isSum(call.results[0]) &&
         isSameBox(made[0], call.results[0]);
}

void takeRightOut(MatrixProduct &product) {
  Matrix &right = product.matrices[RightMatrix];
  Matrix &result = product.matrices[ResultMatrix];
  int64_t bytes = result.workspaceOffset - right.workspaceOffset;
  result.workspaceOffset -= bytes;
  product.workspaceBytes -= bytes;
  right.workspaceOffset = 0;
}

bool MatmulPlan::make(const CallSite &call) {
  std::string ignored;
  Contraction contraction;
  if (!isProduct(call, site) || !engine() ||
      !analyzeContraction(site, Checks(site, ignored), contraction)) {
    return false;
  }
  product = planProduct(
      contraction, {UnitStride::Either, UnitStride::Either, UnitStride::Inner});
  int64_t m = product.m, n = product.n, k = product.k;
  if (numElements(product.batch) * m * n * k == 0) {
    return false;
  }
  threads = teamFor(site.threads, 2.0 * double(numElements(product.batch)) *
                                      double(m) * double(n) * double(k));
  TeamSize team(threads);
  groups = groupsOf(site, product.swapped);
  constantRight =
      numElements(product.batch) == 1 && bool(constants[!product.swapped]);
  if (constantRight) {
    takeRightOut(product);
  }
  dnnl_data_type_t type = typeOf(operands[0].type);
  const auto &[left, right, result] = product.matrices;
  descs = {describeMatrix(product, left, m, k, type),
           describeMatrix(product, right, k, n, type),
           describeMatrix(product, result, m, n, typeOf(call.results[0].type))};
  size_t done = makePrimitive(call, *this);
  if (call.region && done != 0 && done < call.region->parts.size()) {
    tail = std::make_unique<RegionTail>(call, done);
  }
  return done != 0 && (!tail || tail->kernel);
}

} // namespace divisi::rt::cpu
