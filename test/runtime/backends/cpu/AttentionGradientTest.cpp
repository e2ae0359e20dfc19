//===- AttentionGradientTest.cpp - Calls of one attention, drawn ----------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes/Lower/JoinAttention.cpp makes: an attention with the logarithm of
// its sums, and its gradients. The kernels of the backend `cpu` go through
// blocks; the reference has all that a query attends at once.
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/FusedCalls.h"

#include <cmath>
#include <numeric>
#include <random>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::rt::test;

namespace {

/// One attention, and what is given to its gradients.
struct Drawn {
  FusedCall forward, gradients;
};

/// Draws them, of several blocks or less than one.
class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int64_t below(int64_t end) {
    return std::uniform_int_distribution<int64_t>(0, end - 1)(random_);
  }

  Drawn draw() {
    int64_t batches = 1 + below(2), keyHeads = 1 + below(3);
    int64_t heads = keyHeads * (1 + below(3)), depth = 1 + below(20);
    int64_t queries = 1 + below(below(3) == 0 ? 150 : 20);
    int64_t keys = 1 + below(below(3) == 0 ? 700 : 40);
    int64_t features = 1 + below(20);
    Attributes attributes{{"scale", 1 / std::sqrt(double(depth))},
                          {"softcap", below(4) == 0 ? 1.5 : 0.0},
                          {"left", below(4) == 0 ? below(keys) : -1},
                          {"right", below(2) == 0 ? below(keys) : -1},
                          {"offset", below(keys) - below(9)}};
    Drawn drawn;
    Tensor q = numbers({batches, heads, queries, depth});
    Tensor k = numbers({batches, keyHeads, keys, depth});
    Tensor v = numbers({batches, keyHeads, keys, features});
    TensorInfo y = whole({batches, heads, queries, features});
    TensorInfo rows = whole({batches, heads, queries});
    std::vector<Tensor> masks;
    if (below(2) == 0) {
      masks.push_back(flags({1, 1, below(2) == 0 ? 1 : queries, keys}));
    }
    drawn.forward.operands = {q, k, v};
    append(drawn.forward.operands, masks);
    int last = 3 + int(masks.size());
    std::vector<int> all(size_t(last), 0), some { 0, 1 };
    std::iota(all.begin(), all.end(), 0);
    some.insert(some.end(), all.begin() + 3, all.end());
    drawn.forward.region.parts = {
        {"nn.attention", 1, attributes, all, {y}},
        {"nn.attention_lse", 1, attributes, some, {rows}}};
    drawn.forward.region.results = {last, last + 1};
    std::vector<Tensor> made =
        expectedOf(drawn.forward, {&cpuBackend(), {&referenceBackend()}, 1});
    drawn.gradients.operands = {
        q, k, v, numbers(y.global), made[1], numbers(rows.global)};
    append(drawn.gradients.operands, masks);
    addGradients(drawn.gradients, attributes, {q.info, k.info, v.info});
    return drawn;
  }

private:
  /// By all three, or some.
  void addGradients(FusedCall &call, Attributes attributes,
                    const std::vector<TensorInfo> &results) {
    std::vector<int> all(call.operands.size());
    std::iota(all.begin(), all.end(), 0);
    size_t left = below(3) == 0 ? size_t(below(3)) : 3;
    for (size_t of = 0; of < 3; ++of) {
      if (of != left) {
        attributes.set("of", std::string(1, "qkv"[of]));
        call.region.results.push_back(
            int(all.size() + call.region.parts.size()));
        call.region.parts.push_back(
            {"nn.attention_gradient", 1, attributes, all, {results[of]}});
      }
    }
  }

  static TensorInfo whole(Dims dims) {
    return TensorInfo::whole(DType::F32, std::move(dims));
  }

  static void append(std::vector<Tensor> &to, const std::vector<Tensor> &from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  Tensor numbers(const Dims &dims) {
    std::vector<float> values(static_cast<size_t>(numElements(dims)));
    for (float &value : values) {
      value = std::uniform_real_distribution<float>(-1, 1)(random_);
    }
    return make<float>(dims, values);
  }

  Tensor flags(const Dims &dims) {
    std::vector<uint8_t> values(static_cast<size_t>(numElements(dims)));
    for (uint8_t &value : values) {
      value = below(4) != 0;
    }
    Tensor made = make<uint8_t>(dims, values);
    made.info.type = DType::Bool;
    return made;
  }

  std::mt19937 random_;
};

} // namespace

/// Compares a call with its parts by the reference, and teams with each other.
static void compare(const FusedCall &call, const std::string &name) {
  SCOPED_TRACE(name);
  std::vector<Tensor> expected =
      expectedOf(call, {&cpuBackend(), {&referenceBackend()}, 1});
  std::vector<TensorInfo> from = call.operandInfos(), to = call.resultInfos();
  std::vector<Tensor> first;
  for (int threads : {1, 2, 5}) {
    CallSite site{fusedOp, call.none, from, to};
    site.threads = threads;
    site.region = &call.region;
    const Kernel *kernel = cpuBackend().find(site);
    ASSERT_TRUE(kernel && !kernel->library.empty());
    std::vector<Tensor> found = runFused(call, site, *kernel, std::nullopt);
    for (size_t i = 0; i < found.size() && !first.empty(); ++i) {
      EXPECT_EQ(found[i].data, first[i].data) << "threads " << threads;
    }
    first = std::move(found);
  }
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<float> got = first[i].values<float>();
    std::vector<float> wanted = expected[i].values<float>();
    for (size_t e = 0; e < got.size(); ++e) {
      ASSERT_TRUE(got[e] == wanted[e] || std::fabs(got[e] - wanted[e]) <=
                                             2e-4 * (1 + std::fabs(wanted[e])))
          << "element " << e << " of result " << i << ": " << got[e]
          << ", expected " << wanted[e];
    }
  }
}

TEST(AttentionGradientTest, callsAreTheirPartsWithAnyTeam) {
  Draw draw(5);
  for (int round = 0; round < 100; ++round) {
    Drawn drawn = draw.draw();
    compare(drawn.forward, "attention " + std::to_string(round));
    compare(drawn.gradients, "gradients " + std::to_string(round));
  }
}

// What is of two attentions is no call of one.
TEST(AttentionGradientTest, differentAttentionsStayApart) {
  FusedCall call = Draw(6).draw().gradients;
  call.region.parts.back().attributes.set("offset", int64_t(1000));
  std::vector<TensorInfo> from = call.operandInfos(), to = call.resultInfos();
  CallSite site{fusedOp, call.none, from, to};
  site.region = &call.region;
  const Kernel *kernel = cpuBackend().find(site);
  EXPECT_TRUE(!kernel || kernel->library.empty());
}
