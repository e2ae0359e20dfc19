//===- PackedWeights.cpp - Constants in layouts of oneDNN -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/PackedWeights.h"

#include "divisi/runtime/kernels/Nest.h"
#include "runtime/backends/cpu/Int8Product.h"
#include "runtime/kernels/Pages.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace divisi::rt::cpu {

static int rankOf(const_dnnl_memory_desc_t desc) {
  int rank = 0;
  dnnl_memory_desc_query(desc, dnnl_query_ndims_s32, &rank);
  return rank;
}

/// `query` is of so many numbers.
static Dims numbersOf(const_dnnl_memory_desc_t desc, dnnl_query_t query,
                      int count) {
  const dnnl_dims_t *values = nullptr;
  if (count == 0 || !isDone(dnnl_memory_desc_query(desc, query, &values))) {
    return {};
  }
  return Dims(*values, *values + count);
}

static dnnl_data_type_t elementOf(const_dnnl_memory_desc_t desc) {
  dnnl_data_type_t type = dnnl_data_type_undef;
  dnnl_memory_desc_query(desc, dnnl_query_data_type, &type);
  return type;
}

static bool isBlocked(const_dnnl_memory_desc_t desc) {
  dnnl_format_kind_t kind = dnnl_format_kind_undef;
  dnnl_memory_desc_query(desc, dnnl_query_format_kind, &kind);
  return kind == dnnl_blocked;
}

std::string nameOfLayout(const_dnnl_memory_desc_t desc) {
  if (!isBlocked(desc)) {
    return "";
  }
  std::ostringstream os;
  auto add = [&](dnnl_query_t query, int count) {
    for (int64_t value : numbersOf(desc, query, count)) {
      os << value << ',';
    }
    os << ';';
  };
  int rank = rankOf(desc), blocks = 0;
  dnnl_memory_desc_query(desc, dnnl_query_inner_nblks_s32, &blocks);
  os << elementOf(desc) << ';';
  for (auto query : {dnnl_query_dims, dnnl_query_padded_dims,
                     dnnl_query_padded_offsets, dnnl_query_strides}) {
    add(query, rank);
  }
  add(dnnl_query_inner_blks, blocks);
  add(dnnl_query_inner_idxs, blocks);
  return os.str();
}

namespace {

/// The boxes in which a constant is brought from one layout to another.
class PackingBoxes {
public:
  PackingBoxes(const GivenWeights &given, const_dnnl_memory_desc_t to);

  /// Of the largest box.
  int64_t bytes() const { return numElements(most_) * width_; }
  /// Reads `constant` box by box and brings each to its place in `packed`.
  bool pack(const Constant &constant, std::byte *packed) const;

private:
  bool canCut() const;
  void cut();
  Dims strides(const Dims &extents) const;
  bool read(const Constant &constant, const Dims &begin, const Dims &extents,
            std::byte *box) const;
  bool place(const Dims &begin, const Dims &extents, std::byte *box,
             std::byte *packed) const;

  const GivenWeights &given_;
  const_dnnl_memory_desc_t to_;
  Dims extents_, strides_;    ///< Of all of it, as it is given.
  Dims blocks_;               ///< By dimension, of what it is packed to.
  Dims toStrides_;            ///< Between these, in elements.
  Dims most_;                 ///< Of the largest box.
  std::vector<size_t> order_; ///< Dimensions, the outermost first.
  int64_t width_;             ///< Of an element, in bytes.
};

} // namespace

PackingBoxes::PackingBoxes(const GivenWeights &given,
                           const_dnnl_memory_desc_t to)
    : given_(given), to_(to),
      extents_(numbersOf(given.layout, dnnl_query_dims, rankOf(given.layout))),
      strides_(
          numbersOf(given.layout, dnnl_query_strides, rankOf(given.layout))),
      blocks_(extents_.size(), 1), most_(extents_), order_(extents_.size()),
      width_(int64_t(dnnl_data_type_size(elementOf(given.layout)))) {
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(
      order_, [&](size_t a, size_t b) { return strides_[a] > strides_[b]; });
  if (isBlocked(to)) {
    int count = 0;
    dnnl_memory_desc_query(to, dnnl_query_inner_nblks_s32, &count);
    Dims sizes = numbersOf(to, dnnl_query_inner_blks, count);
    Dims dims = numbersOf(to, dnnl_query_inner_idxs, count);
    for (int i = 0; i < count; ++i) {
      blocks_[size_t(dims[i])] *= sizes[i];
    }
    toStrides_ = numbersOf(to, dnnl_query_strides, rankOf(to));
    if (canCut()) {
      cut();
    }
  }
}

/// Not where more than elements is packed: sums of them, for example.
bool PackingBoxes::canCut() const {
  Dims padded = numbersOf(to_, dnnl_query_padded_dims, rankOf(to_));
  int64_t width = int64_t(dnnl_data_type_size(elementOf(to_)));
  int64_t last = 1;
  for (size_t d = 0; d < padded.size(); ++d) {
    last += (padded[d] / blocks_[d] - 1) * toStrides_[d];
  }
  int64_t block = numElements(blocks_);
  return padded.size() == extents_.size() &&
         int64_t(dnnl_memory_desc_get_size(to_)) <= (last - 1 + block) * width;
}

void PackingBoxes::cut() {
  constexpr int64_t enough = int64_t(1) << 20; // bytes
  for (size_t d : order_) {
    if (bytes() <= enough) {
      break;
    }
    int64_t blocks = most_[d] * enough / bytes() / blocks_[d];
    most_[d] = std::min(most_[d], std::max<int64_t>(blocks, 1) * blocks_[d]);
  }
}

/// Of a box without gaps, in the order of what is given.
Dims PackingBoxes::strides(const Dims &extents) const {
  Dims strides(extents.size());
  int64_t next = 1;
  for (size_t i = order_.size(); i-- > 0;) {
    strides[order_[i]] = next;
    next *= extents[order_[i]];
  }
  return strides;
}

/// Run by run; what is innermost on both sides is one.
bool PackingBoxes::read(const Constant &constant, const Dims &begin,
                        const Dims &extents, std::byte *box) const {
  int64_t run = 1, from = given_.base / width_;
  size_t outer = order_.size();
  while (outer > 0 && (extents[order_[outer - 1]] == 1 ||
                       strides_[order_[outer - 1]] == run)) {
    run *= extents[order_[--outer]];
  }
  for (size_t d = 0; d < begin.size(); ++d) {
    from += begin[d] * strides_[d];
  }
  Dims counts, steps;
  for (size_t i = 0; i < outer; ++i) {
    counts.push_back(extents[order_[i]]);
    steps.push_back(strides_[order_[i]]);
  }
  bool done = true;
  Nest<1> nest(counts, {Walk{from, steps}});
  nest.forEach(0, [&](const auto &at) {
    done = done && constant.read(at[0] * width_, run * width_, box);
    box += run * width_;
  });
  return done;
}

/// Inner boxes begin where the layout does, so that one primitive serves all.
bool PackingBoxes::place(const Dims &begin, const Dims &extents, std::byte *box,
                         std::byte *packed) const {
  MemoryDesc from =
      describe(extents, strides(extents), elementOf(given_.layout));
  Dims offsets = begin;
  bool isWhole = extents == extents_;
  for (size_t d = 0; d < begin.size() && !isWhole; ++d) {
    if (extents[d] % blocks_[d] == 0 && begin[d] + extents[d] != extents_[d]) {
      packed += begin[d] / blocks_[d] * toStrides_[d] *
                int64_t(dnnl_data_type_size(elementOf(to_)));
      offsets[d] = 0;
    }
  }
  dnnl_memory_desc_t made = nullptr;
  dnnl_status_t status =
      isWhole ? dnnl_memory_desc_clone(&made, to_)
              : dnnl_memory_desc_create_submemory(&made, to_, extents.data(),
                                                  offsets.data());
  MemoryDesc to(isDone(status) ? made : nullptr);
  if (!from || !to) {
    return false;
  }
  if (dnnl_memory_desc_equal(from.get(), to.get())) {
    std::memcpy(packed, box, size_t(numElements(extents) * width_));
    return true;
  }
  PrimitiveDesc desc = describeReorder(from.get(), to.get());
  Primitive reorder = makeReorder(desc, from.get(), to.get());
  Bytes scratchpad(desc ? size_t(scratchpadBytes(desc.get())) : 0);
  return reorder && reorder.run({box, packed}, scratchpad.data());
}

bool PackingBoxes::pack(const Constant &constant, std::byte *packed) const {
  // What malloc() had for it would stay with the process, between what is kept.
  Expected<Pages> box = Pages::allocate(bytes());
  if (!box) {
    return false;
  }
  std::byte *data = box->data();
  Dims counts, steps(extents_.size(), 0);
  for (size_t d = 0; d < extents_.size(); ++d) {
    counts.push_back((extents_[d] + most_[d] - 1) / most_[d]);
  }
  Dims at(extents_.size()), begin(extents_.size()), extents(extents_.size());
  for (int64_t i = 0, all = numElements(counts); i < all; ++i) {
    int64_t rest = i;
    for (size_t k = order_.size(); k-- > 0;) {
      size_t d = order_[k];
      begin[d] = rest % counts[d] * most_[d];
      extents[d] = std::min(most_[d], extents_[d] - begin[d]);
      rest /= counts[d];
    }
    if (!read(constant, begin, extents, data)) {
      return false;
    }
    if (given_.flips) {
      flipBytes(data, numElements(extents), data);
    }
    if (!place(begin, extents, data, packed)) {
      return false;
    }
  }
  return true;
}

int64_t packingBytes(const GivenWeights &given, const_dnnl_memory_desc_t to) {
  return PackingBoxes(given, to).bytes();
}

PackedWeights::PackedWeights(const Constant &constant,
                             const GivenWeights &given, const std::string &name,
                             const_dnnl_memory_desc_t to)
    : PackedWeights(constant, name, to, [&](std::byte *packed) {
        return PackingBoxes(given, to).pack(constant, packed);
      }) {}

PackedWeights::PackedWeights(const Constant &constant, const std::string &name,
                             const_dnnl_memory_desc_t to,
                             const std::function<bool(std::byte *)> &fill)
    : size_(int64_t(dnnl_memory_desc_get_size(to))) {
  std::string layoutName = nameOfLayout(to);
  bytes_ = layoutName.empty()
               ? packConstant(constant.from(0), name, size_, fill)
               : packConstant(constant, name + layoutName, size_, fill);
}

PackedForm PackedWeights::formOf(size_t operand, const std::string &name,
                                 const_dnnl_memory_desc_t to, int64_t scratch) {
  std::string layoutName = nameOfLayout(to);
  return {int(operand), layoutName.empty() ? "" : name + layoutName,
          int64_t(dnnl_memory_desc_get_size(to)), scratch};
}

} // namespace divisi::rt::cpu
