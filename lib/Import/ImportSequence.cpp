//===- ImportSequence.cpp - Import of sequences of tensors ----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequence whose length and positions are known is gone after import: the
// nodes that read it get its tensors. So is an optional: what it holds stands
// for it.
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>

using namespace divisi;

Tensor divisi::sequenceOf(std::vector<Tensor> elements) {
  auto tensor = std::make_shared<ImportedTensor>();
  tensor->sequence = std::move(elements);
  return tensor;
}

/// The tensors of input 0; fails if it is no sequence.
static std::vector<Tensor> elementsOf(NodeImporter &node) {
  const auto &sequence = node.input(0)->sequence;
  if (!sequence) {
    node.invalid("input 0 is a tensor, expected a sequence of tensors");
    return {};
  }
  return *sequence;
}

/// The position in input `i`, from the end if negative; `fallback` if it is
/// left out. Fails unless it is a constant that is at least 0 and below `size`.
static std::optional<size_t> positionOf(NodeImporter &node, size_t i,
                                        size_t size, size_t fallback) {
  if (!node.hasInput(i)) {
    return fallback;
  }
  auto values = node.constantInts(i);
  if (!values) {
    return std::nullopt;
  }
  int64_t at = values->empty() ? 0 : values->front();
  int64_t position = at < 0 ? at + int64_t(fallback) : at;
  if (values->size() != 1 || position < 0 || position >= int64_t(size)) {
    node.invalid("position " + std::to_string(at) + " of a sequence of " +
                 std::to_string(fallback));
    return std::nullopt;
  }
  return size_t(position);
}

static void importConstruct(NodeImporter &node) {
  std::vector<Tensor> elements;
  for (size_t i = 0; i < node.numInputs(); ++i) {
    elements.push_back(node.input(i));
  }
  node.setResult(0, sequenceOf(std::move(elements)));
}

static void importEmpty(NodeImporter &node) {
  node.setResult(0, sequenceOf({}));
}

static void importAt(NodeImporter &node) {
  std::vector<Tensor> elements = elementsOf(node);
  auto at = positionOf(node, 1, elements.size(), elements.size());
  if (!node.failed()) {
    node.setResult(0, elements[*at]);
  }
}

static void importErase(NodeImporter &node) {
  std::vector<Tensor> elements = elementsOf(node);
  if (elements.empty()) {
    return node.invalid("the sequence has nothing to erase");
  }
  bool isLast = !node.hasInput(1);
  auto at = positionOf(node, 1, elements.size(), elements.size());
  if (!node.failed()) {
    elements.erase(elements.begin() +
                   int64_t(isLast ? elements.size() - 1 : *at));
    node.setResult(0, sequenceOf(std::move(elements)));
  }
}

/// Before the position, or at the end.
static void importInsert(NodeImporter &node) {
  std::vector<Tensor> elements = elementsOf(node);
  auto at = positionOf(node, 2, elements.size() + 1, elements.size());
  if (!node.failed()) {
    elements.insert(elements.begin() + int64_t(*at), node.input(1));
    node.setResult(0, sequenceOf(std::move(elements)));
  }
}

static void importLength(NodeImporter &node) {
  auto length = int64_t(elementsOf(node).size());
  node.setResult(0, node.emitter().integer(length));
}

/// The extents of the parts of `extent`: as the second input says, which is one
/// for all or one for each; 1 if it is left out.
static std::vector<int64_t> partExtents(NodeImporter &node, int64_t extent) {
  std::vector<int64_t> extents = {1};
  bool isList = false;
  if (node.hasInput(1)) {
    auto given = node.constantInts(1);
    if (!given) {
      return {};
    }
    extents = *given;
    isList = node.input(1)->rank() > 0;
  }
  int64_t total = 0;
  bool isNegative = false;
  for (int64_t part : extents) {
    total += part;
    isNegative |= part < 0;
  }
  if (isNegative || (isList ? total != extent : extents.front() <= 0)) {
    node.invalid("parts of " + formatInts(extents) + " of a dim of " +
                 std::to_string(extent));
    return {};
  }
  if (!isList) {
    int64_t part = extents.front();
    extents.clear();
    for (int64_t begin = 0; begin < extent; begin += part) {
      extents.push_back(std::min(part, extent - begin));
    }
  }
  return extents;
}

static void importSplitToSequence(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &x = node.input(0);
  int64_t axis = node.normalizeAxis(node.getInt("axis"), x->rank());
  if (node.failed()) {
    return;
  }
  bool keeps = node.hasInput(1) || node.getInt("keepdims", 1) != 0;
  std::vector<Tensor> elements;
  int64_t begin = 0;
  for (int64_t extent : partExtents(node, x->dims[size_t(axis)])) {
    Tensor part = emit.sliceAxis(x, axis, begin, begin + extent);
    if (!keeps) {
      rt::Dims dims = part->dims;
      dims.erase(dims.begin() + axis);
      part = emit.reshape(part, dims);
    }
    elements.push_back(part);
    begin += extent;
  }
  node.setResult(0, sequenceOf(std::move(elements)));
}

/// Along a dim that there is, or along a new one.
static void importConcat(NodeImporter &node) {
  Emitter &emit = node.emitter();
  std::vector<Tensor> elements = elementsOf(node);
  if (node.failed()) {
    return;
  }
  if (elements.empty()) {
    return node.invalid("the sequence is empty, so it has no shape");
  }
  bool stacks = node.getInt("new_axis") != 0;
  int64_t rank = elements.front()->rank();
  int64_t axis = node.normalizeAxis(node.getInt("axis"), rank + stacks);
  for (Tensor &element : elements) {
    if (node.failed()) {
      return;
    }
    bool fits =
        element->rank() == rank && element->type == elements.front()->type;
    for (int64_t dim = 0; fits && dim < rank; ++dim) {
      fits =
          element->dims[size_t(dim)] == elements.front()->dims[size_t(dim)] ||
          (!stacks && dim == axis);
    }
    if (!fits) {
      return node.invalid("it joins tensors of shapes " +
                          formatInts(elements.front()->dims) + " and " +
                          formatInts(element->dims) + " along axis " +
                          std::to_string(axis));
    }
  }
  if (stacks) {
    for (Tensor &element : elements) {
      rt::Dims dims = element->dims;
      dims.insert(dims.begin() + axis, 1);
      element = emit.reshape(element, dims);
    }
  }
  node.setResult(0, emit.concat(elements, axis));
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

/// Of a tensor or a sequence; or of nothing.
static void importOptional(NodeImporter &node) {
  Tensor held = node.hasInput(0) ? node.input(0) : sequenceOf({});
  if (!node.hasInput(0)) {
    held->isNothing = true;
  }
  node.setResult(0, held);
}

/// Of what is no optional, that itself.
static void importGetElement(NodeImporter &node) {
  if (node.input(0)->isNothing) {
    return node.invalid("the optional holds nothing");
  }
  node.setResult(0, node.input(0));
}

static void importHasElement(NodeImporter &node) {
  bool isThere = node.hasInput(0) && !node.input(0)->isNothing;
  node.setResult(0, node.emitter().scalar(rt::DType::Bool, isThere));
}

llvm::ArrayRef<ImporterRow> divisi::sequenceImporters() {
  static const ImporterRow kRows[] = {
      {"ConcatFromSequence", importConcat},
      {"Optional", importOptional},
      {"OptionalGetElement", importGetElement},
      {"OptionalHasElement", importHasElement},
      {"SequenceAt", importAt},
      {"SequenceConstruct", importConstruct},
      {"SequenceEmpty", importEmpty},
      {"SequenceErase", importErase},
      {"SequenceInsert", importInsert},
      {"SequenceLength", importLength},
      {"SplitToSequence", importSplitToSequence}};
  return kRows;
}

bool divisi::takesSequences(const std::string &opType) {
  return opType == "Identity" ||
         llvm::any_of(sequenceImporters(), [&](const ImporterRow &row) {
           return opType == row.opType;
         });
}
