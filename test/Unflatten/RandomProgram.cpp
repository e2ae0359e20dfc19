//===- RandomProgram.cpp - Programs of nn drawn at random -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "dialects/NN/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <random>

using namespace mlir;
using namespace divisi;

using Shape = SmallVector<int64_t>;

namespace {
class Generator {
public:
  Generator(MLIRContext &context, uint64_t seed)
      : builder_(&context), random_(seed), loc_(builder_.getUnknownLoc()) {}

  OwningOpRef<ModuleOp> run(int length);

private:
  static constexpr int64_t kMaxElements = 3000;
  static constexpr int64_t kMaxRank = 6;

  int64_t below(int64_t n) {
    return n <= 1 ? 0 : static_cast<int64_t>(random_() % n);
  }
  bool coin() { return below(2) == 0; }
  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  static int64_t rankOf(Value value) { return shapeOf(value).size(); }
  static int64_t count(ArrayRef<int64_t> shape) {
    int64_t result = 1;
    for (int64_t extent : shape) {
      result *= extent;
    }
    return result;
  }
  RankedTensorType typeOf(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder_.getF32Type());
  }

  Value pick() { return values_[below(values_.size())]; }
  /// A read of a parameter of `shape`: a new one, or one that there is.
  Value parameter(ArrayRef<int64_t> shape);
  Value indices(ArrayRef<int64_t> shape, int64_t extent);
  /// `shape` with some extents 1, or without its first dims.
  Shape repeated(ArrayRef<int64_t> shape);

  Value step();
  Value reshape(Value x);
  Value slice(Value x);
  Value halves(Value x);
  Value concat(Value x);
  Value pad(Value x);
  Value reduce(Value x);
  Value broadcast(Value x);
  Value elementwise(Value x);
  Value matmul(Value x);
  Value product(Value x);
  Value gather(Value x);
  Value takeAlong(Value x);
  Value pool(Value x);
  Value resample(Value x);
  Value normalize(Value x);
  Value convolve(Value x);

  OpBuilder builder_;
  std::mt19937_64 random_;
  Location loc_;
  ModuleOp module_;
  SmallVector<nn::GlobalOp> globals_;
  SmallVector<Value> values_;
};
} // namespace

Value Generator::parameter(ArrayRef<int64_t> shape) {
  RankedTensorType type = typeOf(shape);
  nn::GlobalOp global;
  for (nn::GlobalOp known : globals_) {
    if (known.getTensorType() == type && coin()) {
      global = known;
    }
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(module_.getBody());
    OperationState state(loc_, nn::GlobalOp::getOperationName());
    nn::GlobalOp::build(
        builder_, state,
        builder_.getStringAttr("p" + std::to_string(globals_.size())),
        nn::GlobalKindAttr::get(builder_.getContext(),
                                nn::GlobalKind::Parameter),
        TypeAttr::get(type), StringAttr(), IntegerAttr(), IntegerAttr(),
        UnitAttr());
    global = cast<nn::GlobalOp>(builder_.create(state));
    globals_.push_back(global);
  }
  return nn::ReadOp::create(builder_, loc_, type, global.getSymName());
}

Value Generator::indices(ArrayRef<int64_t> shape, int64_t extent) {
  SmallVector<int64_t> values;
  for (int64_t i = 0; i < count(shape); ++i) {
    values.push_back(below(extent));
  }
  auto type = RankedTensorType::get(shape, builder_.getI64Type());
  return nn::ConstantOp::create(builder_, loc_,
                                DenseIntElementsAttr::get(type, values));
}

Shape Generator::repeated(ArrayRef<int64_t> shape) {
  Shape result(shape.drop_front(coin() ? 0 : below(shape.size() + 1)));
  for (int64_t &extent : result) {
    extent = below(3) == 0 ? 1 : extent;
  }
  return result;
}

/// The prime factors in order, put together anew.
Value Generator::reshape(Value x) {
  SmallVector<int64_t> primes;
  for (int64_t extent : shapeOf(x)) {
    for (int64_t prime = 2; extent > 1;) {
      if (extent % prime == 0) {
        primes.push_back(prime);
        extent /= prime;
      } else {
        ++prime;
      }
    }
  }
  Shape shape = {1};
  for (int64_t prime : primes) {
    if (coin() && static_cast<int64_t>(shape.size()) < kMaxRank) {
      shape.push_back(prime);
    } else {
      shape.back() *= prime;
    }
  }
  if (shape.front() == 1 && below(4) != 0) {
    shape.erase(shape.begin());
  }
  return nn::ReshapeOp::create(builder_, loc_, x, shape);
}

Value Generator::slice(Value x) {
  Shape starts, limits, steps;
  for (int64_t extent : shapeOf(x)) {
    int64_t start = 0, limit = extent, step = 1;
    if (below(3) == 0) {
      start = below(extent);
      limit = start + 1 + below(extent - start);
      step = below(4) == 0 ? 2 : 1;
    }
    starts.push_back(start);
    limits.push_back(limit);
    steps.push_back(step);
  }
  return nn::SliceOp::create(builder_, loc_, x, starts, limits, steps);
}

/// Equal parts of one dim, combined.
Value Generator::halves(Value x) {
  int64_t dim = below(rankOf(x)), extent = shapeOf(x)[dim];
  int64_t parts = extent % 3 == 0 ? 3 : 2;
  if (extent % parts != 0) {
    return {};
  }
  Value result;
  for (int64_t part = 0; part < parts; ++part) {
    Shape starts(rankOf(x), 0), limits(shapeOf(x)), steps(rankOf(x), 1);
    starts[dim] = part * (extent / parts);
    limits[dim] = starts[dim] + extent / parts;
    Value piece = nn::SliceOp::create(builder_, loc_, x, starts, limits, steps);
    values_.push_back(piece);
    result = result ? Value(nn::SubOp::create(builder_, loc_, result, piece))
                    : piece;
  }
  return result;
}

Value Generator::concat(Value x) {
  int64_t axis = below(rankOf(x));
  SmallVector<Value> operands = {x};
  for (Value value : values_) {
    Shape shape(shapeOf(value)), own(shapeOf(x));
    if (shape.size() == own.size()) {
      shape[axis] = own[axis];
      if (shape == own && coin() && operands.size() < 3) {
        operands.push_back(value);
      }
    }
  }
  return nn::ConcatOp::create(builder_, loc_, operands, axis);
}

Value Generator::pad(Value x) {
  Shape lo(rankOf(x), 0), hi(rankOf(x), 0);
  int64_t dim = below(rankOf(x));
  lo[dim] = below(2);
  hi[dim] = below(3) - (shapeOf(x)[dim] > 1 ? 1 : 0);
  return nn::PadOp::create(builder_, loc_, x, lo, hi, 0.5);
}

Value Generator::reduce(Value x) {
  Shape axes;
  for (int64_t dim = 0; dim < rankOf(x); ++dim) {
    if (below(3) == 0) {
      axes.push_back(dim);
    }
  }
  return nn::ReduceOp::create(builder_, loc_, x, coin() ? "sum" : "max", axes);
}

Value Generator::broadcast(Value x) {
  Shape shape, dims;
  for (int64_t extent : shapeOf(x)) {
    if (below(4) == 0) {
      shape.push_back(2 + below(2));
    }
    dims.push_back(shape.size());
    shape.push_back(extent == 1 && coin() ? 4 : extent);
  }
  return nn::BroadcastOp::create(builder_, loc_, x, shape, dims);
}

Value Generator::elementwise(Value x) {
  switch (below(5)) {
  case 0:
    return nn::TanhOp::create(builder_, loc_, x);
  case 1:
    return nn::GeluOp::create(builder_, loc_, x, "tanh");
  case 2:
    return nn::MulOp::create(builder_, loc_, parameter(repeated(shapeOf(x))),
                             x);
  case 3: {
    Value positive = nn::CompareOp::create(
        builder_, loc_, x, parameter(repeated(shapeOf(x))), "gt");
    return nn::SelectOp::create(builder_, loc_, positive, x,
                                parameter(repeated(shapeOf(x))));
  }
  default:
    return nn::AddOp::create(builder_, loc_, x,
                             parameter(repeated(shapeOf(x))));
  }
}

/// Contracts one dim with a parameter; the new dim goes anywhere.
Value Generator::matmul(Value x) {
  std::string a = StringRef("abcdefgh").take_front(rankOf(x)).str();
  int64_t dim = below(rankOf(x));
  bool batched = rankOf(x) > 1 && coin();
  int64_t batch = (dim + 1) % rankOf(x);
  std::string result = a, b = {a[dim], 'n'};
  Shape shape = {shapeOf(x)[dim], 2 + below(5)};
  result.erase(dim, 1);
  result.insert(below(result.size() + 1), "n");
  if (batched) {
    b += a[batch];
    shape.push_back(shapeOf(x)[batch]);
  }
  return nn::MatmulOp::create(builder_, loc_, x, parameter(shape),
                              a + "," + b + "->" + result);
}

/// Of a value with another one (or itself) of the same shape, as in attention.
Value Generator::product(Value x) {
  Value other = x;
  for (Value value : values_) {
    other = shapeOf(value) == shapeOf(x) && coin() ? value : other;
  }
  if (rankOf(x) < 2) {
    return {};
  }
  std::string a = StringRef("abcdefgh").take_front(rankOf(x)).str(), b = a;
  int64_t dim = below(rankOf(x));
  int64_t sum = (dim + 1) % rankOf(x);
  b[dim] = 'n';
  std::string result = a;
  result[sum] = 'n';
  return nn::MatmulOp::create(builder_, loc_, x, other,
                              a + "," + b + "->" + result);
}

Value Generator::gather(Value x) {
  int64_t axis = below(rankOf(x)), batch = coin() ? 0 : below(axis + 1);
  Shape shape(shapeOf(x).take_front(batch));
  shape.push_back(2 + below(3));
  return nn::GatherOp::create(builder_, loc_, x,
                              indices(shape, shapeOf(x)[axis]), axis, batch);
}

Value Generator::takeAlong(Value x) {
  int64_t axis = below(rankOf(x));
  Shape shape(shapeOf(x));
  shape[axis] = 2;
  return nn::TakeAlongOp::create(builder_, loc_, x,
                                 indices(shape, shapeOf(x)[axis]), axis);
}

Value Generator::pool(Value x) {
  Shape kernel(rankOf(x), 1), ones(rankOf(x), 1), zeros(rankOf(x), 0);
  int64_t dim = below(rankOf(x));
  kernel[dim] = shapeOf(x)[dim] > 1 ? 2 : 1;
  return nn::PoolMaxOp::create(builder_, loc_, x, kernel, ones, ones, zeros,
                               zeros);
}

Value Generator::resample(Value x) {
  int64_t axis = below(rankOf(x));
  SmallVector<int64_t> indices;
  SmallVector<double> weights;
  for (int64_t i = 0; i < 6; ++i) {
    indices.push_back(below(shapeOf(x)[axis]));
    weights.push_back(0.5);
  }
  return nn::ResampleOp::create(builder_, loc_, x, axis, 2, indices, weights);
}

Value Generator::normalize(Value x) {
  if (coin()) {
    return nn::SoftmaxOp::create(builder_, loc_, x, below(rankOf(x)), coin());
  }
  Shape axes = {below(rankOf(x))};
  if (axes[0] + 1 < rankOf(x) && coin()) {
    axes.push_back(axes[0] + 1);
  }
  return nn::NormalizeOp::create(builder_, loc_, x, axes, coin(), 1e-3);
}

Value Generator::convolve(Value x) {
  if (rankOf(x) != 3) {
    return {};
  }
  int64_t channels = shapeOf(x)[1];
  return nn::ConvOp::create(builder_, loc_, x, parameter({2, channels, 1}),
                            ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1},
                            ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1}, 1);
}

Value Generator::step() {
  Value x = pick();
  if (rankOf(x) == 0 || below(5) < 2) {
    return reshape(x);
  }
  switch (below(20)) {
  case 0:
    return slice(x);
  case 1:
  case 2:
    return halves(x);
  case 3:
    return concat(x);
  case 4:
    return pad(x);
  case 5:
    return reduce(x);
  case 6:
    return broadcast(x);
  case 7:
    return gather(x);
  case 8:
    return takeAlong(x);
  case 9:
    return pool(x);
  case 10:
    return resample(x);
  case 11:
    return normalize(x);
  case 12:
    return convolve(x);
  case 13: {
    Shape permutation(llvm::to_vector(llvm::seq<int64_t>(rankOf(x))));
    std::shuffle(permutation.begin(), permutation.end(), random_);
    return nn::TransposeOp::create(builder_, loc_, x, permutation);
  }
  case 14:
  case 15:
    return product(x);
  case 16:
  case 17:
    return matmul(x);
  case 18: {
    Value counted = nn::IotaOp::create(builder_, loc_, typeOf(shapeOf(x)),
                                       below(rankOf(x)));
    return nn::SubOp::create(builder_, loc_, x, counted);
  }
  default:
    return elementwise(x);
  }
}

OwningOpRef<ModuleOp> Generator::run(int length) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder_, loc_);
  module_ = *module;
  builder_.setInsertionPointToEnd(module->getBody());
  SmallVector<Type> inputs = {typeOf({2, 6, 4, 3}), typeOf({12, 12}),
                              typeOf({4, 24})};
  auto function = func::FuncOp::create(builder_, loc_, "forward",
                                       builder_.getFunctionType(inputs, {}));
  builder_.setInsertionPointToStart(function.addEntryBlock());
  llvm::append_range(values_, function.getArguments());
  while (static_cast<int>(values_.size()) < length) {
    Value made = step();
    if (made && rankOf(made) <= kMaxRank &&
        count(shapeOf(made)) <= kMaxElements) {
      values_.push_back(made);
    } else if (made) {
      made.getDefiningOp()->erase();
    }
  }
  SmallVector<Value> results;
  for (Value value : values_) {
    if (value.use_empty() && value.getDefiningOp()) {
      results.push_back(value);
    }
  }
  func::ReturnOp::create(builder_, loc_, results);
  SmallVector<Type> types = llvm::to_vector(ValueRange(results).getTypes());
  function.setType(builder_.getFunctionType(inputs, types));
  return module;
}

OwningOpRef<ModuleOp> divisi::test::makeRandomProgram(MLIRContext &context,
                                                      uint64_t seed,
                                                      int length) {
  return Generator(context, seed).run(length);
}
