//===- ConvPlan.cpp - What oneDNN does of a convolution -------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/backends/cpu/ConvPlan.h"
#include "runtime/kernels/ConvBoxes.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <sstream>

namespace divisi::rt::cpu {

/// The image may be what suits oneDNN, if it has these bytes.
static std::vector<TensorInfo> infosOf(const CallSite &call,
                                       const FirstOperator &first) {
  std::vector<TensorInfo> infos;
  for (int operand : first.operands) {
    const TensorInfo &info = call.operands[operand];
    infos.push_back(infos.empty() ? preferChannelsLast(info) : info);
  }
  return infos;
}

static std::vector<Constant> constantsOf(const CallSite &call,
                                         const FirstOperator &first) {
  std::vector<Constant> constants;
  for (int operand : first.operands) {
    constants.push_back(call.constants.empty() ? Constant()
                                               : call.constants[operand]);
  }
  return constants;
}

ConvPlan::ConvPlan(const CallSite &call)
    : ConvPlan(call, FirstOperator(call)) {}

ConvPlan::ConvPlan(const CallSite &call, const FirstOperator &first)
    : numbers(first.operands), operands(infosOf(call, first)),
      constants(constantsOf(call, first)),
      result(preferChannelsLast(call.results[0])),
      site{first.op,  first.attributes, operands,          {&result, 1},
           constants, call.threads,     call.checksIndices} {}

std::string ConvPlan::packedName() const {
  return "conv " + std::to_string(sides.bases[1]) + " " +
         nameOfLayout(sides.given[1].get()) + " ";
}

ConvWorkspace::ConvWorkspace(const ConvPlan &plan) {
  WorkspaceParts parts;
  scratchpad = scratchpadBytes(plan.primitive.get());
  if (plan.clipped) {
    scratchpad = std::max(scratchpad, scratchpadBytes(plan.clipped.get()));
  }
  for (size_t i = 0; i < 3; ++i) {
    if (plan.reordersAlways(i)) {
      sides[i] = parts.add(plan.bytes(i));
      scratchpad =
          std::max(scratchpad, scratchpadBytes(plan.reorders[i].get()));
    }
  }
  scratchpad = parts.add(scratchpad);
  tail = parts.add(plan.tail ? plan.tail->query().workspaceBytes : 0);
  bytes = parts.bytes();
}

/// The same tensor in any layout.
static MemoryDesc anyLike(const_dnnl_memory_desc_t given) {
  const dnnl_dims_t *dims = nullptr;
  int rank = 0;
  dnnl_memory_desc_query(given, dnnl_query_dims, &dims);
  dnnl_memory_desc_query(given, dnnl_query_ndims_s32, &rank);
  return describeAny(Dims(*dims, *dims + rank));
}

/// The layouts of x, w and y that a primitive is asked for.
using Layouts = std::array<const_dnnl_memory_desc_t, 3>;

static PrimitiveDesc createPrimitive(const ConvPlan &plan,
                                     const Layouts &layouts,
                                     const_dnnl_memory_desc_t bias,
                                     const_dnnl_primitive_attr_t attr) {
  const Attributes &attributes = plan.site.attributes;
  Dims strides = attributes.getInts("strides");
  Dims dilations = attributes.getInts("dilations");
  for (int64_t &dilation : dilations) {
    --dilation; // oneDNN counts the gaps.
  }
  const auto &[before, after] = std::tie(plan.sides.before, plan.sides.after);
  dnnl_primitive_desc_t desc = nullptr;
  bool isGradient = plan.site.op == "nn.conv_dgrad";
  auto *create = isGradient ? dnnl_deconvolution_forward_primitive_desc_create
                            : dnnl_convolution_forward_primitive_desc_create;
  auto algorithm =
      isGradient ? dnnl_deconvolution_direct : dnnl_convolution_direct;
  dnnl_status_t status =
      create(&desc, engine(), dnnl_forward_inference, algorithm, layouts[0],
             layouts[1], bias, layouts[2], strides.data(), dilations.data(),
             before.data(), after.data(), attr);
  return PrimitiveDesc(isDone(status) ? desc : nullptr);
}

/// Of all that createPrimitive() sees, in bytes that no other has.
static std::string nameOf(const ConvPlan &plan, const Layouts &layouts,
                          const PostOps &postOps) {
  std::ostringstream os;
  os << plan.site.op << ' ' << plan.threads;
  for (size_t i = 0; i < layouts.size(); ++i) {
    bool isGiven = layouts[i] == plan.sides.given[i].get();
    os << (isGiven ? " as " : " any ")
       << nameOfLayout(plan.sides.given[i].get());
  }
  const Attributes &attributes = plan.site.attributes;
  for (const Dims &dims :
       {attributes.getInts("strides"), attributes.getInts("dilations"),
        plan.sides.before, plan.sides.after}) {
    os << ' ' << stringify(dims);
  }
  os << ' ' << postOps.name();
  return os.str();
}

/// The primitive of `plan` with these post-ops; null if oneDNN has only plain
/// loops for it.
static std::shared_ptr<const dnnl_primitive_desc>
makePrimitive(const ConvPlan &plan, const Layouts &layouts, PostOps &postOps) {
  static PrimitiveDescs descs;
  const TensorInfo &result = plan.site.results[0];
  PrimitiveAttr attr = scratchpadAttr();
  MemoryDesc bias =
      plan.site.op == "nn.conv" ? postOps.takeBias(result, 1) : nullptr;
  if (!attr || !postOps.addTo(attr.get(), result)) {
    return nullptr;
  }
  return descs.get(nameOf(plan, layouts, postOps), [&]() -> PrimitiveDesc {
    PrimitiveDesc made = createPrimitive(plan, layouts, bias.get(), attr.get());
    bool isFast = made && isOptimized(made.get()) &&
                  (postOps.isEmpty() || !hasPlainPostOps(made.get()));
    return isFast ? std::move(made) : nullptr;
  });
}

static const_dnnl_memory_desc_t layoutOf(const_dnnl_primitive_desc_t primitive,
                                         size_t side) {
  static constexpr dnnl_query_t queries[] = {
      dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
  return dnnl_primitive_desc_query_md(primitive, queries[side], 0);
}

/// What has to be reordered for the primitive.
static bool addReorders(ConvPlan &plan) {
  for (size_t i = 0; i < 3; ++i) {
    const_dnnl_memory_desc_t given = plan.sides.given[i].get();
    plan.wanted[i] = layoutOf(plan.primitive.get(), i);
    plan.reorders[i] = i == 2 ? describeReorder(plan.wanted[i], given)
                              : describeReorder(given, plan.wanted[i]);
    if (!plan.reorders[i] && !dnnl_memory_desc_equal(given, plan.wanted[i])) {
      return false;
    }
  }
  return true;
}

static bool isRight(const CallSite &site) {
  auto isF32 = [](const TensorInfo &info) { return info.type == DType::F32; };
  return isConvolution(site) &&
         std::all_of(site.operands.begin(), site.operands.end(), isF32) &&
         isF32(site.results[0]);
}

/// Lets the exact primitive do at most `most` operators of the region; how many
/// they are, or 0 if it cannot.
static size_t fitPrimitive(const CallSite &call, size_t most,
                           const Layouts &layouts, ConvPlan &plan) {
  size_t done = plan.postOps.read(call, most);
  // What is left goes on with what lies there.
  bool hasType = !call.region || call.region->parts[done - 1].results[0].type ==
                                     call.results[0].type;
  plan.primitive =
      hasType ? makePrimitive(plan, layouts, plan.postOps) : nullptr;
  return plan.primitive ? done
         : done > 1     ? fitPrimitive(call, done - 1, layouts, plan)
                        : 0;
}

/// Adds the clipped primitive if it does all, between the layouts of the exact
/// one, and its bounds cost less than the passes over the result that it saves.
static void addClipped(const CallSite &call, const Layouts &layouts,
                       Clips clips, ConvPlan &plan) {
  static constexpr int64_t mostRead = 2; // times the result: read and written
  auto isF32 = [](const TensorInfo &info) { return info.type == DType::F32; };
  if (!std::all_of(call.operands.begin(), call.operands.end(), isF32)) {
    return; // bounds are those of f32
  }
  PostOps ops;
  bool doesAll = ops.read(call, call.region->parts.size(), clips) ==
                 call.region->parts.size();
  int64_t cost = Magnitude::cost(call, size_t(plan.numbers[0])) +
                 Magnitude::cost(call, size_t(plan.numbers[1])) +
                 ops.costOfBounds(call);
  if (!doesAll || cost > mostRead * plan.result.count()) {
    return;
  }
  plan.clipped = makePrimitive(plan, layouts, ops);
  for (size_t i = 0; plan.clipped && i < plan.wanted.size(); ++i) {
    if (!dnnl_memory_desc_equal(layoutOf(plan.clipped.get(), i),
                                plan.wanted[i])) {
      plan.clipped = nullptr;
    }
  }
  plan.clippedOps = std::move(ops);
}

/// Two for each weight of a feature, in each element of the larger side.
static double operationsOf(const ConvPlan &plan) {
  const TensorInfo &w = plan.operands[1];
  int64_t elements = std::max(plan.operands[0].count(), plan.result.count());
  return 2.0 * double(elements) * double(w.count()) / double(w.extents[0]);
}

bool ConvPlan::make(const CallSite &call, Clips clips) {
  if (!engine() || (site.op != "nn.conv" && site.op != "nn.conv_dgrad") ||
      !isPlainOrChannelsLast(call) || !isRight(site) ||
      !describeSides(site, sides)) {
    return false;
  }
  size_t parts = call.region ? call.region->parts.size() : 1;
  if (call.region &&
      (call.region->parts[0].results.size() != 1 ||
       !isSameBox(call.region->parts[0].results[0], call.results[0]))) {
    return false;
  }
  threads = teamFor(call.threads, operationsOf(*this));
  TeamSize team(threads);
  // oneDNN chooses what is not given.
  MemoryDesc anyX = anyLike(sides.given[0].get()),
             anyW = anyLike(sides.given[1].get()),
             anyY = anyLike(sides.given[2].get());
  Layouts layouts = {
      isChannelsLast(operands[0]) ? sides.given[0].get() : anyX.get(),
      anyW.get(), isChannelsLast(result) ? sides.given[2].get() : anyY.get()};
  size_t done = fitPrimitive(call, parts, layouts, *this);
  if (done == 0) {
    return false;
  }
  if (done < parts) {
    tail = std::make_unique<RegionTail>(call, done);
    if (!tail->kernel) {
      return false;
    }
  }
  constant = site.constants.size() > 1 && bool(site.constants[1]);
  if (!addReorders(*this)) {
    return false;
  }
  if (tail) {
    addClipped(call, layouts, clips, *this);
  }
  return true;
}

} // namespace divisi::rt::cpu
