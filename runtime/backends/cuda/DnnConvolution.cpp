//===- DnnConvolution.cpp - One convolution by cuDNN ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cuda/DnnConvolution.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <numeric>
#include <sstream>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::cuda;

/// What buffers are sure to begin at multiples of.
static constexpr int64_t bufferAlignment = 64;

DnnTensor DnnTensor::of(const ConvBoxes::Side &side, int64_t width) {
  DnnTensor tensor{side.extents, side.strides};
  if (tensor.extents.size() == 3) {
    int64_t stride = tensor.extents[2] * tensor.strides[2];
    tensor.extents.insert(tensor.extents.begin() + 2, 1);
    tensor.strides.insert(tensor.strides.begin() + 2, stride);
  }
  int64_t begin = bufferAlignment | (side.base * width);
  tensor.alignment = begin & -begin;
  return tensor;
}

bool DnnTensor::isDense() const {
  std::vector<size_t> order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t d) { return strides[d]; });
  int64_t expected = 1;
  for (size_t d : order) {
    if (extents[d] != 1 && strides[d] != expected) {
      return false;
    }
    expected *= extents[d];
  }
  return true;
}

DnnConvolution DnnConvolution::of(const CallSite &site,
                                  const ConvBoxes &boxes) {
  DnnConvolution made;
  made.isGradient = site.op == "nn.conv_dgrad";
  made.type = site.results[0].type;
  for (size_t i = 0; i < boxes.sides.size(); ++i) {
    made.tensors[i] = DnnTensor::of(boxes.sides[i], byteWidth(made.type));
  }
  made.strides = site.attributes.getInts("strides");
  made.dilations = site.attributes.getInts("dilations");
  made.before = boxes.before;
  made.after = boxes.after;
  if (made.strides.size() == 1) { // the row is a plane
    made.strides.insert(made.strides.begin(), 1);
    made.dilations.insert(made.dilations.begin(), 1);
    made.before.insert(made.before.begin(), 0);
    made.after.insert(made.after.begin(), 0);
  }
  return made;
}

std::vector<int64_t> DnnConvolution::numbers() const {
  std::vector<int64_t> numbers(tensors.size() + others.size());
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

std::string DnnConvolution::text() const {
  std::ostringstream os;
  os << isGradient << ' ' << stringify(type) << ' ' << mayRound << ' '
     << mostWorkspace;
  auto add = [&](const DnnTensor &tensor) {
    os << ' ' << stringify(tensor.extents) << ' ' << stringify(tensor.strides)
       << ' ' << tensor.alignment;
  };
  std::ranges::for_each(tensors, add);
  for (const Dims *dims : {&strides, &dilations, &before, &after}) {
    os << ' ' << stringify(*dims);
  }
  for (const ConvStep &step : steps) {
    os << ' ' << int(step.mode) << ' ' << (step.operand >= 0) << ' '
       << step.operandFirst;
  }
  std::ranges::for_each(others, add);
  return os.str();
}

/// Engines whose sums are not ours are left alone: those that round operands,
/// or sums, that spread what is infinite over a tile, and that have another
/// result each time. Who compares has to say that it keeps NaN.
bool DnnConvolution::mayUse(const EngineNotes &notes) const {
  for (cudnnBackendNumericalNote_t note :
       {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION,
        CUDNN_NUMERICAL_NOTE_FFT, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC,
        CUDNN_NUMERICAL_NOTE_WINOGRAD}) {
    if (notes.has(note)) {
      return false;
    }
  }
  bool rounds =
      notes.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS) ||
      (type == DType::F32 && notes.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
  bool compares = std::ranges::any_of(steps, &ConvStep::compares);
  return (!rounds || (type == DType::F32 && mayRound)) &&
         (!compares || notes.has(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP));
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

static cudnnDataType_t typeOf(DType type) {
  return type == DType::F16    ? CUDNN_DATA_HALF
         : type == DType::BF16 ? CUDNN_DATA_BFLOAT16
                               : CUDNN_DATA_FLOAT;
}

namespace {

/// Describes one.
class GraphMaker {
public:
  GraphMaker(const DnnLibrary &library, const DnnConvolution &what)
      : what_(what), all_(library) {}

  void describe();
  DnnDescriptors take() { return std::move(all_); }
  std::span<const cudnnBackendDescriptor_t> operations() const {
    return operations_;
  }

private:
  cudnnBackendDescriptor_t tensor(const DnnTensor &tensor, int64_t number,
                                  bool isVirtual);
  /// What step `step` works on; the last one makes the result.
  cudnnBackendDescriptor_t value(size_t step);
  cudnnBackendDescriptor_t window();
  void addConvolution(cudnnBackendDescriptor_t result);
  cudnnBackendDescriptor_t pointwise(const ConvStep &step);

  const DnnConvolution &what_;
  DnnDescriptors all_;
  std::vector<cudnnBackendDescriptor_t> operations_;
};

} // namespace

cudnnBackendDescriptor_t GraphMaker::tensor(const DnnTensor &tensor,
                                            int64_t number, bool isVirtual) {
  cudnnBackendDescriptor_t made = all_.make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  // Nothing is rounded on the way.
  all_.set(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
           isVirtual ? CUDNN_DATA_FLOAT : typeOf(what_.type));
  all_.set(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64,
           std::span(tensor.extents));
  all_.set(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64,
           std::span(tensor.strides));
  all_.set(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number);
  all_.set(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
           tensor.alignment);
  all_.set(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, isVirtual);
  all_.finalize(made);
  return made;
}

cudnnBackendDescriptor_t GraphMaker::value(size_t step) {
  bool isLast = step == what_.steps.size();
  // Numbers behind those of all that lies in memory.
  int64_t number =
      isLast ? what_.numbers()[2] : int64_t(what_.numbers().size() + step) + 1;
  return tensor(what_.tensors[2], number, !isLast);
}

cudnnBackendDescriptor_t GraphMaker::window() {
  cudnnBackendDescriptor_t made =
      all_.make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  auto set = [&](cudnnBackendAttributeName_t name, const Dims &dims) {
    all_.set(made, name, CUDNN_TYPE_INT64, std::span(dims));
  };
  all_.set(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           CUDNN_DATA_FLOAT);
  all_.set(made, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           CUDNN_CROSS_CORRELATION);
  all_.set(made, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64,
           int64_t(what_.strides.size()));
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, what_.dilations);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, what_.strides);
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, what_.before);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, what_.after);
  all_.finalize(made);
  return made;
}

namespace {

/// The attributes of an operation that is a convolution.
struct ConvAttributes {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t window, tensors[3], alpha, beta;
};

} // namespace

static constexpr ConvAttributes
    forward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
               {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    gradient = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX},
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};

void GraphMaker::addConvolution(cudnnBackendDescriptor_t result) {
  const ConvAttributes &names = what_.isGradient ? gradient : forward;
  cudnnBackendDescriptor_t tensors[] = {
      tensor(what_.tensors[0], what_.numbers()[0], false),
      tensor(what_.tensors[1], what_.numbers()[1], false), result};
  cudnnBackendDescriptor_t window = this->window();
  cudnnBackendDescriptor_t made = all_.make(names.operation);
  all_.set(made, names.window, CUDNN_TYPE_BACKEND_DESCRIPTOR, window);
  for (size_t i = 0; i < 3; ++i) {
    all_.set(made, names.tensors[i], CUDNN_TYPE_BACKEND_DESCRIPTOR, tensors[i]);
  }
  all_.set(made, names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
  all_.set(made, names.beta, CUDNN_TYPE_FLOAT, 0.0F);
  all_.finalize(made);
  operations_.push_back(made);
}

cudnnBackendDescriptor_t GraphMaker::pointwise(const ConvStep &step) {
  cudnnBackendDescriptor_t made = all_.make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  all_.set(made, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
           step.mode);
  all_.set(made, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
           CUDNN_DATA_FLOAT);
  if (step.mode == CUDNN_POINTWISE_RELU_FWD) {
    all_.set(made, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
             CUDNN_TYPE_NAN_PROPOGATION, CUDNN_PROPAGATE_NAN);
  }
  all_.finalize(made);
  return made;
}

void GraphMaker::describe() {
  cudnnBackendDescriptor_t chain = value(0);
  addConvolution(chain);
  size_t other = 0;
  for (size_t s = 0; s < what_.steps.size(); ++s) {
    const ConvStep &step = what_.steps[s];
    cudnnBackendDescriptor_t function = pointwise(step), left = chain;
    cudnnBackendDescriptor_t right = nullptr;
    if (step.operand >= 0) {
      right = tensor(what_.others[other], what_.numbers()[3 + other], false);
      ++other;
      if (step.operandFirst) {
        std::swap(left, right);
      }
    }
    chain = value(s + 1);
    cudnnBackendDescriptor_t made =
        all_.make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    auto set = [&](cudnnBackendAttributeName_t name,
                   cudnnBackendDescriptor_t what) {
      all_.set(made, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, what);
    };
    set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, left);
    if (right) {
      set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, right);
    }
    set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, chain);
    all_.finalize(made);
    operations_.push_back(made);
  }
}

Expected<const DnnPlan *> DnnConvolution::plan(const DnnHandle &dnn) const {
  std::string key = text();
  auto known = dnn.plans().find(key);
  if (known != dnn.plans().end()) {
    return known->second.get();
  }
  GraphMaker graph(dnn.library(), *this);
  graph.describe();
  auto made = DnnPlan::make(
      dnn, graph.take(), graph.operations(),
      [&](const EngineNotes &notes) { return mayUse(notes); }, mostWorkspace);
  return made ? Expected<const DnnPlan *>(
                    (dnn.plans()[key] = std::move(*made)).get())
              : made.status();
}
