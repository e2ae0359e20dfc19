//===- PostOps.h - What oneDNN does to a result on its way ------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators of a region behind its first, where each takes the element that
// the one before has made:
//
//   %c = conv %x, %w        the primitive
//   %b = add %c, %bias      its bias
//   %s = add %b, %rest      a binary post-op, of an operand of the result's box
//   %y = gelu %s            an elementwise post-op
//   %z = max %y, %bound     a clip, which makes a number of NaN
//
// All of that is in f32, and a result of f16 or bf16 is rounded once: so it is
// what a part ends with if that is the last, and nothing goes on with another.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_POSTOPS_H
#define DIVISI_RUNTIME_BACKENDS_CPU_POSTOPS_H

#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "runtime/backends/cpu/Magnitude.h"
#include "runtime/backends/cpu/OneDnn.h"

namespace divisi::rt::cpu {

/// The elementwise algorithm of oneDNN that computes `op`, on its way or alone;
/// what is a maximum is none: NaN is lost in those of oneDNN.
std::optional<dnnl_alg_kind_t> eltwiseOf(std::string_view op,
                                         const Attributes &attributes);
/// Its parameters.
struct EltwiseArguments {
  float alpha = 0, beta = 0; ///< As oneDNN's algorithm defines them.
};
/// Those with which `algorithm` computes what the reference does.
inline EltwiseArguments eltwiseArguments(dnnl_alg_kind_t algorithm) {
  return algorithm == dnnl_eltwise_hardswish
             ? EltwiseArguments{1.0f / 6, 0.5f}
             : EltwiseArguments{algorithm == dnnl_eltwise_swish ? 1.0f : 0.0f};
}

/// What becomes of operators of which oneDNN makes clips.
enum class Clips : uint8_t {
  None,    ///< They are left to others.
  Unknown, ///< They are done, within bounds that are not known yet.
  Known,
};

/// Per dimension of what a primitive writes, the result's dimensions that it
/// is, in their order.
using DimGroups = std::vector<std::vector<size_t>>;

/// See the file's head.
class PostOps {
public:
  /// Of a region whose call has one result. How many of its operators, the
  /// first and those that fit behind it, are done, of at most `most`.
  size_t read(const CallSite &site, size_t most, Clips clips = Clips::None);

  /// Whether there is none, but for a bias.
  bool isEmpty() const { return ops_.empty(); }
  /// A vector along dimension `dim` that is added first leaves the post-ops and
  /// becomes the bias; null if there is none.
  MemoryDesc takeBias(const TensorInfo &result, size_t dim);
  /// Adds the others to `attr`, for a primitive that writes the result as
  /// `groups` say, or, without any, as it is; false if oneDNN refuses, or an
  /// operand cannot be seen so.
  bool addTo(dnnl_primitive_attr_t attr, const TensorInfo &result,
             const DimGroups &groups = {});
  /// Of what has been added, in bytes that no others have.
  std::string name() const;
  /// Binds bias and operands, in the order of `pointers`.
  void bind(Primitive &primitive) const;
  /// What has been bound, of the call's operands.
  void pointers(std::span<const void *const> operands,
                std::vector<const void *> &to) const;

  /// How many elements staysFinite() reads.
  int64_t costOfBounds(const CallSite &site) const;
  /// Measures what the call knows of bias and operands.
  void measure(const CallSite &site);
  /// Whether no value on the way can be NaN, nor infinite, if none of those
  /// that come from the primitive is above `bound` in magnitude.
  bool staysFinite(double bound, const LaunchContext &context) const;

private:
  struct PostOp {
    dnnl_alg_kind_t algorithm = dnnl_alg_kind_undef;
    float alpha = 0, beta = 0; ///< Of an elementwise one.
    bool isBinary = false;
    Magnitude magnitude; ///< The operand's.
    size_t operand = 0;  ///< Of the call, for a binary one.
    TensorInfo info;     ///< The operand.
    int64_t base = 0;    ///< The first element in its box.
    bool isCast = false; ///< Nothing is done.
    MemoryDesc desc;
  };

  static bool readPart(const RegionPart &part, int value, const CallSite &site,
                       Clips clips, PostOp &op);
  static bool readEltwise(dnnl_alg_kind_t algorithm, const CallSite &site,
                          PostOp &op);
  static bool readClip(const RegionPart &part, int value, const CallSite &site,
                       Clips clips, ScalarFunction function, PostOp &op);
  static bool readBinary(const RegionPart &part, int value,
                         const CallSite &site, const ScalarFacts &facts,
                         PostOp &op);
  bool joinClip(const PostOp &op);
  static bool describeOperand(PostOp &op, const TensorInfo &result,
                              const DimGroups &groups);

  std::vector<PostOp> ops_;
  std::optional<PostOp> bias_;
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_POSTOPS_H
