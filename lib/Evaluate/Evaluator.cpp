//===- Evaluator.cpp - Run nn functions by the reference kernels ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "divisi/Evaluate/Evaluator.h"

#include "dialects/NN/Bodies.h"
#include "dialects/NN/Locations.h"
#include "divisi/Evaluate/KernelCall.h"
#include "divisi/runtime/kernels/Kernel.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace divisi;
using rt::DType;

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

mlir::Type divisi::toMLIRType(mlir::MLIRContext *context, DType type) {
  mlir::Builder builder(context);
  switch (type) {
  case DType::F64:
    return builder.getF64Type();
  case DType::F32:
    return builder.getF32Type();
  case DType::F16:
    return builder.getF16Type();
  case DType::BF16:
    return builder.getBF16Type();
  case DType::Bool:
    return builder.getI1Type();
  case DType::F4E2M1:
    return builder.getType<mlir::Float4E2M1FNType>();
  case DType::F8E4M3FN:
    return builder.getType<mlir::Float8E4M3FNType>();
  case DType::F8E4M3FNUZ:
    return builder.getType<mlir::Float8E4M3FNUZType>();
  case DType::F8E5M2:
    return builder.getType<mlir::Float8E5M2Type>();
  case DType::F8E5M2FNUZ:
    return builder.getType<mlir::Float8E5M2FNUZType>();
  case DType::F8E8M0:
    return builder.getType<mlir::Float8E8M0FNUType>();
  case DType::Field:
    return builder.getType<nn::FieldType>();
  case DType::U2:
  case DType::U4:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    return builder.getIntegerType(static_cast<unsigned>(rt::bitWidth(type)),
                                  /*isSigned=*/false);
  case DType::I2:
  case DType::I4:
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    break;
  }
  return builder.getIntegerType(static_cast<unsigned>(rt::bitWidth(type)));
}

std::optional<DType> divisi::fromMLIRType(mlir::Type type) {
  for (unsigned i = 0; i < rt::numDTypes; ++i) {
    auto candidate = static_cast<DType>(i);
    if (toMLIRType(type.getContext(), candidate) == type) {
      return candidate;
    }
  }
  return std::nullopt;
}

mlir::DenseElementsAttr divisi::toDenseAttr(mlir::MLIRContext *context,
                                            const rt::HostTensor &tensor) {
  auto type = mlir::RankedTensorType::get(tensor.dims(),
                                          toMLIRType(context, tensor.type()));
  bool isSplat = tensor.isSplat();
  if (tensor.type() == DType::Bool) {
    llvm::SmallVector<bool> flags;
    for (int64_t i = 0; i < (isSplat ? 1 : tensor.count()); ++i) {
      flags.push_back(tensor.intAt(i) != 0);
    }
    return mlir::DenseElementsAttr::get(type, flags);
  }
  if (tensor.type() == DType::I4 || tensor.type() == DType::I2) {
    // A byte here is sign-extended, and there is not.
    llvm::SmallVector<llvm::APInt> numbers;
    for (int64_t i = 0; i < (isSplat ? 1 : tensor.count()); ++i) {
      numbers.emplace_back(static_cast<unsigned>(rt::bitWidth(tensor.type())),
                           tensor.intAt(i), /*isSigned=*/true);
    }
    return mlir::DenseElementsAttr::get(type, numbers);
  }
  size_t size = isSplat ? static_cast<size_t>(rt::byteWidth(tensor.type()))
                        : static_cast<size_t>(tensor.byteSize());
  return mlir::DenseElementsAttr::getFromRawBuffer(
      type, {reinterpret_cast<const char *>(tensor.data()), size});
}

/// The elements of `attribute` as they are written.
static Expected<rt::HostTensor> elementsOf(mlir::DenseElementsAttr attribute) {
  auto type = fromMLIRType(attribute.getElementType());
  if (!type) {
    return Status(
        ExitCode::Unsupported,
        "a constant has an element type that Divisi does not support");
  }
  auto shape = attribute.getType().getShape();
  auto result =
      rt::HostTensor::zeros(*type, rt::Dims(shape.begin(), shape.end()));
  if (!result || result->count() == 0) {
    return result;
  }
  if (*type == DType::Bool) {
    auto out = result->as<uint8_t>().begin();
    for (bool flag : attribute.getValues<bool>()) {
      *out++ = flag;
    }
    return result;
  }
  llvm::ArrayRef<char> raw = attribute.getRawData();
  size_t size = static_cast<size_t>(result->byteSize());
  for (size_t at = 0; at < size; at += raw.size()) {
    std::memcpy(result->data() + at, raw.data(), raw.size());
  }
  return result->clone();
}

Expected<rt::HostTensor>
divisi::fromDenseAttr(mlir::DenseElementsAttr attribute,
                      std::optional<DType> type) {
  auto result = elementsOf(attribute);
  return result && type ? result->castTo(*type) : result;
}

static std::optional<rt::Attribute> toRuntimeAttribute(mlir::Attribute value) {
  using Result = std::optional<rt::Attribute>;
  return llvm::TypeSwitch<mlir::Attribute, Result>(value)
      .Case<mlir::BoolAttr>(
          [](auto flag) { return Result(int64_t{flag.getValue()}); })
      .Case<mlir::IntegerAttr>(
          [](auto number) { return Result(number.getInt()); })
      .Case<mlir::FloatAttr>(
          [](auto number) { return Result(number.getValueAsDouble()); })
      .Case<mlir::StringAttr>(
          [](auto word) { return Result(word.getValue().str()); })
      .Case<mlir::DenseI64ArrayAttr>([](auto numbers) {
        return Result(std::vector<int64_t>(numbers.asArrayRef()));
      })
      .Case<mlir::DenseF64ArrayAttr>([](auto numbers) {
        return Result(std::vector<double>(numbers.asArrayRef()));
      })
      .Default([](mlir::Attribute) { return Result(); });
}

rt::Attributes divisi::toRuntimeAttributes(mlir::DictionaryAttr config) {
  rt::Attributes result;
  for (mlir::NamedAttribute named : config) {
    if (auto converted = toRuntimeAttribute(named.getValue())) {
      result.set(named.getName().str(), std::move(*converted));
    }
  }
  return result;
}

rt::Attributes divisi::toRuntimeAttributes(mlir::Operation *op) {
  return toRuntimeAttributes(kernelConfig(op));
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Expected<rt::HostTensor>
divisi::evaluateOp(const std::string &op, const rt::Attributes &attributes,
                   const std::vector<rt::HostTensor> &operands, DType type,
                   rt::Dims dims) {
  auto result = rt::HostTensor::zeros(type, dims);
  if (!result || result->count() == 0) {
    return result;
  }
  std::vector<rt::TensorInfo> infos;
  std::vector<const void *> data;
  for (const rt::HostTensor &operand : operands) {
    infos.push_back(rt::TensorInfo::whole(operand.type(), operand.dims()));
    data.push_back(operand.data());
  }
  rt::TensorInfo out = rt::TensorInfo::whole(type, dims);
  void *outData = result->data();
  Status status =
      rt::evaluate(op, attributes, infos, data, {&out, 1}, {&outData, 1});
  return status.isOk() ? result : status;
}

Expected<rt::HostTensor> GlobalValues::read(const std::string &name) {
  auto it = values_.find(name);
  if (it != values_.end()) {
    return it->second;
  }
  auto global = module_.lookupSymbol<nn::GlobalOp>(name);
  auto type = global ? fromMLIRType(global.getTensorType().getElementType())
                     : std::nullopt;
  if (!type) {
    return Status(ExitCode::Invalid, "there is no global '" + name + "'");
  }
  auto shape = global.getTensorType().getShape();
  rt::Dims dims(shape.begin(), shape.end());
  if (global.getZero()) {
    return rt::HostTensor::zeros(*type, dims);
  }
  if (!global.getFile()) {
    return Status(ExitCode::Invalid, "the global '" + name +
                                         "' has no value: it is derived and "
                                         "@init has not run, or its weights "
                                         "are missing");
  }
  auto bytes = store_.bytes({global.getFile()->str(),
                             static_cast<int64_t>(*global.getOffset()),
                             static_cast<int64_t>(*global.getLength())});
  if (!bytes) {
    return bytes.status();
  }
  auto value = rt::HostTensor::copyOf(*type, dims, *bytes);
  if (value) {
    values_[name] = *value;
  }
  return value;
}

void GlobalValues::write(const std::string &name, rt::HostTensor value) {
  values_[name] = std::move(value);
}

namespace {

/// One run of a function.
class Run {
public:
  Run(mlir::func::FuncOp function, GlobalValues &globals)
      : function_(function), globals_(globals) {}

  Expected<std::vector<rt::HostTensor>>
  run(const std::vector<rt::HostTensor> &inputs);

private:
  using Tensors = std::vector<rt::HostTensor>;

  Expected<Tensors> evaluate(mlir::Operation &op);
  Expected<rt::HostTensor> evaluateResult(mlir::Operation &op);
  Expected<Tensors> runLoop(nn::LoopOp op);
  Expected<Tensors> runIf(nn::IfOp op);
  Expected<Tensors> runBody(mlir::Operation *op, mlir::FlatSymbolRefAttr body,
                            const Tensors &inputs);
  Tensors operandsOf(mlir::ValueRange operands) const;
  /// Frees what no later operation reads.
  void release(mlir::Operation &op);

  mlir::func::FuncOp function_;
  GlobalValues &globals_;
  llvm::DenseMap<mlir::Value, rt::HostTensor> values_;
  llvm::DenseMap<mlir::Value, unsigned> left_;
};

} // namespace

Run::Tensors Run::operandsOf(mlir::ValueRange operands) const {
  Tensors tensors;
  for (mlir::Value operand : operands) {
    tensors.push_back(values_.lookup(operand));
  }
  return tensors;
}

Expected<Run::Tensors> Run::runBody(mlir::Operation *op,
                                    mlir::FlatSymbolRefAttr body,
                                    const Tensors &inputs) {
  auto function = llvm::cast<mlir::func::FuncOp>(nn::lookupBody(op, body));
  return Run(function, globals_).run(inputs);
}

Expected<Run::Tensors> Run::runLoop(nn::LoopOp op) {
  int64_t count = values_.lookup(op.getCount()).intAt(0), max = op.getMax();
  if (count < 0 || count > max) {
    return Status(ExitCode::Invalid, "it is to run " + std::to_string(count) +
                                         " times, expected 0 to " +
                                         std::to_string(max));
  }
  Tensors inputs = operandsOf(op->getOperands());
  for (int64_t i = 0; i < count; ++i) {
    auto index = rt::HostTensor::zeros(DType::I64, {});
    if (!index) {
      return index.status();
    }
    index->as<int64_t>()[0] = i;
    inputs[0] = *index;
    Expected<Tensors> results = runBody(op, op.getBodyAttr(), inputs);
    if (!results) {
      return results.status();
    }
    std::copy(results->begin(), results->end(), inputs.begin() + 1);
  }
  return Tensors(inputs.begin() + 1, inputs.begin() + 1 + op.getNumResults());
}

Expected<Run::Tensors> Run::runIf(nn::IfOp op) {
  bool condition = values_.lookup(op.getCondition()).intAt(0) != 0;
  return runBody(op, condition ? op.getThenAttr() : op.getOtherwiseAttr(),
                 operandsOf(op.getValues()));
}

Expected<Run::Tensors> Run::evaluate(mlir::Operation &op) {
  if (auto loop = llvm::dyn_cast<nn::LoopOp>(op)) {
    return runLoop(loop);
  }
  if (auto branch = llvm::dyn_cast<nn::IfOp>(op)) {
    return runIf(branch);
  }
  Expected<rt::HostTensor> result = evaluateResult(op);
  return result ? Expected<Tensors>(Tensors{std::move(*result)})
                : result.status();
}

Expected<rt::HostTensor> Run::evaluateResult(mlir::Operation &op) {
  if (auto read = llvm::dyn_cast<nn::ReadOp>(op)) {
    return globals_.read(read.getGlobal().str());
  }
  if (auto constant = llvm::dyn_cast<nn::ConstantOp>(op)) {
    if (auto dense =
            llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue())) {
      mlir::Type element = constant.getType().getElementType();
      return fromDenseAttr(dense, fromMLIRType(element));
    }
  }
  auto type = llvm::dyn_cast_if_present<mlir::RankedTensorType>(
      op.getNumResults() == 1 ? op.getResult(0).getType() : mlir::Type());
  auto element = type ? fromMLIRType(type.getElementType()) : std::nullopt;
  if (!element || op.getName().getDialectNamespace() != "nn") {
    return Status(ExitCode::Unsupported, "'" +
                                             op.getName().getStringRef().str() +
                                             "' cannot be evaluated");
  }
  return evaluateOp(op.getName().getStringRef().str(), toRuntimeAttributes(&op),
                    operandsOf(op.getOperands()), *element,
                    rt::Dims(type.getShape().begin(), type.getShape().end()));
}

void Run::release(mlir::Operation &op) {
  for (mlir::Value operand : op.getOperands()) {
    if (--left_[operand] == 0) {
      values_.erase(operand);
    }
  }
}

Expected<std::vector<rt::HostTensor>>
Run::run(const std::vector<rt::HostTensor> &inputs) {
  mlir::Block &body = function_.getBody().front();
  for (mlir::Operation &op : body) {
    for (mlir::Value operand : op.getOperands()) {
      ++left_[operand];
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    values_[body.getArgument(static_cast<unsigned>(i))] = inputs[i];
  }
  std::vector<rt::HostTensor> results;
  std::vector<std::pair<std::string, rt::HostTensor>> updates;
  for (mlir::Operation &op : body) {
    if (auto update = llvm::dyn_cast<nn::UpdateOp>(op)) {
      updates.emplace_back(update.getGlobal().str(),
                           values_.lookup(update.getValue()));
    } else if (op.hasTrait<mlir::OpTrait::IsTerminator>()) {
      for (mlir::Value operand : op.getOperands()) {
        results.push_back(values_.lookup(operand));
      }
    } else {
      auto values = evaluate(op);
      if (!values) {
        return values.status().in(nn::describeLocation(op.getLoc()));
      }
      for (auto [result, value] : llvm::zip_equal(op.getResults(), *values)) {
        if (!result.use_empty()) {
          values_[result] = value;
        }
      }
    }
    release(op);
  }
  for (auto &[name, value] : updates) {
    globals_.write(name, std::move(value));
  }
  return results;
}

Expected<std::vector<rt::HostTensor>>
divisi::evaluateFunction(mlir::func::FuncOp function,
                         const std::vector<rt::HostTensor> &inputs,
                         GlobalValues &globals) {
  if (inputs.size() != function.getNumArguments()) {
    return Status(ExitCode::Usage,
                  "got " + std::to_string(inputs.size()) +
                      " inputs for a "
                      "function of " +
                      std::to_string(function.getNumArguments()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto type =
        llvm::cast<mlir::RankedTensorType>(function.getArgumentTypes()[i]);
    if (type.getShape() != llvm::ArrayRef(inputs[i].dims()) ||
        fromMLIRType(type.getElementType()) != inputs[i].type()) {
      return Status(ExitCode::Usage,
                    "input " + std::to_string(i) +
                        " has another shape or element type than the function "
                        "declares");
    }
  }
  return Run(function, globals).run(inputs);
}
