//===- ConformanceOrder.cpp - Cases that order, accumulate or scatter -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/runtime/backends/cpu/ConformanceCases.h"

namespace divisi::rt::test {

using S = std::string;

void addOrder(std::vector<Case> &cases) {
  Dims dims{3, 9, 4};
  for (int64_t flag : {0, 1}) {
    S on = flag ? "On" : "Off";
    cases.push_back({"arg_reduceMax" + on,
                     "nn.arg_reduce",
                     {{"axis", int64_t(1)}, {"kind", S("max")}, {"last", flag}},
                     {f32(dims)},
                     i64({3, 4})});
    cases.push_back({"arg_reduceMin" + on,
                     "nn.arg_reduce",
                     {{"axis", int64_t(1)}, {"kind", S("min")}, {"last", flag}},
                     {i32(dims)},
                     i64({3, 4})});
    cases.push_back(
        {"top_k" + on,
         "nn.top_k",
         {{"axis", int64_t(1)}, {"k", int64_t(5)}, {"largest", flag}},
         {f32(dims)},
         i64({3, 5, 4})});
    for (const char *kind : {"sum", "prod"}) {
      cases.push_back({S("cumulate_") + kind + on,
                       "nn.cumulate",
                       {{"axis", int64_t(1)},
                        {"kind", S(kind)},
                        {"exclusive", flag},
                        {"reverse", 1 - flag}},
                       {f32(dims)},
                       f32(dims)});
    }
  }
  Case insert{"insert",
              "nn.insert",
              {{"axis", int64_t(1)}},
              {f32({3, 9, 4}), f32({3, 2, 4}), i64({})},
              f32({3, 9, 4})};
  insert.low = -8;
  insert.high = 8;
  insert.indexed = 8; // places
  cases.push_back(insert);
  for (const char *kind : {"set", "add", "mul", "max", "min"}) {
    Case test{S("scatter_") + kind,
              "nn.scatter",
              {{"batch_dims", int64_t(1)}, {"kind", S(kind)}},
              {f32({3, 9, 4}), i64({3, 2, 5}), f32({3, 2, 5, 4})},
              f32({3, 9, 4})};
    test.low = -9;
    test.high = 9;
    test.indexed = 9;
    cases.push_back(test);
  }
}

} // namespace divisi::rt::test
