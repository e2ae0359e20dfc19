//===- OneDnn.cpp - oneDNN's C interface, owned ---------------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/OneDnn.h"

#include "divisi/runtime/backends/cpu/CpuInstructions.h"

#include <new>
#include <sys/mman.h>

unsigned divisi::rt::cpuInstructions() {
  return unsigned(dnnl_get_effective_cpu_isa());
}

namespace divisi::rt::cpu {

/// Whether the process may not have more: its code that oneDNN makes has 256
/// KiB each, and where it gets none, it says that something has failed.
static bool isOutOfMemory() {
  constexpr size_t some = size_t(16) << 20;
  void *place =
      mmap(nullptr, some, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) {
    return true;
  }
  munmap(place, some);
  return false;
}

bool isDone(dnnl_status_t status) {
  if (status == dnnl_out_of_memory ||
      (status == dnnl_runtime_error && isOutOfMemory())) {
    if (std::new_handler handler = std::get_new_handler()) {
      handler();
    }
    std::__throw_bad_alloc();
  }
  return status == dnnl_success;
}

static dnnl_engine_t makeEngine() {
  dnnl_engine_t engine = nullptr;
  return isDone(dnnl_engine_create(&engine, dnnl_cpu, 0)) ? engine : nullptr;
}

dnnl_engine_t engine() {
  static const Owner<dnnl_engine, dnnl_engine_destroy> owner(makeEngine());
  return owner.get();
}

dnnl_data_type_t typeOf(DType type) {
  switch (type) {
  case DType::I8:
    return dnnl_s8;
  case DType::U8:
    return dnnl_u8;
  case DType::I32:
    return dnnl_s32;
  case DType::F32:
    return dnnl_f32;
  case DType::F16:
    return dnnl_f16;
  case DType::BF16:
    return dnnl_bf16;
  default:
    return dnnl_data_type_undef;
  }
}

bool multiplies(DType type) {
  auto has = [](unsigned isa) { return (cpuInstructions() & isa) == isa; };
  return type == DType::F32 ||
         (type == DType::BF16 && has(dnnl_cpu_isa_avx512_core_bf16)) ||
         (type == DType::F16 && has(dnnl_cpu_isa_avx512_core_fp16));
}

MemoryDesc describe(const Dims &dims, const Dims &strides,
                    dnnl_data_type_t type) {
  dnnl_memory_desc_t desc = nullptr;
  if (dims.empty() || dims.size() > DNNL_MAX_NDIMS ||
      !isDone(dnnl_memory_desc_create_with_strides(
          &desc, int(dims.size()), dims.data(), type, strides.data()))) {
    return nullptr;
  }
  return MemoryDesc(desc);
}

MemoryDesc describeAny(const Dims &dims, dnnl_data_type_t type) {
  dnnl_memory_desc_t desc = nullptr;
  if (dims.empty() || dims.size() > DNNL_MAX_NDIMS ||
      !isDone(dnnl_memory_desc_create_with_tag(
          &desc, int(dims.size()), dims.data(), type, dnnl_format_tag_any))) {
    return nullptr;
  }
  return MemoryDesc(desc);
}

PrimitiveAttr scratchpadAttr() {
  dnnl_primitive_attr_t attr = nullptr;
  if (!isDone(dnnl_primitive_attr_create(&attr))) {
    return nullptr;
  }
  PrimitiveAttr owner(attr);
  dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
  return owner;
}

/// Empty if oneDNN has none.
static std::string_view nameOf(const_dnnl_primitive_desc_t desc) {
  const char *name = nullptr;
  dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name);
  return name ? name : "";
}

bool isOptimized(const_dnnl_primitive_desc_t desc) {
  std::string_view name = nameOf(desc);
  return !name.empty() && name.find("ref") == name.npos;
}

bool hasPlainPostOps(const_dnnl_primitive_desc_t desc) {
  return nameOf(desc).find(":gemm:") != std::string_view::npos;
}

static constexpr std::align_val_t kAlignment{64};

void Bytes::Free::operator()(std::byte *data) const {
  ::operator delete(data, kAlignment);
}

Bytes::Bytes(size_t size)
    : size_(int64_t(size)),
      data_(size ? static_cast<std::byte *>(::operator new(size, kAlignment))
                 : nullptr) {}

int64_t scratchpadBytes(const_dnnl_primitive_desc_t desc) {
  return int64_t(dnnl_memory_desc_get_size(
      dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0)));
}

Primitive::Primitive(const_dnnl_primitive_desc_t desc) {
  dnnl_primitive_t primitive = nullptr;
  dnnl_stream_t stream = nullptr;
  if (!desc || !isDone(dnnl_stream_create(&stream, engine(),
                                          dnnl_stream_default_flags))) {
    return;
  }
  stream_.reset(stream);
  const_dnnl_memory_desc_t scratchpad =
      dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  if (!isDone(dnnl_primitive_create(&primitive, desc))) {
    return;
  }
  primitive_.reset(primitive);
  bind(DNNL_ARG_SCRATCHPAD, scratchpad);
}

void Primitive::bind(int argument, const_dnnl_memory_desc_t desc) {
  dnnl_memory_t memory = nullptr;
  if (!isDone(dnnl_memory_create(&memory, desc, engine(), DNNL_MEMORY_NONE))) {
    primitive_.reset();
  }
  memories_.emplace_back(memory);
  arguments_.push_back(argument);
}

bool Primitive::run(std::span<const void *const> data, void *scratchpad) const {
  constexpr size_t most = 40; // 32 post-ops and what they work on
  dnnl_exec_arg_t arguments[most];
  size_t count = memories_.size();
  if (count > most || data.size() + 1 != count) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    arguments[i] = {arguments_[i], memories_[i].get()};
    dnnl_memory_set_data_handle(memories_[i].get(),
                                i == 0 ? scratchpad
                                       : const_cast<void *>(data[i - 1]));
  }
  return isDone(dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                       int(count), arguments)) &&
         isDone(dnnl_stream_wait(stream_.get()));
}

std::shared_ptr<const dnnl_primitive_desc>
PrimitiveDescs::get(const std::string &name,
                    const std::function<PrimitiveDesc()> &make) {
  std::shared_ptr<Known> known;
  {
    std::lock_guard lock(mutex_);
    if (known_.size() >= most && !known_.contains(name)) {
      known_.clear();
    }
    std::shared_ptr<Known> &place = known_[name];
    place = place ? place : std::make_shared<Known>();
    known = place;
  }
  std::call_once(known->once, [&] { known->desc = make(); });
  return known->desc;
}

PrimitiveDesc describeReorder(const_dnnl_memory_desc_t from,
                              const_dnnl_memory_desc_t to) {
  PrimitiveAttr attr = scratchpadAttr();
  dnnl_primitive_desc_t desc = nullptr;
  if (dnnl_memory_desc_equal(from, to) || !attr ||
      !isDone(dnnl_reorder_primitive_desc_create(&desc, from, engine(), to,
                                                 engine(), attr.get()))) {
    return nullptr;
  }
  return PrimitiveDesc(desc);
}

Primitive makeReorder(const PrimitiveDesc &desc, const_dnnl_memory_desc_t from,
                      const_dnnl_memory_desc_t to) {
  Primitive reorder(desc.get());
  if (!reorder) {
    return reorder;
  }
  reorder.bind(DNNL_ARG_FROM, from);
  reorder.bind(DNNL_ARG_TO, to);
  return reorder;
}

} // namespace divisi::rt::cpu
