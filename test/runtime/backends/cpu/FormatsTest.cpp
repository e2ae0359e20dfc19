//===- FormatsTest.cpp - Tensors whose channels come last -----------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls drawn at random, with any of their tensors in either format, compute
// what the reference computes row-major.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/kernels/Tensors.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// A call on row-major tensors.
struct Call {
  std::string op;
  Attributes attributes;
  std::vector<Tensor> operands;
  TensorInfo result;
  Region region;
};

/// Draws calls.
class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }
  Dims shape(size_t rank) {
    Dims dims;
    for (size_t d = 0; d < rank; ++d) {
      dims.push_back(1 + below(d == 1 ? 20 : 7));
    }
    return dims;
  }
  /// Some values, NaN and infinities among them now and then.
  Tensor tensor(TensorInfo info, bool mayBeOdd = true) {
    Tensor tensor(std::move(info));
    static const float odd[] = {std::nanf(""), HUGE_VALF, -HUGE_VALF};
    const float *oddOne = mayBeOdd && below(8) == 0 ? odd + below(3) : nullptr;
    std::vector<float> values(tensor.info.count());
    for (float &value : values) {
      value = oddOne && below(40) == 0
                  ? *oddOne
                  : std::uniform_real_distribution<float>(-2, 2)(random_);
    }
    std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
    return tensor;
  }
  Tensor tensor(Dims dims) {
    return tensor(TensorInfo::whole(DType::F32, std::move(dims)));
  }
  /// A tensor that broadcasts to `dims`.
  Tensor broadcast(Dims dims) {
    int64_t kind = below(4);
    if (kind == 0) {
      return tensor(Dims{});
    }
    for (size_t d = 0; d < dims.size() && kind != 3; ++d) {
      dims[d] = d == 1 && kind == 1 ? dims[d] : below(2) ? dims[d] : 1;
    }
    for (size_t d = 0; d < dims.size() && kind == 1; ++d) {
      dims[d] = d == 1 ? dims[d] : 1;
    }
    return tensor(dims);
  }

  Call elementwise();
  Call structural();
  Call convolution();
  Call convolutionGradient();
  /// What goes on with the result of `first`.
  void goOn(Call &first);

private:
  std::mt19937 random_;
};

} // namespace

Call Draw::elementwise() {
  static const char *const unary[] = {"nn.relu", "nn.silu", "nn.neg"};
  static const char *const binary[] = {"nn.add", "nn.mul", "nn.max", "nn.sub"};
  Dims dims = shape(3 + below(3));
  Call call{.result = TensorInfo::whole(DType::F32, dims)};
  TensorInfo box = call.result; // a part, as ranks have it
  for (size_t d = 0; d < dims.size() && below(2); ++d) {
    box.offset[d] = below(3);
    box.global[d] += box.offset[d] + below(3);
  }
  call.operands.push_back(tensor(box));
  call.result = box;
  if (below(3) == 0) {
    call.op = unary[below(3)];
  } else {
    call.op = binary[below(4)];
    Tensor other = broadcast(dims);
    if (other.info.rank() == dims.size()) {
      for (size_t d = 0; d < dims.size(); ++d) {
        bool isWide = other.info.extents[d] != 1 || dims[d] == 1;
        other.info.global[d] = isWide ? box.global[d] : 1;
        other.info.offset[d] = isWide ? box.offset[d] : 0;
      }
    }
    call.operands.insert(call.operands.begin() + below(2), std::move(other));
  }
  return call;
}

Call Draw::structural() {
  size_t rank = 3 + below(3);
  Dims dims = shape(rank), all(rank, 0), ones(rank, 1), extents = dims;
  Call call;
  call.operands.push_back(tensor(dims));
  switch (below(6)) {
  case 0: {
    int64_t axis = below(rank);
    Dims other = dims;
    other[axis] = 1 + below(9);
    call.operands.push_back(tensor(other));
    extents[axis] += other[axis];
    call.op = "nn.concat";
    call.attributes = {{"axis", axis}};
    break;
  }
  case 1: {
    Dims axes;
    extents.clear();
    for (size_t d = 0; d < rank; ++d) {
      bool isAxis = below(2) != 0;
      (isAxis ? axes : extents).push_back(isAxis ? int64_t(d) : dims[d]);
    }
    call.op = "nn.reduce";
    call.attributes = {{"axes", axes}, {"kind", std::string("sum")}};
    break;
  }
  case 2: {
    Dims permutation(rank);
    extents.clear();
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    for (int64_t d : permutation) {
      extents.push_back(dims[d]);
    }
    call.op = "nn.transpose";
    call.attributes = {{"permutation", permutation}};
    break;
  }
  case 3: {
    int64_t axis = below(int64_t(rank)), way = below(2);
    Dims axes = axis > 1 && below(2) ? Dims{0, axis} : Dims{axis};
    call.op = below(2) ? "nn.softmax" : "nn.normalize";
    call.attributes = {{"axes", axes},
                       {"center", way},
                       {"epsilon", 1e-3},
                       {"axis", axis},
                       {"log", way}};
    break;
  }
  case 4: {
    Dims starts = all;
    for (size_t d = 0; d < rank; ++d) {
      extents[d] -= starts[d] = below(dims[d]);
    }
    call.op = "nn.slice";
    call.attributes = {{"starts", starts}, {"limits", dims}, {"steps", ones}};
    break;
  }
  default: {
    Dims kernel = ones, strides = ones, low = all, high = all;
    for (size_t d = 2; d < rank; ++d) {
      kernel[d] = 1 + below(3);
      strides[d] = 1 + below(2);
      low[d] = below(kernel[d]);
      high[d] = kernel[d] - 1 - low[d];
      extents[d] = (dims[d] - 1) / strides[d] + 1;
    }
    call.op = below(2) ? "nn.pool_max" : "nn.pool_sum";
    call.attributes = {{"kernel", kernel},
                       {"strides", strides},
                       {"dilations", ones},
                       {"pads_lo", low},
                       {"pads_hi", high}};
    break;
  }
  }
  call.result = TensorInfo::whole(DType::F32, extents);
  return call;
}

Call Draw::convolution() {
  size_t spatial = 1 + below(2);
  int64_t kind = below(3), groups = kind == 0 ? 1 + below(2) : 1;
  Dims x = shape(2 + spatial), w{groups * (1 + below(18))};
  x[1] = groups * (1 + below(17));
  if (kind == 1) { // depthwise
    groups = x[1] = w[0] = 1 + below(40);
  }
  w.push_back(x[1] / groups);
  Dims y{x[0], w[0]}, strides, ones(spatial, 1), low, high;
  for (size_t d = 0; d < spatial; ++d) {
    w.push_back(1 + below(std::min<int64_t>(3, x[d + 2])));
    strides.push_back(1 + below(2));
    low.push_back(below(w.back()));
    high.push_back(below(w.back()));
    y.push_back(
        (x[d + 2] + low.back() + high.back() - w.back()) / strides.back() + 1);
  }
  Call call{.op = "nn.conv",
            .attributes = {{"groups", groups},
                           {"strides", strides},
                           {"dilations", ones},
                           {"pads_lo", low},
                           {"pads_hi", high}},
            .result = TensorInfo::whole(DType::F32, y)};
  call.operands.push_back(tensor(x));
  // oneDNN multiplies the padding, too: infinity there is NaN in the result.
  call.operands.push_back(tensor(TensorInfo::whole(DType::F32, w), false));
  return call;
}

/// By the operand; strides may leave some of its last elements to no window.
Call Draw::convolutionGradient() {
  Call forward = convolution();
  const Dims &x = forward.operands[0].info.extents;
  Call call{.op = "nn.conv_dgrad",
            .attributes = forward.attributes,
            .result = forward.operands[0].info};
  call.attributes.set("extents", Dims(x.begin() + 2, x.end()));
  call.operands = {tensor(forward.result.extents), forward.operands[1]};
  return call;
}

void Draw::goOn(Call &first) {
  static const char *const unary[] = {"nn.relu", "nn.silu", "nn.sigmoid",
                                      "nn.tanh", "nn.neg"};
  static const char *const binary[] = {"nn.add", "nn.mul", "nn.max",
                                       "nn.min", "nn.sub", "nn.add"};
  auto addPart = [&](std::string op, std::vector<int> operands) {
    first.region.parts.push_back(
        {op, *kernelVersion(op), {}, operands, {first.result}});
  };
  std::vector<int> all(first.operands.size());
  std::iota(all.begin(), all.end(), 0);
  addPart(first.op, all);
  first.region.parts[0].attributes = first.attributes;
  int64_t count = 1 + below(4);
  // Values are numbered behind all operands, whose number is not known yet.
  std::vector<std::pair<std::string, int>> chain;
  for (int64_t i = 0; i < count; ++i) {
    if (below(2)) {
      chain.emplace_back(unary[below(5)], -1);
    } else {
      chain.emplace_back(binary[below(6)], int(first.operands.size()));
      first.operands.push_back(broadcast(first.result.extents));
    }
  }
  auto value = int(first.operands.size());
  for (const auto &[op, other] : chain) {
    if (other < 0) {
      addPart(op, {value});
    } else if (op != "nn.sub" && below(2)) {
      addPart(op, {other, value});
    } else {
      addPart(op, {value, other});
    }
    ++value;
  }
  first.region.results = {value};
  first.op = fusedOp;
  first.attributes = {};
}

/// What `backend` makes of the call; nothing if it takes none such. It knows
/// the operands whose bits are set in `known` before.
static std::optional<Tensor> runBy(const Backend &backend, const Call &call,
                                   int threads, unsigned known = 0) {
  std::vector<TensorInfo> infos;
  std::vector<const void *> pointers;
  std::vector<Constant> constants;
  for (const Tensor &operand : call.operands) {
    infos.push_back(operand.info);
    constants.push_back(known >> pointers.size() & 1 ? operand.data.data()
                                                     : nullptr);
    pointers.push_back(operand.data.data());
  }
  CallSite site{call.op, call.attributes, infos, {&call.result, 1}, constants};
  site.threads = threads;
  site.region = call.region.parts.empty() ? nullptr : &call.region;
  const Kernel *kernel = backend.find(site);
  if (!kernel) {
    return std::nullopt;
  }
  std::string error;
  int64_t bytes = kernel->query(site).workspaceBytes;
  auto prepared = kernel->prepare(site, error);
  EXPECT_TRUE(prepared) << error;
  Tensor result(call.result);
  void *to = result.data.data();
  std::vector<std::byte> storage(size_t(bytes) + 64, std::byte(0xff));
  auto *workspace =
      storage.data() + (-reinterpret_cast<uintptr_t>(storage.data()) & 63);
  dropUnread(*prepared, pointers);
  LaunchContext context{pointers, {&to, 1}, workspace, threads};
  EXPECT_TRUE(prepared->launch(context).isOk());
  return result;
}

static bool hasFormats(const Call &call) {
  return !call.result.format.empty() ||
         std::any_of(call.operands.begin(), call.operands.end(),
                     [](const Tensor &operand) {
                       return !operand.info.format.empty();
                     });
}

/// Draws `rounds` calls; how many of those with formats the backend `cpu` took.
template <typename DrawCall>
static int tryCalls(int rounds, Draw &draw, DrawCall drawCall) {
  int taken = 0;
  for (int round = 0; round < rounds; ++round) {
    Call plain = drawCall();
    std::string name = plain.op;
    for (const RegionPart &part : plain.region.parts) {
      name += " " + part.op;
    }
    SCOPED_TRACE(name + ", round " + std::to_string(round));
    std::optional<Tensor> expected = runBy(referenceBackend(), plain, 1);
    if (!expected) {
      ADD_FAILURE() << plain.op << ": not for the reference";
      continue;
    }
    // All as packed as can be, or some of it.
    Call call = plain;
    bool all = draw.below(3) != 0;
    for (Tensor &operand : call.operands) {
      bool isImage = operand.info.count() == plain.operands[0].info.count() &&
                     (plain.op != "nn.conv" || &operand == &call.operands[0]);
      if (operand.info.rank() >= 3 && (isImage || plain.op == "nn.concat") &&
          (all || draw.below(2))) {
        operand = turned(operand);
      }
    }
    if (call.result.rank() >= 3 && (all || draw.below(2))) {
      call.result.format = channelsLast;
    }
    for (const Backend *backend : {&referenceBackend(), &cpuBackend()}) {
      int threads = 1 + int(draw.below(2));
      auto known = unsigned(draw.below(2) ? draw.below(256) << 1 : 0);
      std::optional<Tensor> got = runBy(*backend, call, threads, known);
      if (!got) {
        EXPECT_EQ(backend, &cpuBackend());
        continue;
      }
      taken += backend == &cpuBackend() && hasFormats(call);
      got = call.result.format.empty() ? *got : turned(*got);
      std::vector<float> values = got->values<float>();
      std::vector<float> wanted = expected->values<float>();
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (!std::isfinite(wanted[i])) {
          EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(values[i])
                                            : values[i] == wanted[i])
              << call.op << " by " << backend->name() << " element " << i
              << " is " << values[i];
        } else {
          EXPECT_NEAR(values[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i])))
              << call.op << " by " << backend->name() << " element " << i;
        }
      }
    }
  }
  return taken;
}

TEST(Formats, elementwiseOperators) {
  Draw draw(1);
  EXPECT_GT(tryCalls(800, draw, [&] { return draw.elementwise(); }), 300);
}

TEST(Formats, operatorsThatNameDimensions) {
  Draw draw(2);
  EXPECT_GT(tryCalls(800, draw, [&] { return draw.structural(); }), 250);
}

TEST(Formats, convolutions) {
  Draw draw(3);
  EXPECT_GT(tryCalls(600, draw, [&] { return draw.convolution(); }), 250);
}

TEST(Formats, gradientsOfConvolutions) {
  Draw draw(7);
  EXPECT_GT(tryCalls(600, draw, [&] { return draw.convolutionGradient(); }),
            400);
}

TEST(Formats, regionsBehindConvolutions) {
  Draw draw(4);
  auto region = [&] {
    Call call = draw.convolution();
    draw.goOn(call);
    return call;
  };
  EXPECT_GT(tryCalls(1000, draw, region), 150);
}

TEST(Formats, elementwiseRegions) {
  Draw draw(5);
  auto region = [&] {
    Call call;
    do {
      call = draw.elementwise();
    } while (call.result.offset != Dims(call.result.rank(), 0) ||
             call.result.global != call.result.extents);
    draw.goOn(call);
    return call;
  };
  EXPECT_GT(tryCalls(600, draw, region), 100);
}

TEST(Formats, packing) {
  Draw draw(6);
  for (int round = 0; round < 100; ++round) {
    Tensor tensor = draw.tensor(draw.shape(3 + draw.below(3)));
    Call call{.op = std::string(packOp), .operands = {tensor}};
    call.result = tensor.info;
    call.result.format = channelsLast;
    EXPECT_EQ(runBy(referenceBackend(), call, 1)->data, turned(tensor).data);
    call.operands = {turned(tensor)};
    call.result.format.clear();
    EXPECT_EQ(runBy(referenceBackend(), call, 1)->data, tensor.data);
  }
}
