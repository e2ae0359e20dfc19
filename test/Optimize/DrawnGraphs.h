//===- DrawnGraphs.h - Graphs of all operators of rules ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where DrawnPrograms.h draws matrices, this draws tensors of one to four dims
// and operators of every kind that sources of rules have: products and
// convolutions, windows, sums and products with what is repeated, functions,
// norms, folds, and movement. Operands are mostly of a few forms, so that rules
// about several operators match.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_TEST_OPTIMIZE_DRAWNGRAPHS_H
#define DIVISI_TEST_OPTIMIZE_DRAWNGRAPHS_H

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace divisi::optimize {

/// Draws the text of a graph of so many operators, on f64.
class GraphDrawer {
public:
  GraphDrawer(int64_t operators, uint64_t seed) : random_(seed) {
    Dims form(2 + random_() % 3);
    isWide_ = form.size() == 2 && one(2);
    for (int64_t &dim : form) {
      dim = extent();
    }
    for (int i = 0; i != 2; ++i) {
      std::string name = "%x" + std::to_string(i);
      arguments_ += (i ? ", " : "") + name + ": " + type(form);
      tensors_.push_back({name, form, true});
      form.back() = one(2) ? extent() : form.back();
    }
    for (int64_t i = 0; i != operators; ++i) {
      addOperator();
    }
  }

  /// A module with @forward, which returns what nobody reads.
  std::string text() const;

private:
  using Dims = std::vector<int64_t>;
  struct Tensor {
    std::string name;
    Dims dims;
    bool isRead = false; ///< By another operator.
  };

  /// True once in so many times.
  bool one(uint64_t in) { return random_() % in == 0; }
  int64_t extent() { return (isWide_ ? 48 : 2) * (1 + int64_t(random_() % 2)); }
  size_t below(size_t end) { return size_t(random_() % end); }
  static std::string type(const Dims &dims, const std::string &of = "f64");
  static std::string list(const Dims &numbers);
  const Dims &dimsOf(size_t i) const { return tensors_[i].dims; }
  size_t weight(const Dims &dims);
  size_t like(const Dims &dims);
  void add(const std::string &op, const std::vector<size_t> &operands,
           const Dims &dims, const std::string &attributes = "");
  void addOperator();
  void addProduct(size_t a);
  void addConv(size_t a);
  void addPool(size_t a);
  void addPair(size_t a);
  void addFunction(size_t a);
  void addFold(size_t a);
  void addMovement(size_t a);
  void addSlice(size_t a);
  void addGather(size_t a);

  std::mt19937_64 random_;
  bool isWide_ = false; ///< So that products take longer than launches.
  std::vector<Tensor> tensors_;
  std::string globals_, arguments_, body_;
  int names_ = 0;
};

inline std::string GraphDrawer::type(const Dims &dims, const std::string &of) {
  std::string text = "tensor<";
  for (int64_t dim : dims) {
    text += std::to_string(dim) + "x";
  }
  return text + of + ">";
}

inline std::string GraphDrawer::list(const Dims &numbers) {
  std::string text;
  for (int64_t number : numbers) {
    text += (text.empty() ? ": " : ", ") + std::to_string(number);
  }
  return "array<i64" + text + ">";
}

inline size_t GraphDrawer::weight(const Dims &dims) {
  std::string name = "w" + std::to_string(names_++);
  globals_ += "nn.global @" + name + " parameter : " + type(dims) + "\n";
  body_ += "%" + name + " = nn.read @" + name + " : " + type(dims) + "\n";
  tensors_.push_back({"%" + name, dims, true});
  return tensors_.size() - 1;
}

/// A tensor of that form: one that there is, or a weight.
inline size_t GraphDrawer::like(const Dims &dims) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i != tensors_.size(); ++i) {
    if (dimsOf(i) == dims) {
      fitting.push_back(i);
    }
  }
  return fitting.empty() || one(2) ? weight(dims)
                                   : fitting[below(fitting.size())];
}

inline void GraphDrawer::add(const std::string &op,
                             const std::vector<size_t> &operands,
                             const Dims &dims, const std::string &attributes) {
  std::string name = "%v" + std::to_string(names_++), names, types;
  for (size_t operand : operands) {
    names += (names.empty() ? "" : ", ") + tensors_[operand].name;
    types += (types.empty() ? "" : ", ") + type(dimsOf(operand));
    tensors_[operand].isRead = true;
  }
  body_ += name + " = nn." + op + " " + names + attributes + " : (" + types +
           ") -> " + type(dims) + "\n";
  tensors_.push_back({name, dims, false});
}

/// By a matrix, either way round, or, of a batch, by one for each.
inline void GraphDrawer::addProduct(size_t a) {
  Dims dims = dimsOf(a);
  int64_t k = dims.back(), n = one(2) ? k : extent();
  std::string lead = std::string("abcd").substr(0, dims.size() - 1);
  dims.back() = n;
  bool isBatch = dims.size() == 3 && one(2), isTurned = !isBatch && one(3);
  Dims by = isBatch ? Dims{dims[0], k, n} : isTurned ? Dims{n, k} : Dims{k, n};
  std::string labels = isBatch ? "akn" : isTurned ? "nk" : "kn";
  add("matmul", {a, like(by)}, dims,
      " {labels = \"" + lead + "k," + labels + "->" + lead + "n\"}");
}

inline void GraphDrawer::addConv(size_t a) {
  Dims dims = dimsOf(a);
  int64_t outputs = one(2) ? dims[1] : extent();
  int64_t groups = dims[1] % 2 + outputs % 2 == 0 && one(4) ? 2 : 1;
  int64_t window = one(2) ? 1 : 3, pad = window / 2;
  size_t w = like({outputs, dims[1] / groups, window, window});
  dims[1] = outputs;
  add("conv", {a, w}, dims,
      " {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_lo = " +
          list({pad, pad}) + ", pads_hi = " + list({pad, pad}) +
          ", groups = " + std::to_string(groups) + " : i64}");
}

/// Some sums are means.
inline void GraphDrawer::addPool(size_t a) {
  bool isSum = !one(4);
  add(isSum ? "pool_sum" : "pool_max", {a}, Dims(dimsOf(a)),
      " {kernel = array<i64: 1, 1, 3, 3>, strides = array<i64: 1, 1, 1, 1>, "
      "dilations = array<i64: 1, 1, 1, 1>, pads_lo = array<i64: 0, 0, 1, 1>, "
      "pads_hi = array<i64: 0, 0, 1, 1>}");
  if (isSum && one(2)) {
    std::string name = "%c" + std::to_string(names_++);
    body_ += name + " = nn.constant dense<9.0> : tensor<f64>\n";
    size_t pooled = tensors_.size() - 1;
    tensors_.push_back({name, {}, true});
    add("div", {pooled, tensors_.size() - 1}, Dims(dimsOf(pooled)));
  }
}

/// With one of the same form, or one that is repeated.
inline void GraphDrawer::addPair(size_t a) {
  static constexpr const char *pairs[] = {"add", "add", "add", "mul",
                                          "mul", "sub", "max", "div"};
  Dims dims = dimsOf(a), other = dims;
  std::string op = pairs[below(8)];
  switch (random_() % 6) {
  case 0:
    other = {dims.back()};
    break;
  case 1:
    other = {};
    break;
  case 2:
    if (dims.size() == 4) {
      other = {dims[1], 1, 1};
    } else {
      other.back() = 1;
    }
    break;
  default:
    break;
  }
  // What may be zero divides nothing.
  size_t b = op == "div" ? weight(other) : like(other);
  add(op, {a, b}, dims);
}

inline void GraphDrawer::addFunction(size_t a) {
  static constexpr const char *functions[] = {"neg", "relu", "tanh", "sigmoid"};
  Dims dims = dimsOf(a);
  std::string last = std::to_string(dims.size() - 1);
  switch (random_() % 6) {
  case 0:
    add("softmax", {a}, dims, " {axis = " + last + " : i64, log = false}");
    break;
  case 1:
    add("normalize", {a}, dims,
        " {axes = array<i64: " + last +
            ">, center = false, epsilon = 1.0e-3 : f64}");
    break;
  default:
    add(functions[below(4)], {a}, dims);
  }
}

inline void GraphDrawer::addFold(size_t a) {
  Dims dims = dimsOf(a);
  size_t axis = below(dims.size());
  dims.erase(dims.begin() + ptrdiff_t(axis));
  add("reduce", {a}, dims,
      std::string(" {kind = \"") + (one(4) ? "max" : "sum") +
          "\", axes = " + list({int64_t(axis)}) + "}");
}

inline void GraphDrawer::addSlice(size_t a) {
  Dims dims = dimsOf(a), starts(dims.size(), 0), limits = dims;
  size_t axis = below(dims.size());
  int64_t half = dims[axis] / 2;
  (one(2) ? starts[axis] : limits[axis]) = half;
  dims[axis] = limits[axis] - starts[axis];
  add("slice", {a}, dims,
      " {starts = " + list(starts) + ", limits = " + list(limits) +
          ", steps = " + list(Dims(dims.size(), 1)) + "}");
}

inline void GraphDrawer::addGather(size_t a) {
  Dims dims = dimsOf(a);
  std::string name = "%c" + std::to_string(names_++), result;
  body_ += name + " = nn.constant dense<[1, 0, 1]> : tensor<3xi64>\n";
  std::string from = type(dims);
  dims[0] = 3;
  result = "%v" + std::to_string(names_++);
  body_ += result + " = nn.gather " + tensors_[a].name + ", " + name +
           " {axis = 0 : i64, batch_dims = 0 : i64} : (" + from +
           ", tensor<3xi64>) -> " + type(dims) + "\n";
  tensors_[a].isRead = true;
  tensors_.push_back({result, dims, false});
}

inline void GraphDrawer::addMovement(size_t a) {
  Dims dims = dimsOf(a);
  if (dims[0] >= 2 && one(8)) {
    addGather(a);
  } else if (one(3)) {
    Dims permutation(dims.size()), turned;
    std::iota(permutation.begin(), permutation.end(), 0);
    std::swap(permutation[below(dims.size())], permutation.back());
    for (int64_t from : permutation) {
      turned.push_back(dims[size_t(from)]);
    }
    add("transpose", {a}, turned, " {permutation = " + list(permutation) + "}");
  } else if (size_t axis = below(dims.size()); dims[axis] > 1 && one(2)) {
    addSlice(a);
  } else {
    size_t b = like(dims);
    dims[axis] *= 2;
    add("concat", {a, b}, dims, " {axis = " + std::to_string(axis) + " : i64}");
  }
}

inline void GraphDrawer::addOperator() {
  // What was made last is read most, and inputs several times.
  size_t a = one(2) ? tensors_.size() - 1 : below(tensors_.size());
  while (dimsOf(a).empty() || (dimsOf(a).size() == 1 && one(2))) {
    a = below(tensors_.size());
  }
  bool isImage = dimsOf(a).size() == 4;
  switch (random_() % 10) {
  case 0:
  case 1:
  case 2:
    isImage ? addConv(a) : addProduct(a);
    break;
  case 3:
  case 4:
  case 5:
    addPair(a);
    break;
  case 6:
    addFunction(a);
    break;
  case 7:
    isImage ? addPool(a) : addFold(a);
    break;
  default:
    addMovement(a);
  }
}

inline std::string GraphDrawer::text() const {
  std::string names, types;
  for (const Tensor &tensor : tensors_) {
    if (!tensor.isRead) {
      names += (names.empty() ? "" : ", ") + tensor.name;
      types += (types.empty() ? "" : ", ") + type(tensor.dims);
    }
  }
  return globals_ + "func.func @forward(" + arguments_ + ") -> (" + types +
         ") {\n" + body_ + "return " + names + " : " + types + "\n}\n";
}

} // namespace divisi::optimize

#endif // DIVISI_TEST_OPTIMIZE_DRAWNGRAPHS_H
