//===- Emitter.cpp - Make nn operators, or fold them ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"

#include "dialects/NN/Known.h"
#include "dialects/NN/Locations.h"
#include "divisi/Evaluate/Evaluator.h"
#include "divisi/Support/CheckedMath.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace divisi;
using rt::DType;

/// Results that only repeat their operand are folded up to this size: a mask
/// expanded to the batch is better repeated where it is needed.
static constexpr int64_t kGrowthLimit = 4096;

/// Constants up to this size are written into IR.
static constexpr int64_t kInlineLimit = 64;

static Tensor makeTensor(DType type, rt::Dims dims) {
  auto tensor = std::make_shared<ImportedTensor>();
  tensor->type = type;
  tensor->dims = std::move(dims);
  return tensor;
}

static std::string dimsText(const rt::Dims &dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += (i ? ", " : "") + std::to_string(dims[i]);
  }
  return text + "]";
}

Emitter::Emitter(mlir::ModuleOp module, GlobalStore &store, int64_t foldLimit,
                 bool trains, int64_t seed)
    : module_(module), store_(store), foldLimit_(foldLimit), trains_(trains),
      seed_(seed), builder_(module.getContext()),
      location_(builder_.getUnknownLoc()) {}

void Emitter::setNode(const std::string &name, const std::string &scope) {
  nodeName_ = name;
  scope_ = scope;
  location_ = mlir::NameLoc::get(builder_.getStringAttr(name));
}

void Emitter::fail(ExitCode code, const std::string &message) {
  if (status_.isOk()) {
    status_ = Status(code, message);
  }
}

std::optional<std::string> Emitter::takeUnsupported() {
  if (status_.code() != ExitCode::Unsupported) {
    return std::nullopt;
  }
  return std::exchange(status_, Status()).message();
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

Tensor Emitter::argument(mlir::Value value, DType type, rt::Dims dims) {
  Tensor tensor = makeTensor(type, std::move(dims));
  tensor->value = value;
  return tensor;
}

/// One tensor for all steps of a Loop whose body holds it.
Tensor Emitter::initializer(const OnnxTensor &stored, bool isOfNode) {
  Tensor &tensor = initializers_[&stored];
  if (!tensor) {
    tensor = makeTensor(stored.type, stored.dims);
    tensor->stored = &stored;
    bool isCode = rt::byteWidth(stored.type) == 1 && stored.dims.size() > 1 &&
                  stored.type != DType::Bool;
    // One number is no weight, whatever its rank, nor is what a node holds, to
    // who trains.
    bool isWeight = rt::isFloatType(stored.type) && tensor->count() != 1 &&
                    !(trains_ && (isOfNode || stored.name.empty()));
    tensor->isParameter = isCode || isWeight;
  }
  return tensor;
}

Tensor Emitter::constant(rt::HostTensor value) {
  Tensor tensor = makeTensor(value.type(), value.dims());
  tensor->known = std::move(value);
  return tensor;
}

Tensor Emitter::integer(int64_t value) {
  return constant(rt::HostTensor::ofInts({}, {value}));
}

Tensor Emitter::scalar(DType type, double value) {
  return numbers(type, {}, {value});
}

Tensor Emitter::numbers(DType type, rt::Dims dims,
                        const std::vector<double> &values) {
  auto given = rt::HostTensor::copyOf(DType::F64, dims,
                                      std::as_bytes(std::span(values)));
  auto result = given ? given->castTo(type) : given;
  if (!result) {
    fail(result.status().code(), result.status().message());
    return makeTensor(type, dims);
  }
  return constant(*result);
}

Tensor Emitter::ints(const std::vector<int64_t> &values) {
  return constant(
      rt::HostTensor::ofInts({static_cast<int64_t>(values.size())}, values));
}

/// Whether `tensor` is an initializer in a file that is not there.
bool Emitter::isAbsent(const Tensor &tensor) const {
  return tensor->stored && !tensor->known &&
         store_.isAbsent(tensor->stored->data.file);
}

/// An initializer is read from the store when first asked for, and kept.
std::optional<rt::HostTensor> Emitter::bytesOf(const Tensor &tensor) {
  if (!tensor->known && tensor->stored) {
    if (isAbsent(tensor)) {
      fail(ExitCode::File,
           "shapes, indices or constants follow from the value of '" +
               tensor->stored->name + "', and its file '" +
               tensor->stored->data.file +
               "' is not there; put it there, or export the model with its "
               "small tensors inside: a plan needs those alone");
      return std::nullopt;
    }
    auto bytes = store_.bytes(tensor->stored->data);
    if (!bytes) {
      fail(bytes.status().code(), bytes.status().message());
      return std::nullopt;
    }
    auto copy = rt::HostTensor::copyOf(tensor->type, tensor->dims, *bytes);
    if (!copy) {
      fail(copy.status().code(), copy.status().message());
      return std::nullopt;
    }
    tensor->known = *copy;
  }
  return tensor->known;
}

/// One global a name, and one read of it a function: later ones share its
/// value.
mlir::Value Emitter::readGlobal(const std::string &name, nn::GlobalKind kind,
                                mlir::RankedTensorType type,
                                const ByteRange &range) {
  auto it = reads_.find(name);
  if (it != reads_.end()) {
    return it->second;
  }
  mlir::Location loc = mlir::NameLoc::get(builder_.getStringAttr(name));
  mlir::OpBuilder globals(module_.getContext());
  globals.setInsertionPoint(builder_.getBlock()->getParentOp());
  nn::GlobalOp::create(
      globals, loc, builder_.getStringAttr(name),
      nn::GlobalKindAttr::get(module_.getContext(), kind),
      mlir::TypeAttr::get(type), builder_.getStringAttr(range.file),
      builder_.getI64IntegerAttr(range.offset),
      builder_.getI64IntegerAttr(range.length), mlir::UnitAttr());
  mlir::Value value = nn::ReadOp::create(
      builder_, loc, type,
      mlir::FlatSymbolRefAttr::get(module_.getContext(), name));
  reads_[name] = value;
  return value;
}

std::string Emitter::uniqueName(const std::string &wanted) {
  std::string base = wanted.empty() ? "constant" : wanted, name = base;
  for (int i = 1; !names_.insert(name).second; ++i) {
    name = base + "_" + std::to_string(i);
  }
  return name;
}

bool Emitter::isWrittenOut(const rt::HostTensor &value) {
  return value.count() <= kInlineLimit || value.isSplat();
}

/// Small constants stand in IR; for others a global says where they lie.
mlir::Value Emitter::materializeConstant(const rt::HostTensor &value) {
  if (isWrittenOut(value)) {
    return nn::ConstantOp::create(builder_, location_,
                                  toDenseAttr(module_.getContext(), value));
  }
  auto type = mlir::RankedTensorType::get(
      value.dims(), toMLIRType(module_.getContext(), value.type()));
  return readGlobal(uniqueName("constant_" + std::to_string(constants_++)),
                    nn::GlobalKind::Constant, type,
                    store_.addBlob(value.bytes()));
}

/// Whether each row of a matrix of floats is another row twice. One number
/// everywhere, as parameters begin with, does not count.
static bool isTwice(const OnnxTensor &stored, std::span<const std::byte> data) {
  int64_t extent = stored.dims.empty() ? 0 : stored.dims.back();
  auto half = size_t(extent / 2 * rt::byteWidth(stored.type));
  auto width = size_t(rt::byteWidth(stored.type));
  if (!rt::isFloatType(stored.type) || stored.dims.size() < 2 || extent == 0 ||
      extent % 2 != 0) {
    return false;
  }
  bool isAnyMixed = false;
  for (size_t row = 0; row + 2 * half <= data.size(); row += 2 * half) {
    const std::byte *first = data.data() + row;
    if (std::memcmp(first, first + half, half) != 0) {
      return false;
    }
    isAnyMixed |= std::memcmp(first, data.data(), width) != 0 ||
                  std::memcmp(first, first + width, half - width) != 0;
  }
  return isAnyMixed;
}

/// The same, or, of what isTwice(), one half twice: cosines and sines of
/// rotary embeddings are written so, and rules know it by its being said.
mlir::Value Emitter::readParameter(const Tensor &tensor) {
  const OnnxTensor &stored = *tensor->stored;
  auto type = mlir::RankedTensorType::get(
      tensor->dims, toMLIRType(module_.getContext(), tensor->type));
  std::string name = uniqueName(stored.name);
  mlir::Value value =
      readGlobal(name, nn::GlobalKind::Parameter, type, stored.data);
  if (tensor->isStatistic) {
    module_.lookupSymbol(name)->setAttr(nn::kStatisticAttr,
                                        builder_.getUnitAttr());
  }
  // What cannot be read is told when all has to be.
  if (isAbsent(tensor)) {
    return value;
  }
  auto bytes = store_.bytes(stored.data);
  if (!bytes || !isTwice(stored, *bytes)) {
    return value;
  }
  Tensor whole = argument(value, tensor->type, tensor->dims);
  int64_t last = tensor->rank() - 1;
  Tensor half = sliceAxis(whole, last, 0, tensor->dims.back() / 2);
  return materialize(concat({half, half}, last));
}

/// Parameters become globals, small constants stand in the IR, large ones in
/// the blob.
mlir::Value Emitter::materialize(const Tensor &tensor) {
  if (tensor->sequence) {
    fail(ExitCode::Unsupported,
         "a sequence of tensors would be an output, or be carried by a loop "
         "that is not written out: join its tensors before");
    return nullptr;
  }
  if (!bodies_.empty() && status_.isOk()) {
    return materializeInBody(tensor);
  }
  if (tensor->value || !status_.isOk()) {
    return tensor->value;
  }
  if (tensor->isParameter) {
    tensor->value = readParameter(tensor);
  } else if (isAbsent(tensor)) {
    // Planning goes on without its value.
    auto type = mlir::RankedTensorType::get(
        tensor->dims, toMLIRType(module_.getContext(), tensor->type));
    tensor->value =
        readGlobal(uniqueName(tensor->stored->name), nn::GlobalKind::Constant,
                   type, tensor->stored->data);
  } else if (auto bytes = bytesOf(tensor)) {
    tensor->value = materializeConstant(*bytes);
  }
  return tensor->value;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// What the importers cannot see: sizes that do not fit int64_t.
bool Emitter::checkResult(const Tensor &result) {
  if (!status_.isOk()) {
    return false;
  }
  auto count = checkedProduct(result->dims);
  bool isNegative = llvm::any_of(result->dims, [](int64_t d) { return d < 0; });
  if (isNegative || !count || !checkedMul(*count, 8)) {
    fail(ExitCode::Invalid, "its result of shape " + dimsText(result->dims) +
                                " has more bytes than int64 can count");
    return false;
  }
  return true;
}

/// Folds where all operands are constants, unless the result is large, or
/// larger than what it is made of: repeating is cheaper than storing.
Tensor Emitter::emit(const std::string &op, llvm::ArrayRef<Tensor> operands,
                     const rt::Attributes &attributes, DType type,
                     rt::Dims dims) {
  Tensor result = makeTensor(type, std::move(dims));
  if (!checkResult(result)) {
    return result;
  }
  bool grows = op == "broadcast";
  int64_t limit = grows ? std::min(kGrowthLimit, foldLimit_) : foldLimit_;
  bool folds = result->count() <= limit &&
               llvm::all_of(operands, [&](const Tensor &operand) {
                 return operand->isFoldable() && operand->count() <= foldLimit_;
               });
  if (folds) {
    fold(op, operands, attributes, result);
  } else {
    create(op, operands, attributes, result);
  }
  return result;
}

/// By the reference kernels, so that folding means what running does.
void Emitter::fold(const std::string &op, llvm::ArrayRef<Tensor> operands,
                   const rt::Attributes &attributes, const Tensor &result) {
  std::vector<rt::HostTensor> values;
  for (const Tensor &operand : operands) {
    auto bytes = bytesOf(operand);
    if (!bytes) {
      return;
    }
    values.push_back(*bytes);
  }
  auto value =
      evaluateOp("nn." + op, attributes, values, result->type, result->dims);
  if (!value) {
    return fail(value.status().code(), value.status().message());
  }
  result->known = *value;
}

/// Attributes that kernels read as 0 or 1 and operators have as booleans.
static constexpr llvm::StringLiteral kFlags[] = {
    "cast.saturate",      "arg_reduce.last", "cumulate.exclusive",
    "cumulate.reverse",   "mod.fmod",        "normalize.center",
    "rotary.interleaved", "shift.left",      "softmax.log",
    "top_k.largest"};

static mlir::Attribute toAttribute(mlir::Builder &builder,
                                   const std::string &op,
                                   const std::string &name,
                                   const rt::Attribute &value) {
  if (const auto *number = std::get_if<int64_t>(&value)) {
    bool isFlag = llvm::is_contained(kFlags, op + "." + name);
    return isFlag ? mlir::Attribute(builder.getBoolAttr(*number != 0))
                  : builder.getI64IntegerAttr(*number);
  }
  if (const auto *number = std::get_if<double>(&value)) {
    return builder.getF64FloatAttr(*number);
  }
  if (const auto *word = std::get_if<std::string>(&value)) {
    return builder.getStringAttr(*word);
  }
  if (const auto *numbers = std::get_if<std::vector<int64_t>>(&value)) {
    return builder.getDenseI64ArrayAttr(*numbers);
  }
  return builder.getDenseF64ArrayAttr(std::get<std::vector<double>>(value));
}

void Emitter::create(const std::string &op, llvm::ArrayRef<Tensor> operands,
                     const rt::Attributes &attributes, const Tensor &result) {
  mlir::OperationState state(location_, "nn." + op);
  for (const Tensor &operand : operands) {
    mlir::Value value = materialize(operand);
    if (!value) {
      return;
    }
    state.addOperands(value);
  }
  for (const auto &[name, value] : attributes.values()) {
    state.addAttribute(name, toAttribute(builder_, op, name, value));
  }
  if (!scope_.empty()) {
    state.addAttribute(nn::kScopeAttr, builder_.getStringAttr(scope_));
  }
  state.addTypes(mlir::RankedTensorType::get(
      result->dims, toMLIRType(module_.getContext(), result->type)));
  mlir::Operation *made = builder_.create(state);
  // A model may combine types that ONNX's checker does not look at.
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      module_.getContext(), [&](mlir::Diagnostic &diagnostic) {
        message += (message.empty() ? "" : "; ") + diagnostic.str();
        return mlir::success();
      });
  if (mlir::failed(mlir::verify(made))) {
    return fail(ExitCode::Invalid, message);
  }
  result->value = made->getResult(0);
}
