//===- DnnDescriptor.cpp - Descriptors of cuDNN ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/emulator/DnnDescriptor.h"

#include <algorithm>

using namespace divisi;
using namespace divisi::emulator;

std::map<cudnnBackendDescriptor_t, std::unique_ptr<DnnDescriptor>> &
divisi::emulator::descriptors() {
  static std::map<cudnnBackendDescriptor_t, std::unique_ptr<DnnDescriptor>> all;
  return all;
}

DnnDescriptor *
divisi::emulator::findDescriptor(cudnnBackendDescriptor_t address) {
  auto found = descriptors().find(address);
  return found == descriptors().end() ? nullptr : found->second.get();
}

size_t divisi::emulator::sizeOf(cudnnBackendAttributeType_t type) {
  switch (type) {
  case CUDNN_TYPE_BOOLEAN:
    return sizeof(bool);
  case CUDNN_TYPE_INT64:
    return sizeof(int64_t);
  case CUDNN_TYPE_FLOAT:
    return sizeof(float);
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return sizeof(void *);
  case CUDNN_TYPE_DATA_TYPE:
  case CUDNN_TYPE_CONVOLUTION_MODE:
  case CUDNN_TYPE_HEUR_MODE:
  case CUDNN_TYPE_NAN_PROPOGATION:
  case CUDNN_TYPE_NUMERICAL_NOTE:
  case CUDNN_TYPE_POINTWISE_MODE:
    return sizeof(int32_t);
  default:
    return 0;
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

namespace {

/// An attribute that a descriptor takes.
struct Known {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t most = 1; ///< How many values.
  bool isNeeded = true;
  /// Of which type a descriptor is.
  cudnnBackendDescriptorType_t refersTo = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
};

} // namespace

static std::span<const Known> table() {
  static constexpr int64_t many = 64;
  static constexpr auto
      tensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR,
      window = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
      function = CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
      forward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      gradient = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      pointwise = CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      graph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
      heuristic = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
      config = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
      plan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
      pack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
  static constexpr auto descriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  static constexpr Known known[] = {
      {tensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
      {tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX},
      {tensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, CUDNN_DIM_MAX},
      {tensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
      {tensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
      {tensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, false},
      {window, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
      {window, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
      {window, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
      {window, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, many},
      {window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, many},
      {window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, many},
      {window, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, many},
      {function, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
      {function, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
      {function, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
       CUDNN_TYPE_NAN_PROPOGATION, 1, false},
      {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, descriptor,
       1, true, window},
      {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, descriptor},
      {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, descriptor},
      {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, descriptor},
      {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_TYPE_FLOAT},
      {forward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
       CUDNN_TYPE_FLOAT},
      {gradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       descriptor, 1, true, window},
      {gradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, descriptor},
      {gradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, descriptor},
      {gradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, descriptor},
      {gradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_TYPE_FLOAT},
      {gradient, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
       CUDNN_TYPE_FLOAT},
      {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, descriptor, 1,
       true, function},
      {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, descriptor},
      {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, descriptor, 1, false},
      {pointwise, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, descriptor},
      {graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
      {graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, descriptor, many, true, pointwise},
      {heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, descriptor, 1, true,
       graph},
      {heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
      {plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
      {plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, descriptor, 1, true,
       config},
      {pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, many},
      {pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, many},
      {pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, false}};
  return known;
}

/// Whether a descriptor may stand where another type is in the table: any
/// operation of a graph.
static bool isOfType(const DnnDescriptor &descriptor, const Known &known) {
  auto type = descriptor.type();
  bool isOperation =
      type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
      type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
      type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  return known.name == CUDNN_ATTR_OPERATIONGRAPH_OPS ? isOperation
                                                     : type == known.refersTo;
}

std::optional<std::string> DnnDescriptor::set(cudnnBackendAttributeName_t name,
                                              cudnnBackendAttributeType_t type,
                                              int64_t count,
                                              const void *values) {
  auto known = std::ranges::find_if(table(), [&](const Known &candidate) {
    return candidate.of == type_ && candidate.name == name;
  });
  if (isFinal_) {
    return "an attribute of a descriptor that is finalized";
  }
  if (known == table().end()) {
    return "an attribute that a descriptor of that type has not";
  }
  if (type != known->type || count < 1 || count > known->most || !values) {
    return "an attribute of another type, or so many values of it";
  }
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t i = 0; i < count; ++i) {
      const DnnDescriptor *other = findDescriptor(
          static_cast<const cudnnBackendDescriptor_t *>(values)[i]);
      if (!other || !other->isFinal() || !isOfType(*other, *known)) {
        return "a descriptor that is of another type, or not finalized";
      }
    }
  }
  const auto *bytes = static_cast<const std::byte *>(values);
  attributes_[name].assign(bytes, bytes + size_t(count) * sizeOf(type));
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Finalizing
//===----------------------------------------------------------------------===//

using Dims = std::vector<int64_t>;

static bool areAtLeast(const Dims &values, int64_t least) {
  return std::ranges::all_of(values,
                             [&](int64_t value) { return value >= least; });
}

std::optional<std::string> DnnDescriptor::finalizeTensor() const {
  Dims dims = all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS),
       strides = all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  auto alignment = one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  auto type = one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  bool isKnown = type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_HALF ||
                 type == CUDNN_DATA_BFLOAT16;
  if (dims.size() != strides.size() || !areAtLeast(dims, 1) ||
      !areAtLeast(strides, 1) || alignment < 1 ||
      (alignment & (alignment - 1)) != 0 || !isKnown) {
    return "a tensor of such dimensions, strides, alignment or type";
  }
  return std::nullopt;
}

std::optional<std::string> DnnDescriptor::finalizeWindow() const {
  auto rank = one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  auto has = [&](cudnnBackendAttributeName_t name, int64_t least) {
    Dims values = all<int64_t>(name);
    return int64_t(values.size()) == rank && areAtLeast(values, least);
  };
  bool isRight =
      has(CUDNN_ATTR_CONVOLUTION_DILATIONS, 1) &&
      has(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1) &&
      has(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0) &&
      has(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0) &&
      one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) ==
          CUDNN_DATA_FLOAT &&
      one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) ==
          CUDNN_CROSS_CORRELATION;
  return isRight ? std::nullopt
                 : std::optional<std::string>("a window of such steps or sums");
}

std::optional<std::string> DnnDescriptor::finalizePointwise() const {
  auto mode = one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  bool isRight = one<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC) ==
                     CUDNN_DATA_FLOAT &&
                 (!has(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION) ||
                  mode == CUDNN_POINTWISE_RELU_FWD);
  return isRight
             ? std::nullopt
             : std::optional<std::string>("a pointwise function of such kind");
}

static DnnTensor readTensor(const DnnDescriptor &from) {
  auto type = from.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  DnnTensor tensor;
  tensor.number = from.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  tensor.type = type == CUDNN_DATA_FLOAT  ? rt::DType::F32
                : type == CUDNN_DATA_HALF ? rt::DType::F16
                                          : rt::DType::BF16;
  tensor.dims = from.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  tensor.strides = from.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  tensor.alignment = from.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  tensor.isVirtual = from.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) &&
                     from.one<uint8_t>(CUDNN_ATTR_TENSOR_IS_VIRTUAL) != 0;
  return tensor;
}

namespace {

/// Reads the operations of a graph.
class GraphReader {
public:
  std::shared_ptr<DnnProblem> problem = std::make_shared<DnnProblem>();
  bool isRight = true;

  void add(const DnnDescriptor &from);

private:
  int64_t tensor(const DnnDescriptor &from, cudnnBackendAttributeName_t name);
  void addWindow(const DnnDescriptor &from, cudnnBackendAttributeName_t name,
                 DnnOperation &made);
};

} // namespace

static const DnnDescriptor *referred(const DnnDescriptor &from,
                                     cudnnBackendAttributeName_t name) {
  return from.has(name)
             ? findDescriptor(from.one<cudnnBackendDescriptor_t>(name))
             : nullptr;
}

/// The number of a tensor, which has one meaning in a graph; 0: there is none.
int64_t GraphReader::tensor(const DnnDescriptor &from,
                            cudnnBackendAttributeName_t name) {
  const DnnDescriptor *what = referred(from, name);
  isRight &= what || !from.has(name);
  if (!what) {
    return 0;
  }
  DnnTensor tensor = readTensor(*what);
  isRight &= tensor.number != 0;
  auto [known, isNew] = problem->tensors.try_emplace(tensor.number, tensor);
  isRight &= isNew || known->second == tensor;
  return tensor.number;
}

void GraphReader::addWindow(const DnnDescriptor &from,
                            cudnnBackendAttributeName_t name,
                            DnnOperation &made) {
  const DnnDescriptor *window = referred(from, name);
  isRight &= window != nullptr;
  if (window) {
    made.strides = window->all<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    made.dilations = window->all<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
    made.before = window->all<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    made.after = window->all<int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  }
}

void GraphReader::add(const DnnDescriptor &from) {
  DnnOperation made;
  if (from.type() == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) {
    made.kind = DnnOperation::Kind::Forward;
    made.left = tensor(from, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
    made.right = tensor(from, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
    made.result = tensor(from, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
    addWindow(from, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, made);
    isRight &=
        from.one<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA) == 1 &&
        from.one<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA) == 0;
  } else if (from.type() ==
             CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR) {
    made.kind = DnnOperation::Kind::Gradient;
    made.left = tensor(from, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
    made.right = tensor(from, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
    made.result = tensor(from, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
    addWindow(from, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, made);
    isRight &=
        from.one<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA) == 1 &&
        from.one<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA) == 0;
  } else {
    made.kind = DnnOperation::Kind::Pointwise;
    made.left = tensor(from, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
    made.right = tensor(from, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    made.result = tensor(from, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    const DnnDescriptor *function =
        referred(from, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    isRight &= function != nullptr;
    if (function) {
      made.mode =
          function->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
      auto nan = function->all<cudnnNanPropagation_t>(
          CUDNN_ATTR_POINTWISE_NAN_PROPAGATION);
      made.keepsNan = !nan.empty() && nan[0] == CUDNN_PROPAGATE_NAN;
    }
  }
  problem->operations.push_back(made);
}

std::optional<std::string> DnnDescriptor::finalizeGraph() {
  GraphReader reader;
  for (auto address :
       all<cudnnBackendDescriptor_t>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    const DnnDescriptor *operation = findDescriptor(address);
    if (!operation) {
      return "an operation that is destroyed";
    }
    reader.add(*operation);
  }
  if (!reader.isRight) {
    return "a graph with a tensor of two meanings, or something destroyed";
  }
  problem = reader.problem;
  return problem->refusal();
}

std::optional<std::string> DnnDescriptor::finalize() {
  if (isFinal_) {
    return "to finalize a descriptor twice";
  }
  for (const Known &known : table()) {
    if (known.of == type_ && known.isNeeded && !has(known.name)) {
      return "a descriptor without what it needs";
    }
  }
  std::optional<std::string> wrong;
  if (type_ == CUDNN_BACKEND_TENSOR_DESCRIPTOR) {
    wrong = finalizeTensor();
  } else if (type_ == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) {
    wrong = finalizeWindow();
  } else if (type_ == CUDNN_BACKEND_POINTWISE_DESCRIPTOR) {
    wrong = finalizePointwise();
  } else if (type_ == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    wrong = finalizeGraph();
  }
  isFinal_ = !wrong;
  return wrong;
}
