//===- Kernel.h - What a backend offers for an operator ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel goes through three moments:
//
//   query    at compile time and at load: how much scratch it wants, which
//            results may take an operand's buffer;
//   prepare  once per rank at load: extents and offsets are fixed, constants
//            are at hand to be packed, primitives are made;
//   launch   many times: pointers in, results out; no allocation. On a device
//            with queues it only puts its work on one.
//
// Indices that data gives (of a gather, of a scatter) are checked by the kernel
// against the whole tensor, whatever part of it the rank holds: ranks agree on
// what is wrong. A kernel that meets a bad one tells the first of them, reads
// it as zeros, and succeeds; whoever launched it lets the run fail.
//
// A backend is a table from operator name ("nn.matmul") to kernel. Empty
// results never reach a kernel; empty operands may (a sum over nothing is 0).
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_KERNELS_KERNEL_H
#define DIVISI_RUNTIME_KERNELS_KERNEL_H

#include "divisi/Support/Status.h"
#include "divisi/runtime/kernels/Attributes.h"
#include "divisi/runtime/kernels/Tensor.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace divisi::rt {

class DeviceQueue;

/// What an artifact has for a kernel to run: see `Code` in the schema.
struct KernelCode {
  std::string_view target;          ///< What it was made for.
  std::span<const std::byte> bytes; ///< They live as long as the session.
};

/// The name of calls with a region.
inline constexpr std::string_view fusedOp = "fused";

/// The name of calls that bring a tensor into another format.
inline constexpr std::string_view packOp = "pack";

/// One operator of a region. Values are numbered: first the operands of the
/// call, then the results of each part.
struct RegionPart {
  std::string op;                  ///< "nn.matmul"
  int version = 1;                 ///< Of its kernel.
  Attributes attributes;           ///< Its own.
  std::vector<int> operands;       ///< Values.
  std::vector<TensorInfo> results; ///< This rank's boxes.
};

/// What a call with several operators computes: its parts, in order.
struct Region {
  std::vector<RegionPart> parts; ///< Values are made before they are read.
  std::vector<int> results;      ///< Values of parts: the results of the call.

  /// How often the parts read `value`.
  int64_t countReads(int value) const {
    int64_t reads = 0;
    for (const RegionPart &part : parts) {
      reads += std::ranges::count(part.operands, value);
    }
    return reads;
  }
};

/// What kernels keep of one constant in layouts of their own. Each is made
/// once, for all ranks and entries of a process. By any thread.
class PackedForms {
public:
  /// The bytes that `fill` writes, or has written under this name and somebody
  /// still has; 64-byte aligned. Null if there is no memory or `fill` fails.
  std::shared_ptr<const std::byte>
  get(const std::string &name, int64_t bytes,
      const std::function<bool(std::byte *)> &fill);

private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<const std::byte>> forms_;
};

/// Has the bytes of a constant that may not be in memory. By one thread.
class ConstantReader {
public:
  virtual ~ConstantReader() = default;
  /// Copies `count` bytes from `begin` on to `to`; false if they cannot be had.
  /// Who has made the reader knows why.
  virtual bool read(int64_t begin, int64_t count, std::byte *to) = 0;
};

/// An operand whose bytes never change after load, or one that does.
class Constant {
public:
  /// Of the host's `bytes`, which outlive it, and the forms of them that
  /// kernels share; null: nobody shares them.
  Constant(const void *bytes = nullptr, PackedForms *forms = nullptr)
      : data_(bytes), forms_(forms) {}
  /// The same of bytes that `reader`, which outlives it, has.
  Constant(ConstantReader &reader, PackedForms *forms)
      : reader_(&reader), forms_(forms) {}
  /// Whether there is one: its bytes do not change.
  explicit operator bool() const { return data_ || reader_; }

  /// Copies `count` bytes from `begin` on to `to`; zeros where they cannot be
  /// had, and false.
  bool read(int64_t begin, int64_t count, void *to) const;
  /// Its element `at`, which is a T; 0 if it cannot be had.
  template <typename T> T element(int64_t at) const {
    T value;
    (void)read(at * int64_t(sizeof(T)), sizeof(T), &value);
    return value;
  }
  /// What begins with its byte `at`, which nobody shares.
  Constant from(int64_t at) const;

  /// Null: nobody shares them.
  PackedForms *forms() const { return forms_; }

private:
  const void *data_ = nullptr; ///< In the memory of the host.
  ConstantReader *reader_ = nullptr;
  int64_t begin_ = 0; ///< In the bytes that it has.
  PackedForms *forms_ = nullptr;
};

/// What a kernel will keep of a constant: before there is any.
struct PackedForm {
  int operand = 0;   ///< Of the call: the constant.
  std::string name;  ///< In PackedForms; empty: nobody shares it.
  int64_t bytes = 0; ///< Its size.
  /// What is in memory beside it while it is made.
  int64_t scratch = 0;

  friend bool operator==(const PackedForm &, const PackedForm &) = default;
};

/// The same when it is there.
struct PackedBytes {
  const void *data = nullptr; ///< Where: those who share it have one address.
  int64_t bytes = 0;          ///< Its size.
};

/// PackedForms::get() of `constant`, or the same for the caller alone.
std::shared_ptr<const std::byte>
packConstant(const Constant &constant, const std::string &name, int64_t bytes,
             const std::function<bool(std::byte *)> &fill);

/// One operator on one rank, or several in one call.
struct CallSite {
  std::string_view op;                  ///< "nn.matmul", or `fusedOp`.
  const Attributes &attributes;         ///< Of the operator.
  std::span<const TensorInfo> operands; ///< The rank's box of each.
  std::span<const TensorInfo> results;  ///< The same.
  /// Per operand its bytes if they never change after load, else none; may be
  /// empty, then nothing is known. They are the host's, wherever the operand
  /// lies. Only prepare() reads them: whoever asks before there are any gives
  /// any address.
  std::span<const Constant> constants = {};
  int threads = 1;
  /// Whether the kernel looks for bad indices. It is memory-safe without.
  bool checksIndices = true;
  /// What the artifact says that it should run; null for a kernel of its own.
  const KernelCode *code = nullptr;
  /// What `fusedOp` is of; null for all others.
  const Region *region = nullptr;
  /// What the artifact has for the part of a library's that turns out, where
  /// the call runs, to have nothing for it: see Kernel::mayFallBack. Only
  /// prepare() is told; null if there is none.
  const KernelCode *fallback = nullptr;
};

/// What kernels are promised of the addresses of operands and results, in
/// bytes. So what a tensor is a view of begins at a multiple of it there.
inline constexpr int64_t kernelAlignment = 64;

/// A result that has bytes of an operand, in their order.
struct SharedBytes {
  int operand = 0; ///< Of the call, by number.
  int result = 0;  ///< The same.
  /// The result's first byte in the operand's box.
  int64_t offset = 0;
  friend bool operator==(const SharedBytes &, const SharedBytes &) = default;
};

/// What a kernel says about a call before it is prepared.
struct KernelQuery {
  /// Scratch memory that launch() gets, in the kernel's space; 0 for none. It
  /// is the call's until its work has ended.
  int64_t workspaceBytes = 0;
  /// What prepare() will keep of constants in layouts of its own.
  std::vector<PackedForm> packed = {};
  /// Of operands and results that it brings into another order in each launch.
  int64_t reorderedBytes = 0;
  /// {operand, result}: the result may be written over the operand.
  std::vector<std::pair<int, int>> inPlace;
  /// The result has the operand's bytes, or some that lie one behind the other,
  /// so that it can be a view of them and the call can be dropped (reshape,
  /// contiguous slice).
  std::vector<SharedBytes> views;
  /// Per result the bytes that it fills, where they are not those of its box;
  /// may be empty, then they are.
  std::vector<int64_t> resultBytes = {};
  /// The operands, ascending, of which launch() reads what prepare() has packed
  /// instead: see PreparedKernel::reads().
  std::vector<int> unread = {};

  friend bool operator==(const KernelQuery &, const KernelQuery &) = default;
};

/// An index that lies outside of the dimension that it counts along.
struct BadIndex {
  int64_t value = 0;  ///< As the data has it.
  int64_t extent = 0; ///< Of the dimension, of the whole tensor.
  Dims position;      ///< Of the index in the whole tensor of indices.

  /// `index 70 at [0, 3] is outside of the extent 64: ...`
  std::string message() const;
};

/// What one launch works on and with, and what it finds.
struct LaunchContext {
  /// In order, dense, aligned to `kernelAlignment` unless they are empty (then
  /// possibly null). They are in the kernel's space.
  std::span<const void *const> operands;
  std::span<void *const> results;
  void *workspace = nullptr; ///< Of the queried bytes.
  /// The rank's one team: so many threads as the call site has, of which the
  /// calling one is the first.
  int threads = 1;
  /// Where a kernel of a device puts its work; null on the host, where it is
  /// done when launch() returns.
  DeviceQueue *queue = nullptr;
  /// Set by the kernel: the first by position of those that it reads.
  std::optional<BadIndex> badIndex = {};

  /// Notes `found` unless one is noted that stands before it.
  void note(BadIndex found);
};

/// A part of a region that a kernel lets another one run.
struct PartKernel {
  std::string op;           ///< "nn.add"
  std::string_view backend; ///< Its name.
};

/// What a library has nothing for.
struct RefusedPart {
  std::string_view op;      ///< "nn.conv"
  std::string_view library; ///< "cuDNN"
};

/// A kernel that is ready to run; owns its primitives and packed constants.
class PreparedKernel {
public:
  virtual ~PreparedKernel() = default;
  /// Fails if the device or a library did: the results are then undefined.
  virtual Status launch(LaunchContext &context) = 0;
  /// Called when work that launch() has put on a queue has ended: notes in a
  /// context without pointers what it has found.
  virtual void collect(LaunchContext &) {}
  /// The packed constants that it holds, alone or with others.
  virtual std::vector<PackedBytes> packed() const { return {}; }
  /// Whether launch() reads the operand. Of a constant that nobody reads the
  /// bytes are let go, and launch() gets some address.
  virtual bool reads(size_t) const { return true; }
  /// Who runs the parts of a region, in order; empty: it does all of it itself.
  virtual std::vector<PartKernel> parts() const { return {}; }
  /// What CallSite::fallback does, as a launch has found out.
  virtual std::optional<RefusedPart> hasFallenBack() const { return {}; }
};

/// What launch() returns where a library says no more than that it failed.
Status kernelFailure();

/// What may be done with a kernel beyond calling it for all of a rank's box.
enum class KernelUse : uint8_t {
  Whole,
  /// A part of the result's box can be asked for as well: what an element is
  /// does not depend on the part, and parts can be made at the same time. The
  /// kernel refuses in prepare() a cut that it cannot make.
  Parts,
};

/// A kernel of a backend.
struct Kernel {
  std::string_view op; ///< "nn.matmul"; a string that outlives the kernel.
  /// What the kernel computes and which attributes it takes; raised when that
  /// changes. An artifact says which version it was compiled for.
  int version = 1;
  KernelUse use = KernelUse::Whole;
  /// What the kernel needs for this call: see KernelQuery.
  KernelQuery (*query)(const CallSite &site);
  /// Null and a message in `error` when this call cannot be done (the backend
  /// then is asked no more: see Backend::find).
  std::unique_ptr<PreparedKernel> (*prepare)(const CallSite &site,
                                             std::string &error);
  /// Whether this kernel takes the call (types, ranks, attributes); null: all.
  bool (*accepts)(const CallSite &site) = nullptr;
  /// Whether it is asked about calls with a tensor in a format, ...
  bool takesFormats = false;
  /// ... and whether about those with code, and about no others.
  bool takesCode = false;
  /// Whose code does the work: "oneDNN"; empty: Divisi's own.
  std::string_view library = {};
  /// Whether that may turn out, in the first launch, to have nothing for its
  /// part of the call: the product of a ProductRegion. Then CallSite::fallback
  /// does that, if there is one.
  bool mayFallBack = false;
};

/// A named table of kernels.
class Backend {
public:
  virtual ~Backend() = default;
  /// As `--backend` takes it: "cpu".
  virtual std::string_view name() const = 0;
  /// The memory space in which all buffers of its kernels lie.
  virtual std::string_view space() const { return hostSpace; }
  /// All kernels, ordered by operator name.
  virtual std::span<const Kernel> kernels() const = 0;
  /// The first kernel that takes `site`, or null. It asks no kernel about what
  /// that does not know: see Kernel::takesFormats.
  const Kernel *find(const CallSite &site) const;
  /// The same if it has that version. It can still refuse in prepare().
  const Kernel *find(const CallSite &site, int version) const;
};

/// The first of `backends` that has a kernel of that version for `site`, or
/// null: who takes the call if no kernel refuses in prepare().
const Backend *chooseBackend(const CallSite &site, int version,
                             std::span<const Backend *const> backends);

/// The version of the operator's reference kernel, which is the one that the
/// compiler calls; nothing if there is none.
std::optional<int> kernelVersion(std::string_view op);

/// Plain loops for every operator: the definition of what an operator computes.
const Backend &referenceBackend();
/// oneDNN for what it does better; nothing else.
const Backend &cpuBackend();

/// query + prepare + launch of the reference kernel in one go, for constant
/// folding and tests. Unsupported where there is no kernel for the call,
/// Invalid at a bad index. Empty results are left alone.
Status evaluate(std::string_view op, const Attributes &attributes,
                std::span<const TensorInfo> operands,
                std::span<const void *const> operandData,
                std::span<const TensorInfo> results,
                std::span<void *const> resultData);

} // namespace divisi::rt

#endif // DIVISI_RUNTIME_KERNELS_KERNEL_H
