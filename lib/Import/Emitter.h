//===- Emitter.h - Make nn operators, or fold them --------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Importers speak to this class. It makes one `nn` operator per call, unless
// all operands are constants: then the reference kernel computes the result at
// once. So the chains of Shape, Gather, Concat and Reshape that exporters
// write never become IR:
//
//   Shape(x) → Gather([0]) → Concat(.., [-1]) → Reshape(y, ..)
//   becomes nn.reshape %y
//
// Importers have checked ranks and axes before they call; what only shows here
// (an element type without kernels, too many elements) is kept as the first
// error, and calls go on with tensors that have types but no values.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_LIB_IMPORT_EMITTER_H
#define DIVISI_LIB_IMPORT_EMITTER_H

#include "OnnxModel.h"
#include "RowCounts.h"
#include "dialects/NN/Functions.h"
#include "dialects/NN/NN.h"
#include "divisi/runtime/kernels/Attributes.h"
#include "divisi/runtime/kernels/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <set>

namespace divisi {

struct ImportedTensor;
/// Shared by the names that mean it; null for an input left out.
using Tensor = std::shared_ptr<ImportedTensor>;

/// What an ONNX name stands for.
struct ImportedTensor {
  rt::DType type = rt::DType::F32; ///< Of an element.
  rt::Dims dims;                   ///< Static: shapes are resolved by now.
  /// The bytes of a constant, when they have been needed.
  std::optional<rt::HostTensor> known;
  /// The initializer that this is, if any.
  const OnnxTensor *stored = nullptr;
  /// Trained: its bytes are known, but nothing is folded over them.
  bool isParameter = false;
  /// Running statistics of a batch normalization.
  bool isStatistic = false;
  /// The value in IR, when it has been needed.
  mlir::Value value;
  /// The tensors of a sequence, which itself has neither type nor dims.
  std::optional<std::vector<Tensor>> sequence;
  /// An optional that holds nothing; it is an empty sequence, too, so that
  /// operators on tensors refuse it.
  bool isNothing = false;

  /// The number of dims.
  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  /// The number of elements.
  int64_t count() const { return rt::numElements(dims); }
  /// Whether operators on it are computed now.
  bool isFoldable() const {
    return !isParameter && (known.has_value() || stored);
  }
};
/// A function that an nn.if or nn.loop runs, as it has been imported.
struct ImportedBody {
  mlir::func::FuncOp function; ///< Null if the import of it was given up.
  std::vector<Tensor> results; ///< What it returns; of these only the types.
  /// What it takes from around it, each an argument behind its own.
  std::vector<Tensor> taken;
};

/// `[2, 3]`, for messages.
std::string formatInts(const std::vector<int64_t> &values);

/// See the file's head.
class Emitter {
public:
  /// Results of more than `foldLimit` elements are computed at run time;
  /// `trains` and `seed` as ImportOptions has them.
  Emitter(mlir::ModuleOp module, GlobalStore &store, int64_t foldLimit,
          bool trains = false, int64_t seed = 0);

  /// Where operators are made.
  mlir::OpBuilder &builder() { return builder_; }
  /// The ONNX node that the next operators come from.
  void setNode(const std::string &name, const std::string &scope);
  /// Of the node that setNode has named.
  mlir::Location location() const { return location_; }
  /// What setNode has called it.
  const std::string &nodeName() const { return nodeName_; }

  /// Whether a training step is made of the model.
  bool trains() const { return trains_; }
  /// The first failure, or success.
  const Status &status() const { return status_; }
  /// The message follows "node 'x' (Op): "; later failures are dropped.
  void fail(ExitCode code, const std::string &message);
  /// The message of the failure if it is Unsupported; then it is forgotten, so
  /// that other nodes can be looked at. What was made since is of no use.
  std::optional<std::string> takeUnsupported();

  //===--------------------------------------------------------------------===//
  // Leaves
  //===--------------------------------------------------------------------===//

  /// What an argument of the function is called in the model.
  Tensor argument(mlir::Value value, rt::DType type, rt::Dims dims);
  /// A parameter if it holds floats and is no scalar, or quantized weights: a
  /// matrix, at least, in one byte each; else a constant. For a training step,
  /// what a node holds (Constant) is a constant, too: `isOfNode`, or no name.
  Tensor initializer(const OnnxTensor &stored, bool isOfNode = false);
  /// A constant that an importer has made.
  Tensor constant(rt::HostTensor value);
  /// A scalar of i64.
  Tensor integer(int64_t value);
  /// A scalar of an arithmetic type.
  Tensor scalar(rt::DType type, double value);
  /// `values` in row-major order, as elements of `type`.
  Tensor numbers(rt::DType type, rt::Dims dims,
                 const std::vector<double> &values);
  /// A vector of i64.
  Tensor ints(const std::vector<int64_t> &values);

  /// Bytes [.., n] as the codes of 2, 4 or 8 bits in them, [.., n * 8 / bits],
  /// the first in the low bits. A parameter remains one.
  Tensor unpackBits(const Tensor &packed, int64_t bits);

  /// The bytes of a constant or parameter; nothing for what is computed.
  std::optional<rt::HostTensor> bytesOf(const Tensor &tensor);
  /// Whether it is an initializer in a file that is not there.
  bool isAbsent(const Tensor &tensor) const;
  /// The value in IR, made when first asked for; null after a failure.
  mlir::Value materialize(const Tensor &tensor);
  /// What the run before has left in a new global called `wanted`: at first
  /// the bytes of `initial`, or zeros.
  Tensor state(const std::string &wanted, rt::DType type, const rt::Dims &dims,
               const OnnxTensor *initial = nullptr);
  /// Whether that is the value of a state at entry.
  bool isState(const Tensor &tensor) const;
  /// Lets `global`, a state or a parameter that lies in the file, have that
  /// value after a run.
  void update(const Tensor &global, const Tensor &value);

  /// Says that of `tensor` the first `count` indices of `dim` count.
  void countRows(const Tensor &tensor, int64_t dim, const Tensor &count);
  /// All that have been said.
  llvm::ArrayRef<CountedRows> countedRows() const { return rows_; }

  //===--------------------------------------------------------------------===//
  // Bodies
  //===--------------------------------------------------------------------===//

  /// Begins a body called after `name`: up to endBody, operators are made in
  /// it, and what they use from around it becomes its arguments.
  void beginBody(const std::string &name);
  /// One more argument of its own, behind those it has and before what it takes
  /// from around it.
  Tensor bodyArgument(rt::DType type, const rt::Dims &dims);
  /// Ends the innermost body. After a failure, or where `results` is nothing,
  /// it is given up.
  ImportedBody endBody(std::optional<std::vector<Tensor>> results);
  /// `nn.if`: what the one of two bodies returns that `condition`, a boolean
  /// scalar, selects. Both return the same types and have no arguments of their
  /// own.
  std::vector<Tensor> branch(const Tensor &condition, ImportedBody then,
                             ImportedBody otherwise);
  /// `nn.loop`: the body, whose own arguments are the number of the iteration
  /// and what is carried, `count` times, a scalar of i64 that is `most` at
  /// most.
  std::vector<Tensor> loop(const ImportedBody &body, const Tensor &count,
                           int64_t most, llvm::ArrayRef<Tensor> carried);

  //===--------------------------------------------------------------------===//
  // Operators
  //===--------------------------------------------------------------------===//

  /// `nn.<op>` with result `type` and `dims`.
  Tensor emit(const std::string &op, llvm::ArrayRef<Tensor> operands,
              const rt::Attributes &attributes, rt::DType type, rt::Dims dims);

  /// Numbers from [0, 1), in f32, others for each run; and others for each
  /// call, or for each `stream` of a seed that a model gives. Fails in a body.
  Tensor random(const rt::Dims &dims, std::optional<double> seed = {},
                int64_t stream = 0);
  /// `nn.<op>`, which sums many elements: those of f16 and bf16 are left in
  /// f32, so that partial sums are not rounded, and cast then.
  Tensor sum(const std::string &op, llvm::ArrayRef<Tensor> operands,
             const rt::Attributes &attributes, rt::Dims dims);
  /// `nn.<op>` of the operand's shape; a test (`is_nan`) gives booleans.
  Tensor unary(const std::string &op, const Tensor &x);
  /// With numpy's broadcasting; fails with Invalid if the shapes do not match.
  Tensor binary(const std::string &op, const Tensor &x, const Tensor &y,
                const rt::Attributes &attributes = {});
  /// Booleans; like select, it broadcasts as binary does.
  Tensor compare(const std::string &predicate, const Tensor &x,
                 const Tensor &y);
  /// Where `condition` holds `x`, else `y`.
  Tensor select(const Tensor &condition, const Tensor &x, const Tensor &y);
  /// `x` itself if it has the type; `saturates` as nn.cast's attribute says.
  Tensor cast(const Tensor &x, rt::DType type, bool saturates = true);
  /// Each element is its index along `axis`.
  Tensor iota(rt::DType type, rt::Dims dims, int64_t axis);

  /// The same elements in the same order; there are as many.
  Tensor reshape(const Tensor &x, rt::Dims dims);
  /// Result dim i is operand dim permutation[i].
  Tensor transpose(const Tensor &x, const std::vector<int64_t> &permutation);
  /// numpy's broadcast of `x` to `dims`, whose trailing dims match.
  Tensor expand(const Tensor &x, rt::Dims dims);
  /// Of every axis what lies from start to limit in steps, which may be
  /// negative; all in range.
  Tensor slice(const Tensor &x, const std::vector<int64_t> &starts,
               const std::vector<int64_t> &limits,
               const std::vector<int64_t> &steps);
  /// [begin, end) of one axis.
  Tensor sliceAxis(const Tensor &x, int64_t axis, int64_t begin, int64_t end);
  /// `value` before and after every axis; negative widths cut.
  Tensor pad(const Tensor &x, const std::vector<int64_t> &lo,
             const std::vector<int64_t> &hi, double value);
  /// One after the other along `axis`.
  Tensor concat(llvm::ArrayRef<Tensor> xs, int64_t axis);
  /// Axes ascending; they stay as 1 if `keepDims`.
  Tensor reduce(const std::string &kind, const Tensor &x,
                const std::vector<int64_t> &axes, bool keepDims);
  /// The mean over `axes`, kept as 1.
  Tensor mean(const Tensor &x, const std::vector<int64_t> &axes);
  /// A contraction by letters of the dims: `mk,kn->mn`.
  Tensor matmul(const Tensor &a, const Tensor &b, const std::string &labels);
  /// `stride` times `indices` into `extent`, those below 0 counted from the
  /// end; bad ones end the run.
  Tensor scaleIndex(const Tensor &indices, int64_t extent, int64_t stride);
  /// Indices [.., k] that address k dims of `dims` from `first` on, as one
  /// index
  /// [..] of them all in row-major order.
  Tensor mergeIndices(const Tensor &indices, const rt::Dims &dims,
                      int64_t first);
  /// `x` with `slice` from the index `at` of dim `axis` on, a scalar.
  Tensor insert(const Tensor &x, const Tensor &slice, const Tensor &at,
                int64_t axis);
  /// `stack` with `row` at the index `at` of dim `axis`, a scalar of i64.
  Tensor insertRow(const Tensor &stack, const Tensor &row, const Tensor &at,
                   int64_t axis);
  /// Slices of `data` along `axis` at `indices`, whose first `batchDims` are
  /// those of `data`.
  Tensor gather(const Tensor &data, const Tensor &indices, int64_t axis,
                int64_t batchDims);

private:
  /// A body that is being imported.
  struct OpenBody {
    mlir::func::FuncOp function;
    mlir::OpBuilder::InsertPoint outside; ///< Where it is going to be run.
    unsigned own = 0;                     ///< Arguments, before those taken.
    std::vector<Tensor> taken;
    /// What tensors from around it are in it.
    std::map<Tensor, mlir::Value> values;
  };

  bool checkResult(const Tensor &result);
  void fold(const std::string &op, llvm::ArrayRef<Tensor> operands,
            const rt::Attributes &attributes, const Tensor &result);
  void create(const std::string &op, llvm::ArrayRef<Tensor> operands,
              const rt::Attributes &attributes, const Tensor &result);
  Tensor unpackStored(const Tensor &packed, int64_t bits);
  static bool isWrittenOut(const rt::HostTensor &value);
  mlir::Value materializeConstant(const rt::HostTensor &value);
  mlir::Value materializeInBody(const Tensor &tensor);
  std::vector<Tensor> makeResults(mlir::Operation *op,
                                  llvm::ArrayRef<Tensor> like);
  mlir::Value readParameter(const Tensor &tensor);
  mlir::Value readGlobal(const std::string &name, nn::GlobalKind kind,
                         mlir::RankedTensorType type, const ByteRange &range);
  /// `wanted`, or `wanted_1` … if the module has that symbol already.
  std::string uniqueName(const std::string &wanted);
  std::optional<rt::Dims> broadcastDims(const rt::Dims &a, const rt::Dims &b);

  mlir::ModuleOp module_;
  GlobalStore &store_;
  int64_t foldLimit_;
  bool trains_;
  int64_t seed_;
  /// The number of the run, and of streams of random numbers so far.
  Tensor runs_;
  int64_t streams_ = 0;
  mlir::OpBuilder builder_;
  mlir::Location location_;
  std::string nodeName_, scope_;
  Status status_;
  std::map<std::string, mlir::Value> reads_;
  std::map<const OnnxTensor *, Tensor> initializers_;
  /// What unpackBits() has made, and for which bytes and bits.
  std::vector<std::unique_ptr<OnnxTensor>> made_;
  std::map<std::pair<const OnnxTensor *, int64_t>, Tensor> unpacked_;
  std::set<std::string> names_ = {"forward", nn::kInitFunction.str()};
  int64_t constants_ = 0;
  std::vector<OpenBody> bodies_; ///< The innermost one last.
  std::vector<CountedRows> rows_;
};

} // namespace divisi

#endif // DIVISI_LIB_IMPORT_EMITTER_H
