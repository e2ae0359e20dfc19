//===- Int8Epilogue.h - What follows a product of bytes ---------*- C++ -*-===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operators of a region behind nn.conv_integer or nn.matmul_integer, as
// oneDNN does them to sums in f32, in registers:
//
//   %c = conv_integer %x, %w
//   %f = dequantize %c, %s     a scale for each channel
//   %b = add %f, %bias         a bias for each channel
//   %q = quantize %b, 0.1      round, clip
//   %d = dequantize %q, 0.1
//   %a = add_dequantized %d, %other     read by a binary post-op, in bytes
//   %y = quantize %a, 0.2      rounded and saturated as it is written
//
// Scales of whole tensors are numbers that are known: they are not multiplied
// one after the other, but as late, and as few, as possible. What is in the
// register then stands for register * scale + shift (Meaning). Before there are
// post-ops, they go into the scales and biases of the channels.
//
// Sums are exact. Behind them everything is rounded to f32 in another order
// than by the operators one by one, so that now and then a number is rounded to
// the other of its neighbours: a code that is quantized differs by one step.
//
//===----------------------------------------------------------------------===//

#ifndef DIVISI_RUNTIME_BACKENDS_CPU_INT8EPILOGUE_H
#define DIVISI_RUNTIME_BACKENDS_CPU_INT8EPILOGUE_H

#include "divisi/runtime/kernels/ScalarFunctions.h"
#include "runtime/backends/cpu/Int8.h"
#include "runtime/backends/cpu/OneDnn.h"

namespace divisi::rt::cpu {

/// The description of `like`, strided, over another type.
MemoryDesc retyped(const_dnnl_memory_desc_t like, dnnl_data_type_t type);

/// See the file's head.
class Int8Epilogue {
public:
  /// What a binary post-op reads: an operand of the call that has the result's
  /// box, or a number for each channel.
  struct Reader {
    int postOp; ///< Its number.
    /// Of the call; nothing: it reads `channels`.
    std::optional<size_t> operand;
    std::vector<float> channels; ///< If there is no operand.
  };

  /// Reads the parts of `site`, a region that begins with a product, or is one
  /// alone. `channels`: the dimensions of the result that scales may differ
  /// along. With `hasValues` the constants are read, else only looked for.
  /// False if oneDNN cannot do all of them, or numbers are none to compute
  /// with.
  bool read(const CallSite &site, const Dims &channels, bool hasValues);

  /// Whether scales and biases of channels are used.
  bool scales() const { return !biases_.empty(); }
  /// The operand that is the one scale, if it is known only when it runs.
  std::optional<size_t> scaleAt() const { return scaleAt_; }
  /// Per channel of the result's box.
  const std::vector<float> &channelScales() const { return scales_; }
  /// The same of what is added; empty if nothing is.
  const std::vector<float> &channelBiases() const { return biases_; }
  /// The post-ops that read an operand, in their order.
  const std::vector<Reader> &readers() const { return readers_; }
  /// Adds the post-ops to `attr`, where `result` is how the result lies, and so
  /// do the tensors that are read, and `channels` how a number for each channel
  /// broadcasts to it; false if oneDNN refuses.
  bool addTo(dnnl_primitive_attr_t attr, const CallSite &site,
             const MemoryDesc &channels, const_dnnl_memory_desc_t result);
  /// How the tensor of a reader is described, once they are added.
  const_dnnl_memory_desc_t descOf(size_t reader) const {
    return descs_[reader].get();
  }

private:
  /// The number that a register stands for is register * scale + shift.
  struct Meaning {
    double scale = 1, shift = 0;
    bool operator==(const Meaning &) const = default;
  };
  struct PostOp {
    dnnl_alg_kind_t algorithm;
    float alpha = 0, beta = 0;
    bool isBinary = false;
  };
  /// A scale and zero point for the whole tensor.
  struct Code {
    double scale = 1, zero = 0, low = 0, high = 0;
  };

  bool readParts(size_t count);
  bool readPart(size_t number);
  bool readDequantize(const RegionPart &part);
  bool readScale(int value);
  bool readSumBias(const RegionPart &part);
  bool readQuantize(size_t number);
  bool readBinary(const RegionPart &part, const ScalarFacts &facts,
                  bool isFirst, int other);
  bool readClip(size_t number, ScalarFunction function);
  void addNumber(ScalarFunction function, bool isFirst, double number);
  bool addChannels(ScalarFunction function, const std::vector<double> &numbers);
  bool addTensor(const RegionPart &part, int operand, bool isQuantized);
  void append(dnnl_alg_kind_t algorithm, double alpha, double beta);
  void mean(Meaning wanted);
  void meanItself();
  std::optional<size_t> quantizeBehindClips(size_t number) const;

  bool isConstant(int value) const;
  std::optional<double> numberAt(int value) const;
  std::optional<std::vector<double>> channelsAt(int value, DType type) const;
  std::optional<Code> codeOf(const RegionPart &part, DType type) const;
  bool isFinite() const;

  /// Whether scales and biases of channels can take a factor.
  bool isFoldable() const { return ops_.empty() && !scaleAt_; }

  const CallSite *site_ = nullptr; ///< While it reads.
  Dims channels_;
  bool hasValues_ = false;
  int value_ = 0;                      ///< What the register stands for.
  bool isSum_ = true, isCode_ = false; ///< Not scaled yet, or quantized.
  bool isPlain_ = false; ///< Whether it is the value itself, whatever numbers.
  Meaning meaning_;
  /// The part that quantizes, if the register has its units already.
  std::optional<size_t> unitsOf_;
  std::vector<double> sumBiases_; ///< Added to sums; empty: none.
  std::optional<size_t> scaleAt_;
  std::vector<float> scales_, biases_;
  std::vector<PostOp> ops_;
  std::vector<Reader> readers_;
  std::vector<MemoryDesc> descs_; ///< Of the readers.
};

} // namespace divisi::rt::cpu

#endif // DIVISI_RUNTIME_BACKENDS_CPU_INT8EPILOGUE_H
