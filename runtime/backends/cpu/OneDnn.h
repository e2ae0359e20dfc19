//===- OneDnn.h - oneDNN's C interface, owned -------------------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// oneDNN's C++ interface reports errors by throwing, which this code is built
// without; so the C interface is used, behind owners. A call that oneDNN
// refuses makes an empty object, and the reference kernel takes over.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_ONEDNN_H
#define DIVISI_RUNTIME_BACKENDS_CPU_ONEDNN_H

#include "divisi/runtime/kernels/Kernel.h"
#include "runtime/backends/cpu/Team.h"

#include "oneapi/dnnl/dnnl.h"

#include <map>
#include <mutex>

namespace divisi::rt::cpu {

/// The one CPU engine; null if oneDNN cannot make one.
dnnl_engine_t engine();

/// Whether oneDNN has done what it was asked for. Where it has no memory this
/// ends as operator new does: what has run out is no reason to compute by other
/// kernels, which round differently.
bool isDone(dnnl_status_t status);

/// Lets `Destroy` end a handle.
template <typename Handle, dnnl_status_t (*Destroy)(Handle)> struct Destroyer {
  void operator()(Handle handle) const { Destroy(handle); }
};
/// Owns an object of oneDNN's.
template <typename Object, dnnl_status_t (*Destroy)(Object *)>
using Owner = std::unique_ptr<Object, Destroyer<Object *, Destroy>>;

/// Descriptions and objects of oneDNN's by their owners; null where it refuses
/// to make one.
using MemoryDesc = Owner<dnnl_memory_desc, dnnl_memory_desc_destroy>;
using PrimitiveDesc = Owner<dnnl_primitive_desc, dnnl_primitive_desc_destroy>;
using PrimitiveAttr = Owner<dnnl_primitive_attr, dnnl_primitive_attr_destroy>;
using Memory = Owner<dnnl_memory, dnnl_memory_destroy>;

/// Descriptions of primitives by name. oneDNN takes milliseconds to make one,
/// of some a tenth of a second, and all ranks of a process want those that a
/// call has been asked about when they prepare it.
class PrimitiveDescs {
public:
  /// The one of this name, or what `make` makes of it; null if that was
  /// refused. Who comes while it is made waits for it.
  std::shared_ptr<const dnnl_primitive_desc>
  get(const std::string &name, const std::function<PrimitiveDesc()> &make);

private:
  struct Known {
    std::once_flag once;
    std::shared_ptr<const dnnl_primitive_desc> desc;
  };
  static constexpr size_t most = 1000;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Known>> known_;
};

/// Its type of these elements; undef where it has none that is used here.
dnnl_data_type_t typeOf(DType type);
/// Whether the processor multiplies elements of `type`, which are summed in
/// f32: f32, and bf16 or f16 where it has instructions for them.
bool multiplies(DType type);

/// With these strides (elements); `any` layout without them.
MemoryDesc describe(const Dims &dims, const Dims &strides,
                    dnnl_data_type_t type = dnnl_f32);
/// Of `dims`, in whatever layout a primitive likes best.
MemoryDesc describeAny(const Dims &dims, dnnl_data_type_t type = dnnl_f32);

/// The scratchpad belongs to the caller.
PrimitiveAttr scratchpadAttr();

/// Whether oneDNN has more than plain loops for it.
bool isOptimized(const_dnnl_primitive_desc_t desc);
/// Whether it has plain loops for what is done to the result. Their sigmoid
/// makes 0 of NaN.
bool hasPlainPostOps(const_dnnl_primitive_desc_t desc);

/// The scratchpad of a primitive.
int64_t scratchpadBytes(const_dnnl_primitive_desc_t desc);

/// Bytes aligned to 64.
class Bytes {
public:
  Bytes() = default;
  /// Uninitialised; throws std::bad_alloc where memory runs out.
  explicit Bytes(size_t size);
  /// Null of none.
  void *data() const { return data_.get(); }
  /// How many there are.
  int64_t size() const { return size_; }

private:
  int64_t size_ = 0;
  struct Free {
    void operator()(std::byte *data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// Parts of a workspace, one after the other, each aligned to 64.
class WorkspaceParts {
public:
  /// The offset of a new part.
  int64_t add(int64_t bytes) {
    int64_t offset = bytes_;
    bytes_ += (bytes + 63) / 64 * 64;
    return offset;
  }
  /// The size of all parts.
  int64_t bytes() const { return bytes_; }

private:
  int64_t bytes_ = 0;
};

/// A primitive with the memory objects of its arguments. Its scratchpad comes
/// with each run.
class Primitive {
public:
  Primitive() = default;
  /// Empty if oneDNN refuses.
  explicit Primitive(const_dnnl_primitive_desc_t desc);
  explicit operator bool() const { return primitive_ != nullptr; }

  /// Adds an argument (DNNL_ARG_...); its data comes with run().
  void bind(int argument, const_dnnl_memory_desc_t desc);
  /// The pointers in the order of the bindings; `scratchpad` has the
  /// scratchpadBytes of the description.
  bool run(std::span<const void *const> data, void *scratchpad) const;
  bool run(std::initializer_list<const void *> data, void *scratchpad) const {
    return run(std::span(data.begin(), data.size()), scratchpad);
  }

private:
  Owner<dnnl_primitive, dnnl_primitive_destroy> primitive_;
  Owner<dnnl_stream, dnnl_stream_destroy> stream_;
  std::vector<int> arguments_;
  std::vector<Memory> memories_;
};

/// Copies between layouts; null if they are equal.
PrimitiveDesc describeReorder(const_dnnl_memory_desc_t from,
                              const_dnnl_memory_desc_t to);
/// The copy that `desc`, made from both, describes; empty without one.
Primitive makeReorder(const PrimitiveDesc &desc, const_dnnl_memory_desc_t from,
                      const_dnnl_memory_desc_t to);

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_ONEDNN_H
