//===- RegionCall.cpp - A call with a region, as data ---------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Codegen/RegionCall.h"
#include "divisi/runtime/kernels/Storage.h"
#include "runtime/kernels/Formats.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

using namespace divisi;
using namespace divisi::test;
using rt::DType;

RegionCall RegionCall::of(const rt::CallSite &site) {
  return {*site.region,
          {site.operands.begin(), site.operands.end()},
          {site.results.begin(), site.results.end()},
          {}};
}

rt::CallSite RegionCall::site(int threads) const {
  rt::CallSite site{rt::fusedOp, none, operands, results};
  site.threads = threads;
  site.region = &region;
  return site;
}

static std::string describeInfo(const rt::TensorInfo &info) {
  std::string text(rt::stringify(info.type));
  for (size_t d = 0; d < info.rank(); ++d) {
    text += (d == 0 ? " [" : ", ") + std::to_string(info.offset[d]) + "+" +
            std::to_string(info.extents[d]) + "/" +
            std::to_string(info.global[d]);
  }
  return text + (info.rank() == 0 ? "" : "] ") + info.format;
}

std::string RegionCall::describe() const {
  std::string text;
  for (const rt::TensorInfo &operand : operands) {
    text += describeInfo(operand) + "\n";
  }
  for (const rt::RegionPart &part : region.parts) {
    text += part.op;
    for (int operand : part.operands) {
      text += " %" + std::to_string(operand);
    }
    text += " -> " + describeInfo(part.results[0]) + "\n";
  }
  return text;
}

bool RegionCall::mixesFloats() const {
  std::vector<DType> types;
  auto note = [&](const std::vector<rt::TensorInfo> &infos) {
    for (const rt::TensorInfo &info : infos) {
      if (rt::isFloatType(info.type)) {
        types.push_back(info.type);
      }
    }
  };
  note(operands);
  for (const rt::RegionPart &part : region.parts) {
    note(part.results);
  }
  return std::adjacent_find(types.begin(), types.end(),
                            std::not_equal_to<>()) != types.end();
}

RegionCall RegionCall::onFloats(DType type) const {
  RegionCall call = *this;
  auto convert = [&](std::vector<rt::TensorInfo> &infos) {
    for (rt::TensorInfo &info : infos) {
      info.type = rt::isFloatType(info.type) ? type : info.type;
    }
  };
  convert(call.operands);
  convert(call.results);
  for (rt::RegionPart &part : call.region.parts) {
    convert(part.results);
  }
  return call;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Calls body(where an element lies, its row-major number), in that order.
template <typename Body>
static void forEachElement(const rt::TensorInfo &info, Body &&body) {
  rt::Dims strides = rt::stridesOf(info), index(info.rank());
  for (int64_t i = 0, count = info.count(), at = 0; i < count; ++i) {
    body(at, i);
    for (size_t d = info.rank(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < info.extents[d]) {
        break;
      }
      at -= strides[d] * info.extents[d];
      index[d] = 0;
    }
  }
}

/// Calls body(element) with an element of the type, which code works on.
template <typename Body> static void withType(DType type, Body &&body) {
  switch (type) {
  case DType::F64:
    return body(double());
  case DType::F32:
    return body(float());
  case DType::F16:
    return body(rt::Half());
  case DType::BF16:
    return body(rt::BFloat());
  case DType::I8:
    return body(int8_t());
  case DType::U8:
    return body(uint8_t());
  case DType::I32:
    return body(int32_t());
  case DType::Bool:
    return body(rt::Flag());
  default:
    std::fprintf(stderr, "a region has elements of %s\n",
                 std::string(rt::stringify(type)).c_str());
    std::exit(1);
  }
}

std::vector<std::byte> divisi::test::storedFrom(
    const rt::TensorInfo &info, const std::vector<double> &numbers) {
  std::vector<std::byte> bytes(info.bytes());
  withType(info.type, [&](auto zero) {
    using T = decltype(zero);
    forEachElement(info, [&](int64_t at, int64_t number) {
      T element;
      if constexpr (std::is_same_v<T, rt::Flag>) {
        element = T(numbers[number] != 0);
      } else {
        element = T(numbers[number]);
      }
      std::memcpy(bytes.data() + at * sizeof(T), &element, sizeof(T));
    });
  });
  return bytes;
}

std::vector<double> divisi::test::numbersFrom(const rt::TensorInfo &info,
                                              const std::byte *stored) {
  std::vector<double> numbers(info.count());
  withType(info.type, [&](auto element) {
    forEachElement(info, [&](int64_t at, int64_t number) {
      std::memcpy(&element, stored + at * sizeof(element), sizeof(element));
      if constexpr (std::is_same_v<decltype(element), rt::Flag>) {
        numbers[number] = element.byte; // 0 or 1, and nothing else
      } else {
        numbers[number] = double(element);
      }
    });
  });
  return numbers;
}
