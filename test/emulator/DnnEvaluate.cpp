//===- DnnEvaluate.cpp - What a graph of cuDNN means ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DnnProblem.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace divisi;
using namespace divisi::emulator;

using Dims = std::vector<int64_t>;
using Values = std::vector<double>;

/// Calls body(i, offset) for all elements, row-major; offsets in elements.
template <typename Body>
static void forEachElement(const DnnTensor &tensor, Body body) {
  Dims index(tensor.dims.size());
  int64_t offset = 0;
  for (int64_t i = 0, n = tensor.count(); i < n; ++i) {
    body(i, offset);
    for (size_t d = index.size(); d-- > 0;) {
      offset += tensor.strides[d];
      if (++index[d] < tensor.dims[d]) {
        break;
      }
      offset -= index[d] * tensor.strides[d];
      index[d] = 0;
    }
  }
}

/// What is touched of it: all of a dense one, each element of others.
static void touchAll(const DnnTensor &tensor, uint64_t address,
                     std::vector<ByteRange> &ranges) {
  auto width = uint64_t(widthOf(tensor.type));
  if (tensor.isDense()) {
    ranges.push_back({address, address + tensor.span()});
    return;
  }
  forEachElement(tensor, [&](int64_t, int64_t offset) {
    touch(ranges, address + uint64_t(offset) * width, width);
  });
}

namespace {

/// A convolution of dense tensors with three spatial dimensions, the first of
/// which may be of one index. It walks all pairs of elements that are
/// multiplied.
struct Window {
  Dims data, filter, image; ///< Extents.
  Dims strides, dilations, before;
  int64_t groups;

  /// The same with one more dimension if there are two.
  Window(const DnnOperation &what, Dims dataDims, Dims filterDims,
         Dims imageDims, int64_t numGroups)
      : data(std::move(dataDims)), filter(std::move(filterDims)),
        image(std::move(imageDims)), strides(what.strides),
        dilations(what.dilations), before(what.before), groups(numGroups) {
    if (strides.size() == 2) {
      for (Dims *dims : {&data, &filter, &image}) {
        dims->insert(dims->begin() + 2, 1);
      }
      strides.insert(strides.begin(), 1);
      dilations.insert(dilations.begin(), 1);
      before.insert(before.begin(), 0);
    }
  }

  /// Calls body(data, filter, image, count, step) for rows of the image: so
  /// many elements of it and of the data, the latter that far apart.
  template <typename Body> void forEachRow(Body body) const;

private:
  /// Of dimension d, index o of the image and tap k: that of the data.
  int64_t at(size_t d, int64_t o, int64_t k) const {
    return o * strides[d] + k * dilations[d] - before[d];
  }
  bool isInside(size_t d, int64_t index) const {
    return index >= 0 && index < data[d + 2];
  }
};

} // namespace

static int64_t flat(const Dims &extents, const Dims &index) {
  int64_t at = 0;
  for (size_t d = 0; d < extents.size(); ++d) {
    at = at * extents[d] + index[d];
  }
  return at;
}

template <typename Body> void Window::forEachRow(Body body) const {
  int64_t perGroup = filter[0] / groups;
  Dims outer{image[0],  filter[0], filter[1], filter[2],
             filter[3], filter[4], image[2],  image[3]};
  Dims i(outer.size());
  for (int64_t left = std::accumulate(outer.begin(), outer.end(), int64_t(1),
                                      std::multiplies<>());
       left > 0; --left) {
    auto [n, m, c, k0, k1, k2, o0, o1] =
        std::tie(i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7]);
    int64_t x0 = at(0, o0, k0), x1 = at(1, o1, k1);
    // The first and the last one that are inside.
    int64_t first = 0, last = image[4];
    while (first < last && !isInside(2, at(2, first, k2))) {
      ++first;
    }
    while (last > first && !isInside(2, at(2, last - 1, k2))) {
      --last;
    }
    if (isInside(0, x0) && isInside(1, x1) && first < last) {
      int64_t channel = m / perGroup * filter[1] + c;
      body(flat(data, {n, channel, x0, x1, at(2, first, k2)}),
           flat(filter, {m, c, k0, k1, k2}), flat(image, {n, m, o0, o1, first}),
           last - first, strides[2]);
    }
    for (size_t d = i.size(); d-- > 0 && ++i[d] == outer[d];) {
      i[d] = 0;
    }
  }
}

static double apply(const DnnOperation &step, double x, double b,
                    bool dropsNan) {
  bool keepsNan = !dropsNan && (std::isnan(x) || std::isnan(b));
  double nan = std::numeric_limits<double>::quiet_NaN();
  switch (step.mode) {
  case CUDNN_POINTWISE_ADD:
    return x + b;
  case CUDNN_POINTWISE_SUB:
    return x - b;
  case CUDNN_POINTWISE_MUL:
    return x * b;
  case CUDNN_POINTWISE_DIV:
    return x / b;
  case CUDNN_POINTWISE_MAX:
    return keepsNan ? nan : std::fmax(x, b);
  case CUDNN_POINTWISE_MIN:
    return keepsNan ? nan : std::fmin(x, b);
  case CUDNN_POINTWISE_RELU_FWD:
    return keepsNan && step.keepsNan ? nan : std::fmax(x, 0);
  case CUDNN_POINTWISE_TANH_FWD:
    return std::tanh(x);
  case CUDNN_POINTWISE_SIGMOID_FWD:
    return 1 / (1 + std::exp(-x));
  case CUDNN_POINTWISE_SWISH_FWD:
    return x / (1 + std::exp(-x));
  case CUDNN_POINTWISE_GELU_FWD:
    return geluByErf(x);
  case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
    return geluByTanh(x);
  default:
    return nan;
  }
}

namespace {

/// Does a graph on values.
class Evaluator {
public:
  Evaluator(const DnnProblem &problem, const DnnArithmetic &arithmetic)
      : problem_(problem), arithmetic_(arithmetic) {}

  void set(int64_t number, Values values) {
    values_[number] = std::move(values);
  }
  const Values &of(int64_t number) const { return values_.at(number); }
  void run() {
    for (const DnnOperation &operation : problem_.operations) {
      values_[operation.result] =
          operation.kind == DnnOperation::Kind::Pointwise ? point(operation)
                                                          : slide(operation);
    }
  }

private:
  const DnnTensor &tensor(int64_t number) const {
    return problem_.tensors.at(number);
  }

  Values operand(int64_t number) const {
    Values values = of(number);
    for (double &value : values) {
      value = arithmetic_.roundsToTf32 ? roundToTf32(value) : value;
    }
    return values;
  }

  Values slide(const DnnOperation &what) const {
    bool isForward = what.kind == DnnOperation::Kind::Forward;
    Window window(what, tensor(isForward ? what.left : what.result).dims,
                  tensor(what.right).dims,
                  tensor(isForward ? what.result : what.left).dims,
                  problem_.groups());
    Values left = operand(what.left), filter = operand(what.right);
    Values result(size_t(tensor(what.result).count()));
    window.forEachRow([&](int64_t data, int64_t tap, int64_t image,
                          int64_t count, int64_t step) {
      for (int64_t i = 0; i < count; ++i) {
        if (isForward) {
          result[size_t(image + i)] +=
              filter[size_t(tap)] * left[size_t(data + i * step)];
        } else {
          result[size_t(data + i * step)] +=
              filter[size_t(tap)] * left[size_t(image + i)];
        }
      }
    });
    return result;
  }

  Values point(const DnnOperation &what) const {
    const DnnTensor &to = tensor(what.result);
    auto from = [&](int64_t number) {
      DnnTensor spread = tensor(number);
      int64_t stride = 1;
      for (size_t d = to.dims.size(); d-- > 0;) {
        bool moves = spread.dims[d] != 1;
        spread.strides[d] = moves ? stride : 0;
        stride *= spread.dims[d];
        spread.dims[d] = to.dims[d];
      }
      Values values;
      forEachElement(spread, [&](int64_t, int64_t offset) {
        values.push_back(of(number)[size_t(offset)]);
      });
      return values;
    };
    Values x = from(what.left), b = what.right ? from(what.right) : Values();
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = apply(what, x[i], b.empty() ? 0 : b[i], arithmetic_.dropsNan);
    }
    return x;
  }

  const DnnProblem &problem_;
  const DnnArithmetic &arithmetic_;
  std::map<int64_t, Values> values_;
};

} // namespace

std::optional<std::string>
DnnProblem::run(const std::map<int64_t, uint64_t> &addresses,
                const DnnArithmetic &arithmetic, Gpus &gpus,
                Touched &touched) const {
  Evaluator evaluator(*this, arithmetic);
  int64_t last = operations.back().result;
  for (int64_t number : inMemory()) {
    const DnnTensor &tensor = tensors.at(number);
    uint64_t address = addresses.at(number);
    const std::byte *data = gpus.find(address, tensor.span());
    if (!data) {
      return noSuchBytes;
    }
    touchAll(tensor, address, number == last ? touched.writes : touched.reads);
    Values values(size_t(tensor.count()));
    forEachElement(tensor, [&](int64_t i, int64_t offset) {
      values[size_t(i)] =
          loadNumber(data + offset * widthOf(tensor.type), tensor.type);
    });
    evaluator.set(number, std::move(values));
  }
  evaluator.run();
  const DnnTensor &result = tensors.at(last);
  std::byte *data = gpus.find(addresses.at(last), result.span());
  const Values &values = evaluator.of(last);
  forEachElement(result, [&](int64_t i, int64_t offset) {
    storeNumber(arithmetic.isWrong ? std::numeric_limits<double>::quiet_NaN()
                                   : values[size_t(i)],
                data + offset * widthOf(result.type), result.type);
  });
  return std::nullopt;
}
