//===- CudaConformanceTest.cpp - GPUs compute what the reference does -----===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The calls that all backends are tried on (ConformanceCases.h), on a GPU that
// is not there: whole, on boxes, on parts of what is summed, and with NaN. What
// a GPU has no kernel for is counted, and docs/gpu.md has a table of it.
//
//===----------------------------------------------------------------------===//

#include "divisi/Codegen/GridKernels.h"
#include "divisi/runtime/kernels/Element.h"
#include "test/Sample.h"
#include "test/emulator/CudaCalls.h"
#include "test/emulator/KernelTarget.h"
#include "test/runtime/backends/cpu/ConformanceRun.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

using namespace divisi;
using namespace divisi::rt;
using namespace divisi::test;
using rt::test::Case;
using rt::test::Subject;
using rt::test::Tensor;

static const Subject reference{"reference", referenceBackend, 1};

/// Larger cases are for threads, which the emulator has one of.
static std::vector<Case> casesOfGpus() {
  std::vector<Case> cases = rt::test::conformanceCases();
  std::erase_if(cases, [](const Case &test) {
    auto isField = [](const TensorInfo &info) {
      return info.type == DType::Field;
    };
    int64_t most = test.result.count();
    for (const TensorInfo &operand : test.operands) {
      most = std::max(most, operand.count());
    }
    return most > 4000 || isField(test.result) ||
           std::ranges::any_of(test.operands, isField);
  });
  return cases;
}

static GpuCall callOf(const Case &test, const std::vector<TensorInfo> &boxes,
                      const TensorInfo &result) {
  GpuCall call;
  call.op = test.op;
  call.attributes = test.attributes;
  call.operands = boxes;
  call.results = {result};
  return call;
}

namespace {

/// Runs calls, and counts them.
class Conformance {
public:
  /// One call on boxes; what it makes is compared with the reference's. False
  /// if there is no kernel for it.
  bool run(const Case &test, const std::vector<TensorInfo> &boxes,
           const TensorInfo &result, const std::vector<Tensor> &wholes);
  void runBoxes(const Case &test, const std::vector<Tensor> &wholes);
  void runPartials(const Case &test, const std::vector<Tensor> &wholes);
  void runNaN(const Case &test, std::vector<Tensor> wholes);

  int calls = 0;

private:
  CudaFixture gpu_;
};

} // namespace

bool Conformance::run(const Case &test, const std::vector<TensorInfo> &boxes,
                      const TensorInfo &result,
                      const std::vector<Tensor> &wholes) {
  GpuCall call = callOf(test, boxes, result);
  std::vector<Bytes> values;
  for (size_t i = 0; i < boxes.size(); ++i) {
    values.push_back(rt::test::cut(wholes[i], boxes[i]).data);
  }
  std::optional<Bytes> made = runOnGpu(gpu_, call, values);
  if (!made) {
    return false;
  }
  ++calls;
  Tensor got(result), expected(result);
  got.data = *made;
  expected.data = evaluateCall(call, values);
  rt::test::expectSame(got, expected);
  return true;
}

/// Both ends of each dimension, which are not equally long.
void Conformance::runBoxes(const Case &test,
                           const std::vector<Tensor> &wholes) {
  for (size_t d = 0; d < test.result.rank(); ++d) {
    int64_t extent = test.result.global[d], cut = (extent + 1) / 3;
    for (auto [begin, end] :
         {std::pair<int64_t, int64_t>{0, cut}, {cut, extent}}) {
      TensorInfo box = test.result;
      box.offset[d] = begin;
      box.extents[d] = end - begin;
      if (box.count() == 0 ||
          !rt::test::canPrepare(reference, test, test.operands, box)) {
        continue;
      }
      SCOPED_TRACE("dimension " + std::to_string(d) + " from " +
                   std::to_string(begin));
      run(test, rt::test::trimOperands(reference, test, box), box, wholes);
    }
  }
}

/// Unequal parts, one of them empty.
void Conformance::runPartials(const Case &test,
                              const std::vector<Tensor> &wholes) {
  for (auto [begin, end] :
       {std::pair<int64_t, int64_t>{0, 1}, {1, 1}, {1, 0}}) {
    std::vector<TensorInfo> boxes = test.operands;
    for (auto [operand, d] : test.partial) {
      int64_t last = end ? end : boxes[operand].global[d];
      boxes[operand].offset[d] = begin;
      boxes[operand].extents[d] = last - begin;
    }
    SCOPED_TRACE("part from " + std::to_string(begin));
    run(test, boxes, test.result, wholes);
  }
}

void Conformance::runNaN(const Case &test, std::vector<Tensor> wholes) {
  dispatch<Floats>(wholes[0].info.type, [&](auto zero) {
    using T = decltype(zero);
    reinterpret_cast<T *>(wholes[0].data.data())[0] = T(float(NAN));
  });
  SCOPED_TRACE("with NaN");
  run(test, test.operands, test.result, wholes);
}

/// The numbers of the cases that run: a quarter, or all in a sweep, and of each
/// operator with each type of its first operand and result the first one.
static std::vector<size_t> casesThatRun(const std::vector<Case> &cases) {
  std::vector<size_t> drawn =
      sampleOf(cases.size(), "cases of GPUs", cases.size() / 4);
  std::set<size_t> taken(drawn.begin(), drawn.end());
  std::set<std::tuple<std::string, DType, DType>> known;
  for (size_t number = 0; number < cases.size(); ++number) {
    const Case &test = cases[number];
    DType type = test.result.type;
    DType first = test.operands.empty() ? type : test.operands.front().type;
    if (known.emplace(test.op, first, type).second) {
      taken.insert(number);
    }
  }
  return {taken.begin(), taken.end()};
}

TEST(CudaConformance, ComputesWhatTheReferenceDoes) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  Conformance conformance;
  int done = 0, left = 0;
  const std::vector<Case> cases = casesOfGpus();
  std::vector<bool> isSplit(cases.size());
  for (size_t number : sampleOf(cases.size(), "boxes of GPUs")) {
    isSplit[number] = true;
  }
  // These run whole, and a share of them in parts, too.
  for (size_t number : casesThatRun(cases)) {
    const Case &test = cases[number];
    SCOPED_TRACE(test.name);
    std::vector<Tensor> wholes = rt::test::randomOperands(test);
    bool isEmpty = test.result.count() == 0;
    if (isEmpty || !conformance.run(test, test.operands, test.result, wholes)) {
      left += !isEmpty;
      continue;
    }
    ++done;
    if (!isSplit[number]) {
      continue;
    }
    conformance.runBoxes(test, wholes);
    if (!test.partial.empty()) {
      conformance.runPartials(test, wholes);
    }
    if (!wholes.empty() && isFloatType(wholes[0].info.type) &&
        !isStoredType(wholes[0].info.type)) {
      conformance.runNaN(test, wholes);
    }
  }
  std::printf("counted: conformance of GPUs: %d cases, %d calls; %d cases are "
              "left to the host\n",
              done, conformance.calls, left);
  EXPECT_GT(done, left);
}

//===----------------------------------------------------------------------===//
// Functions of any number
//===----------------------------------------------------------------------===//

/// Numbers of all exponents, those around which functions change, and what is
/// none.
template <typename T> static std::vector<T> anyNumbers(Random &random) {
  std::vector<T> numbers;
  for (double value : {0.0,        1e-310,
                       1e-40,      1e-9,
                       0.25,       0.39,
                       0.41,       0.4142136,
                       0.5,        1.0,
                       1.5707963,  2.0,
                       3.0,        5.5,
                       20.5,       88.8,
                       89.5,       709.9,
                       745.5,      1048575.5,
                       1048577.0,  1e10,
                       1e22,       1e37,
                       1e300,      double(INFINITY),
                       double(NAN)}) {
    numbers.push_back(T(value));
    numbers.push_back(T(-value));
  }
  while (numbers.size() < 400) {
    double fraction = double(int64_t(random()) - (int64_t(1) << 31)) * 0x1p-31;
    numbers.push_back(T(std::ldexp(fraction, int(random() % 160) - 60)));
  }
  return numbers;
}

/// By how many units in the last place the two differ, in the scale of f32 or
/// f64; none where neither is a number.
template <typename T> static double ulpsBetween(T a, T b) {
  if (a == b || (a != a && b != b)) {
    return 0;
  }
  double unit =
      double(std::nextafter(std::fabs(b), T(INFINITY))) - double(std::fabs(b));
  return std::fabs(double(a) - double(b)) / std::max(unit, 1e-323);
}

/// The most that GPUs are off. Powers are exponentials of logarithms, which
/// f64 has no more bits for.
template <typename T>
static void expectNear(const char *op, size_t operands, Attributes attributes,
                       double most, CudaFixture &gpu) {
  Random random(3);
  DType type = typeOf<T>();
  std::vector<T> numbers = anyNumbers<T>(random);
  auto count = int64_t(numbers.size());
  GpuCall call;
  call.op = op;
  call.attributes = std::move(attributes);
  call.operands.assign(operands, TensorInfo::whole(type, {count}));
  call.results = {call.operands[0]};
  std::vector<Bytes> values;
  for (size_t i = 0; i < operands; ++i) {
    Bytes bytes(size_t(count) * sizeof(T));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    values.push_back(std::move(bytes));
    std::shuffle(numbers.begin(), numbers.end(), random);
  }
  std::optional<Bytes> made = runOnGpu(gpu, call, values);
  ASSERT_TRUE(made) << op;
  Bytes expected = evaluateCall(call, values);
  auto at = [](const Bytes &bytes, int64_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * int64_t(sizeof(T)), sizeof(T));
    return value;
  };
  for (int64_t i = 0; i < count; ++i) {
    T got = at(*made, i), wanted = at(expected, i);
    ASSERT_LE(ulpsBetween(got, wanted), most)
        << op << " of " << at(values[0], i) << ", " << at(values.back(), i)
        << ": got " << got << ", expected " << wanted;
  }
}

TEST(CudaConformance, FunctionsTakeAnyNumber) {
  if (kernelTarget().empty()) {
    GTEST_SKIP() << "no code is made for this processor";
  }
  CudaFixture gpu;
  for (const char *op :
       {"nn.exp", "nn.log", "nn.erf", "nn.tanh", "nn.sin", "nn.cos", "nn.tan",
        "nn.asin", "nn.acos", "nn.atan", "nn.sinh", "nn.cosh", "nn.asinh",
        "nn.acosh", "nn.atanh"}) {
    expectNear<double>(op, 1, {}, 64, gpu);
  }
  for (const char *op :
       {"nn.sin", "nn.cos", "nn.tan", "nn.asin", "nn.acos", "nn.atan",
        "nn.sinh", "nn.cosh", "nn.asinh", "nn.acosh", "nn.atanh"}) {
    expectNear<float>(op, 1, {}, 1, gpu);
  }
  expectNear<double>("nn.pow", 2, {}, 4096, gpu);
  expectNear<float>("nn.pow", 2, {}, 1, gpu);
  for (int64_t fmod : {0, 1}) {
    expectNear<double>("nn.mod", 2, {{"fmod", fmod}}, 0, gpu);
    expectNear<float>("nn.mod", 2, {{"fmod", fmod}}, 0, gpu);
  }
}

#ifdef DIVISI_GPU_PAGE

/// Whether a GPU has a kernel, of the compiler's or of a library.
static bool hasKernel(const Case &test) {
  GpuCall call = callOf(test, test.operands, test.result);
  return generatesGridKernel(call.site()) ||
         cudaBackend(false).find(call.site(), 1) != nullptr;
}

/// Per operator, the types of the first operand (or the result, if there is
/// none) that GPUs have kernels for, and those that they do not, or not always.
static std::string makeTable() {
  std::map<std::string, std::map<DType, std::set<bool>>> operators;
  for (const Case &test : casesOfGpus()) {
    DType type =
        test.operands.empty() ? test.result.type : test.operands.front().type;
    operators[test.op.substr(3)][type].insert(hasKernel(test));
  }
  std::string table = "| operator | on GPUs | in part | with the host |\n"
                      "|---|---|---|---|\n";
  for (const auto &[op, types] : operators) {
    std::string columns[3];
    for (const auto &[type, answers] : types) {
      size_t column = answers.size() > 1 ? 1 : *answers.begin() ? 0 : 2;
      columns[column] += " " + std::string(stringify(type));
    }
    table += "| " + op + " |";
    for (const std::string &column : columns) {
      table += column + " |";
    }
    table += "\n";
  }
  return table;
}

TEST(CudaConformance, IsWhatThePageSays) {
  std::stringstream page;
  page << std::ifstream(DIVISI_GPU_PAGE).rdbuf();
  std::string begin = "<!-- operators: begin -->\n";
  size_t from = page.str().find(begin) + begin.size();
  size_t to = page.str().find("<!-- operators: end -->");
  ASSERT_LE(from, to);
  EXPECT_EQ(page.str().substr(from, to - from), makeTable());
}

#endif
