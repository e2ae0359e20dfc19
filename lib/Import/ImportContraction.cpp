//===- ImportContraction.cpp - Import of matrix products ------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImporter.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

using namespace divisi;

/// Labels for batch dims, apart from the m, n and k of the matrices.
static constexpr char kBatchLabels[] =
    "abcdefghijlopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// `tensor` without the dims of extent 1 among its first `count` that `keep`
/// does not want, and the labels of those that stay.
static Tensor dropUnitDims(Emitter &emit, const Tensor &tensor,
                           const rt::Dims &batch, size_t count,
                           std::string &labels) {
  rt::Dims dims;
  for (size_t i = 0; i < count; ++i) {
    size_t at = batch.size() - count + i;
    if (tensor->dims[i] == 1 && batch[at] != 1) {
      continue;
    }
    dims.push_back(tensor->dims[i]);
    labels.push_back(kBatchLabels[at]);
  }
  dims.insert(dims.end(), tensor->dims.begin() + static_cast<int64_t>(count),
              tensor->dims.end());
  return emit.reshape(tensor, dims);
}

/// Batch dims that broadcast stand only in the operand that has them: no
/// operand is ever repeated.
Tensor divisi::importProduct(NodeImporter &node, Tensor a, Tensor b) {
  Emitter &emit = node.emitter();
  if (a->rank() == 0 || b->rank() == 0) {
    node.invalid("an operand is a scalar");
    return a;
  }
  bool hasRows = a->rank() > 1, hasColumns = b->rank() > 1;
  std::string left, right, result;
  size_t aBatch = a->rank() > 1 ? a->dims.size() - 2 : 0;
  size_t bBatch = b->rank() > 1 ? b->dims.size() - 2 : 0;
  rt::Dims batch(std::max(aBatch, bBatch), 1);
  if (batch.size() >= sizeof(kBatchLabels) - 1) {
    node.unsupported("it has more batch dims than there are letters");
    return a;
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    size_t back = batch.size() - i;
    int64_t m = back <= aBatch ? a->dims[aBatch - back] : 1;
    int64_t n = back <= bBatch ? b->dims[bBatch - back] : 1;
    if (m != n && m != 1 && n != 1) {
      node.invalid("batch extents " + std::to_string(m) + " and " +
                   std::to_string(n) + " do not broadcast");
      return a;
    }
    batch[i] = m == 1 ? n : m;
    result.push_back(kBatchLabels[i]);
  }
  a = dropUnitDims(emit, a, batch, aBatch, left);
  b = dropUnitDims(emit, b, batch, bBatch, right);
  if (hasRows) {
    left += "m";
    result += "m";
  }
  left += "k";
  right += "k";
  if (hasColumns) {
    right += "n";
    result += "n";
  }
  return emit.matmul(a, b, left + "," + right + "->" + result);
}

static void importMatMul(NodeImporter &node) {
  node.setResult(0, importProduct(node, node.input(0), node.input(1)));
}

/// `tensor * factor`, or `tensor` for the factor 1.
static Tensor scaled(Emitter &emit, const Tensor &tensor, double factor) {
  return factor == 1
             ? tensor
             : emit.binary("mul", tensor, emit.scalar(tensor->type, factor));
}

/// The type in which the factors scale elements of `type`: integers by numbers
/// that are none are floats until the end.
static rt::DType scaledType(rt::DType type, double alpha, double beta) {
  bool isWhole = alpha == std::trunc(alpha) && beta == std::trunc(beta);
  return rt::isFloatType(type) || isWhole ? type : rt::DType::F64;
}

/// Labels say the transposes.
Tensor divisi::importGemmProduct(NodeImporter &node) {
  Emitter &emit = node.emitter();
  const Tensor &a = node.input(0), &b = node.input(1);
  if (a->rank() != 2 || b->rank() != 2) {
    node.invalid("got operands of ranks " + std::to_string(a->rank()) +
                 " and " + std::to_string(b->rank()) + ", expected matrices");
    return a;
  }
  std::string labels = node.getInt("transA") ? "km," : "mk,";
  labels += node.getInt("transB") ? "nk->mn" : "kn->mn";
  double alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  rt::DType type = a->type, wide = scaledType(type, alpha, beta);
  Tensor result = emit.cast(emit.matmul(a, b, labels), wide);
  result = scaled(emit, result, alpha);
  if (node.hasInput(2) && beta != 0) {
    rt::Dims dims = result->dims;
    result = emit.binary("add", result,
                         scaled(emit, emit.cast(node.input(2), wide), beta));
    if (result->dims != dims) {
      node.invalid("C does not broadcast to the product's shape");
    }
  }
  return emit.cast(result, type);
}

static void importGemm(NodeImporter &node) {
  node.setResult(0, importGemmProduct(node));
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

/// Replaces "..." by capital letters, the same from the right in every term.
static bool spellEllipsis(std::string &term, int64_t rank) {
  size_t at = term.find("...");
  if (at == std::string::npos) {
    return static_cast<int64_t>(term.size()) == rank;
  }
  int64_t hidden = rank - static_cast<int64_t>(term.size() - 3);
  if (hidden < 0 || hidden > 20) {
    return false;
  }
  std::string letters;
  for (int64_t i = hidden; i > 0; --i) {
    letters.push_back(static_cast<char>('Z' - i + 1));
  }
  term.replace(at, 3, letters);
  return true;
}

/// Sums over the labels of `term` that stand neither in `other` nor `result`.
static Tensor sumAlone(Emitter &emit, const Tensor &tensor, std::string &term,
                       const std::string &needed) {
  std::vector<int64_t> axes;
  std::string kept;
  for (size_t i = 0; i < term.size(); ++i) {
    if (needed.find(term[i]) == std::string::npos) {
      axes.push_back(static_cast<int64_t>(i));
    } else {
      kept.push_back(term[i]);
    }
  }
  term = kept;
  return emit.reduce("sum", tensor, axes, /*keepDims=*/false);
}

static std::vector<std::string> splitTerms(const std::string &text) {
  std::vector<std::string> terms(1);
  for (char c : text) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(c);
    }
  }
  return terms;
}

/// The result's term of an equation without "->": labels that stand once,
/// in alphabetic order, after those of the ellipsis.
static std::string implicitResult(const std::vector<std::string> &terms) {
  std::string all, result;
  bool hasEllipsis = false;
  for (const std::string &term : terms) {
    hasEllipsis |= term.find("...") != std::string::npos;
    all += term;
  }
  all.erase(std::remove(all.begin(), all.end(), '.'), all.end());
  std::sort(all.begin(), all.end());
  for (char c : all) {
    if (std::count(all.begin(), all.end(), c) == 1) {
      result.push_back(c);
    }
  }
  return (hasEllipsis ? "..." : "") + result;
}

namespace {
/// An equation, one letter a dim: `bij,bjk->bik`.
struct Equation {
  std::string text;               ///< As the model has it, without blanks.
  std::vector<std::string> terms; ///< One per input.
  std::string result;
};
} // namespace

/// Whether `term`, spelt out, is legal for input `i`; fails if not.
static bool checkTerm(NodeImporter &node, const Equation &equation, size_t i,
                      bool fits) {
  const std::string &term = equation.terms[i];
  std::string sorted = term;
  std::sort(sorted.begin(), sorted.end());
  bool isLetters = std::all_of(sorted.begin(), sorted.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  if (!fits || !isLetters) {
    node.invalid("the term '" + term + "' of '" + equation.text +
                 "' does not fit an input of rank " +
                 std::to_string(node.input(i)->rank()));
    return false;
  }
  return true;
}

/// `x` with each label of `term` once: of two dims with one label the diagonal,
/// every (n + 1)st of their n * n elements.
static Tensor takeDiagonals(NodeImporter &node, Tensor x, std::string &term) {
  Emitter &emit = node.emitter();
  for (size_t i = 0; i < term.size(); ++i) {
    for (size_t j = term.find(term[i], i + 1); j != std::string::npos;
         j = term.find(term[i], i + 1)) {
      int64_t extent = x->dims[i];
      if (x->dims[j] != extent) {
        node.invalid("the term '" + term + "' repeats a label for extents of " +
                     std::to_string(extent) + " and " +
                     std::to_string(x->dims[j]));
        return x;
      }
      std::vector<int64_t> order(x->dims.size()), diagonal;
      std::iota(order.begin(), order.end(), 0);
      std::rotate(order.begin() + int64_t(i) + 1, order.begin() + int64_t(j),
                  order.begin() + int64_t(j) + 1);
      x = emit.transpose(x, order);
      rt::Dims dims = x->dims;
      dims[i] = extent * extent;
      dims.erase(dims.begin() + int64_t(i) + 1);
      for (int64_t k = 0; k < extent; ++k) {
        diagonal.push_back(k * (extent + 1));
      }
      x = emit.gather(emit.reshape(x, dims), emit.ints(diagonal),
                      static_cast<int64_t>(i), 0);
      term.erase(j, 1);
    }
  }
  return x;
}

/// A dim of extent 1 broadcasts over the longer ones of its label: the inputs
/// lose it, and `terms` the letter.
static void dropBroadcastDims(Emitter &emit, std::vector<Tensor> &inputs,
                              std::vector<std::string> &terms) {
  std::map<char, int64_t> longest;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < terms[i].size(); ++d) {
      int64_t &extent = longest.emplace(terms[i][d], 1).first->second;
      extent = inputs[i]->dims[d] == 1 ? extent : inputs[i]->dims[d];
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    rt::Dims dims;
    std::string kept;
    for (size_t d = 0; d < terms[i].size(); ++d) {
      if (inputs[i]->dims[d] != 1 || longest[terms[i][d]] == 1) {
        dims.push_back(inputs[i]->dims[d]);
        kept.push_back(terms[i][d]);
      }
    }
    inputs[i] = emit.reshape(inputs[i], dims);
    terms[i] = kept;
  }
}

/// The node's equation with every ellipsis spelt out in letters; nothing after
/// a failure.
static std::optional<Equation> readEquation(NodeImporter &node) {
  Equation equation;
  std::string &text = equation.text;
  text = node.getString("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  size_t arrow = text.find("->");
  std::vector<std::string> &terms = equation.terms;
  terms = splitTerms(text.substr(0, arrow));
  std::string &result = equation.result;
  result = arrow == std::string::npos ? implicitResult(terms)
                                      : text.substr(arrow + 2);
  if (terms.size() != node.numInputs()) {
    node.invalid("the equation '" + text + "' has " +
                 std::to_string(terms.size()) + " terms for " +
                 std::to_string(node.numInputs()) + " inputs");
    return std::nullopt;
  }
  // The most dims that an ellipsis stands for.
  int64_t hidden = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].find("...") != std::string::npos) {
      hidden = std::max(hidden, node.input(i)->rank() -
                                    static_cast<int64_t>(terms[i].size() - 3));
    }
    bool fits = spellEllipsis(terms[i], node.input(i)->rank());
    if (!checkTerm(node, equation, i, fits)) {
      return std::nullopt;
    }
  }
  size_t dots = result.find("...");
  spellEllipsis(result, dots == std::string::npos
                            ? static_cast<int64_t>(result.size())
                            : static_cast<int64_t>(result.size()) - 3 + hidden);
  return equation;
}

/// The labels of the product of `left` and `right`: those that a term in
/// `later` needs, in the result's order if it is the last product.
static std::string productTerm(const std::string &left,
                               const std::string &right,
                               const std::string &later, bool isLast,
                               const std::string &result) {
  std::string both = left, out;
  for (char c : right) {
    if (both.find(c) == std::string::npos) {
      both.push_back(c);
    }
  }
  for (char c : isLast ? result : both) {
    if (later.find(c) != std::string::npos) {
      out.push_back(c);
    }
  }
  return out;
}

/// Multiplies the inputs from left to right, two at a time, and sums a label as
/// soon as no later term has it. `term` becomes the labels of the result; null
/// after a failure.
static Tensor multiplyInputs(NodeImporter &node, Equation &equation,
                             std::string &term) {
  Emitter &emit = node.emitter();
  std::vector<std::string> &terms = equation.terms;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < terms.size(); ++i) {
    inputs.push_back(takeDiagonals(node, node.input(i), terms[i]));
  }
  if (node.failed()) {
    return nullptr;
  }
  dropBroadcastDims(emit, inputs, terms);
  Tensor left = inputs[0];
  term = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string later = equation.result;
    for (size_t j = i + 1; j < terms.size(); ++j) {
      later += terms[j];
    }
    std::string rightTerm = terms[i];
    left = sumAlone(emit, left, term, rightTerm + later);
    Tensor right = sumAlone(emit, inputs[i], rightTerm, term + later);
    std::string out = productTerm(term, rightTerm, later, i + 1 == terms.size(),
                                  equation.result);
    left = emit.matmul(left, right, term + "," + rightTerm + "->" + out);
    term = out;
    if (node.failed()) {
      return nullptr;
    }
  }
  return sumAlone(emit, left, term, equation.result);
}

static void importEinsum(NodeImporter &node) {
  std::optional<Equation> equation = readEquation(node);
  if (!equation) {
    return;
  }
  std::string term;
  Tensor product = multiplyInputs(node, *equation, term);
  if (!product) {
    return;
  }
  std::vector<int64_t> permutation;
  for (char c : equation->result) {
    size_t at = term.find(c);
    if (at == std::string::npos) {
      return node.invalid("label '" + std::string(1, c) +
                          "' of the result occurs in no term of '" +
                          equation->text + "'");
    }
    permutation.push_back(static_cast<int64_t>(at));
  }
  if (permutation.size() != term.size()) {
    return node.invalid("the result of '" + equation->text +
                        "' repeats a label");
  }
  node.setResult(0, node.emitter().transpose(product, permutation));
}

llvm::ArrayRef<ImporterRow> divisi::contractionImporters() {
  static const ImporterRow kRows[] = {
      {"Einsum", importEinsum}, {"Gemm", importGemm}, {"MatMul", importMatMul}};
  return kRows;
}
