//===- SpacesFixture.cpp - Models with and without a device ---------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SpacesFixture.h"

#include "divisi/Artifact/Memory.h"
#include "divisi/runtime/comm/inproc/InprocCommunicator.h"
#include "divisi/runtime/kernels/OperatorKinds.h"
#include "divisi/runtime/tensors/TensorFile.h"
#include "passes/Lower/Passes.h"
#include "runtime/comm/QueuedShape.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <fstream>

using namespace divisi;
using namespace divisi::exec;

namespace {

using Devices = std::vector<std::shared_ptr<rt::SeededDevice>>;

/// Ranks of this process, whose devices meet when they come to a step.
class ReachingCommunicator : public rt::Communicator {
public:
  explicit ReachingCommunicator(std::unique_ptr<rt::Communicator> inner)
      : inner_(std::move(inner)) {}

  bool reaches(std::string_view space) const override {
    return space == rt::hostSpace || space == rt::TestDevice::name;
  }
  Expected<std::unique_ptr<rt::CommStep>> prepare(const rt::StepDesc &step,
                                                  size_t self) override {
    return inner_->prepare(step, self);
  }
  Expected<std::unique_ptr<rt::QueuedStep>>
  prepareQueued(const rt::StepDesc &step, size_t self,
                rt::Device &device) override {
    auto made = inner_->prepare(step, self);
    if (!made) {
      return made.status();
    }
    return std::unique_ptr<rt::QueuedStep>(std::make_unique<Step>(
        std::move(*made), static_cast<rt::TestDevice &>(device),
        rt::queuedBytes(step, self)));
  }
  void wait(std::span<rt::CommStep *const> steps) override {
    inner_->wait(steps);
  }
  void abort(const Status &reason) override { inner_->abort(reason); }
  void reset() override { inner_->reset(); }

private:
  /// The step of the host is started and polled by the device.
  struct Step : rt::QueuedStep {
    Step(std::unique_ptr<rt::CommStep> inner, rt::TestDevice &device,
         int64_t bytes)
        : inner(std::move(inner)), device(device), bytes(bytes) {}
    /// As is counted; it uses none.
    int64_t workspaceBytes() const override { return bytes; }
    Status put(rt::DeviceQueue &queue, const void *source,
               void *result) override {
      auto &own = static_cast<rt::TestQueue &>(queue);
      own.put([=, this] {
        status = inner->start(source ? device.find(source) : nullptr,
                              result ? device.find(result) : nullptr);
      });
      own.putUntil([this] {
        Expected<bool> isDone = status.isOk() ? inner->poll() : status;
        return !isDone || *isDone;
      });
      return {};
    }
    Status check(bool) override { return {}; }

    std::unique_ptr<rt::CommStep> inner;
    rt::TestDevice &device;
    int64_t bytes;
    Status status;
  };

  std::unique_ptr<rt::Communicator> inner_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

SpacesFixture::~SpacesFixture() {
  if (!folder_.empty()) {
    std::filesystem::remove_all(folder_);
  }
}

/// A program by hand, on a grid of so many devices, with weights of its own.
std::string SpacesFixture::writeProgram(const std::string &name,
                                        int64_t devices,
                                        CompileOptions &options) {
  std::ifstream file(DIVISI_PROGRAMS "/" + name + ".mlir");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  auto replace = [&](const std::string &from, const std::string &to) {
    if (size_t at = text.find(from); at != std::string::npos) {
      text.replace(at, from.size(), to);
    }
  };
  if (name == "train_step") {
    replace("(x = 4)", "(x = " + std::to_string(devices) + ")");
  } else if (name == "loop") {
    replace("8xf32> zero", "8xf32> from \"weights.bin\" [0, 256]");
  }
  if (text.find("weights.bin") != std::string::npos) {
    options.dataFiles = {folder_ + "/weights.bin"};
  }
  std::string path = folder_ + "/" + name + ".mlir";
  std::ofstream(path) << text;
  std::mt19937 random(3);
  std::vector<float> weights(1 << 19);
  for (float &weight : weights) {
    weight = float(random() % 2001) / 1000 - 1;
  }
  std::ofstream(folder_ + "/weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char *>(weights.data()),
             std::streamsize(weights.size() * sizeof(float)));
  return path;
}

/// One that was exported, with its batch.
void SpacesFixture::loadModel(const std::string &name,
                              CompileOptions &options) {
  std::string stem = DIVISI_MODELS "/" + name;
  path_ = stem + ".onnx";
  auto tensors = rt::readTensors(stem + ".inputs.npz", "input");
  ASSERT_TRUE(tensors) << tensors.status().message();
  for (const rt::GivenTensor &tensor : *tensors) {
    auto taken = tensor.take();
    ASSERT_TRUE(taken) << taken.status().message();
    given_.push_back(std::move(*taken));
    options.import.inputs[tensor.label.name] = {tensor.head.dims, std::nullopt};
  }
}

static rt::HostTensor makeInput(const rt::ValueInfo &info) {
  rt::HostTensor made = *rt::HostTensor::zeros(info.type, info.dims, info.name);
  std::mt19937 random(5);
  for (int64_t i = 0; i < made.count(); ++i) {
    if (info.type == rt::DType::F32) {
      made.as<float>()[i] = float(random() % 2001) / 1000 - 1;
    } else {
      made.as<int64_t>()[i] = 3;
    }
  }
  return made;
}

static void expectOk(const Status &status) {
  ASSERT_TRUE(status.isOk()) << status.message();
}

Compilation SpacesFixture::lower(DeviceTarget device) {
  CompileOptions options;
  options.report = false;
  options.device = device;
  options.dataFiles = {DIVISI_MODELS};
  Compilation compilation(std::move(options));
  expectOk(compilation.load(planned_));
  expectOk(compilation.advanceTo(Stage::Lower));
  return compilation;
}

std::string SpacesFixture::loweredText(DeviceTarget device) {
  Compilation compilation = lower(device);
  std::string text;
  llvm::raw_string_ostream(text) << compilation.module();
  return text;
}

void SpacesFixture::prepare(const SpacesCase &param) {
  folder_ = testing::TempDir() + "spaces_" + param.model + "_" +
            std::to_string(param.devices) + "_" + std::to_string(getpid());
  std::filesystem::create_directory(folder_);
  CompileOptions options;
  options.report = false;
  if (std::filesystem::exists(DIVISI_PROGRAMS "/" + param.model + ".mlir")) {
    path_ = writeProgram(param.model, param.devices, options);
  } else {
    options.plan.grid.devices = param.devices;
    loadModel(param.model, options);
  }
  options.fuse = param.fuses;
  if (param.seed != 0) {
    options.plan.solver = "random";
    options.plan.seed = param.seed;
  }
  programs_ = std::make_unique<Compilation>(std::move(options));
  expectOk(programs_->load(path_));
  expectOk(programs_->advanceTo(Stage::Schedule));
  planned_ = folder_ + "/planned.mlir";
  ASSERT_TRUE(programs_->writeModule(planned_));
  mlir::ModuleOp module = programs_->module();
  mlir::PassManager passes(module.getContext());
  passes.addPass(createLowerToExec());
  passes.addPass(createSplitKinds());
  ASSERT_TRUE(mlir::succeeded(passes.run(module)));
  module.walk([&](CallOp call) {
    auto entry = module.lookupSymbol<EntryOp>(
        call->getParentOfType<ProgramOp>().getEntry());
    if (!entry.getIsBody()) {
      all_.insert(call.getCallee().str());
    }
  });
  EXPECT_EQ(all_.contains("fused"), param.fuses);
  Compilation plain = lower({});
  auto artifact = plain.emitTemporary();
  ASSERT_TRUE(artifact) << artifact.status().message();
  rt::SessionOptions session;
  session.backends = {&rt::referenceBackend()};
  auto opened = rt::Session::open(artifact->path(), session);
  ASSERT_TRUE(opened) << opened.status().message();
  host_ = std::move(*opened);
  expected_ = run(*host_);
}

int64_t SpacesFixture::numUpdated() const {
  std::span<const rt::GlobalInfo> globals = host_->globals();
  return llvm::count_if(
      globals, [](const rt::GlobalInfo &global) { return global.isUpdated; });
}

int64_t SpacesFixture::numMeetings() {
  int64_t count = 0;
  programs_->module().walk(
      [&](InstructionInterface op) { count += op.getMeeting().has_value(); });
  return count;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// The elements in the other order: another input of the same kind.
static rt::HostTensor reversed(const rt::HostTensor &tensor) {
  rt::HostTensor made = *tensor.clone();
  int64_t width = tensor.count() == 0 ? 0 : tensor.byteSize() / tensor.count();
  for (int64_t i = 0; i < tensor.count(); ++i) {
    std::memcpy(made.data() + i * width,
                tensor.data() + (tensor.count() - 1 - i) * width, width);
  }
  return made;
}

/// Two runs, so that what the first has left may be seen by the second.
std::vector<SpacesFixture::Results> SpacesFixture::run(rt::Session &session) {
  const rt::EntryInfo &entry = session.entries()[0];
  std::vector<Results> all;
  for (bool isSecond : {false, true}) {
    std::vector<rt::HostTensor> inputs;
    for (const rt::ValueInfo &info : entry.inputs) {
      auto known = llvm::find_if(given_, [&](const rt::HostTensor &tensor) {
        return tensor.name() == info.name;
      });
      rt::HostTensor tensor = known == given_.end() ? makeInput(info) : *known;
      inputs.push_back(isSecond ? reversed(tensor) : tensor);
    }
    auto outputs = session.run(entry.name, inputs);
    EXPECT_TRUE(outputs) << outputs.status().message();
    all.push_back(outputs ? *outputs : Results());
    for (const rt::GlobalInfo &global : session.globals()) {
      if (global.isUpdated) {
        all.back().push_back(*session.readGlobal(global.value.name));
      }
    }
  }
  return all;
}

void SpacesFixture::expectCopies(rt::Session &session, const Names &ops,
                                 bool isReached, Counted &total) {
  const std::string &entry = session.entries()[0].name;
  Copies copies = session.spaceCopies(entry);
  for (const CopyCounter &counter :
       CopyCounter::ofEntry(programs_->module(), entry, ops, isReached)) {
    for (int64_t rank : counter.program().getRanks()) {
      auto [counted, bytes] = counter.run(rank);
      EXPECT_EQ(copies[rank].copies, counted.toDevice + counted.toHost);
      EXPECT_EQ(copies[rank].bytes, bytes);
      total.toDevice += counted.toDevice;
      total.toHost += counted.toHost;
    }
  }
}

/// Which backend does how many calls follows from the operators, but for those
/// that only move, which the host also does where it has the bytes. The host
/// tells of the parts of calls that it does instead, which `mayDiffer`.
static void expectCalls(rt::Session &session, const std::set<std::string> &ops,
                        bool mayDiffer) {
  for (const rt::KernelCalls &calls : session.kernelCalls()) {
    bool isThere = calls.backend == "test-device";
    bool isFree = mayDiffer || rt::isMovement(calls.op);
    EXPECT_TRUE(isThere == ops.contains(calls.op) || (!isThere && isFree))
        << calls.op << " by " << calls.backend;
  }
}

Counted SpacesFixture::expectSameBits(const Names &ops, uint32_t seed,
                                      bool isReached) {
  Counted total;
  rt::TestDeviceBackend backend(
      rt::referenceBackend(),
      [&](std::string_view op) { return ops.contains(std::string(op)); });
  auto all = [](rt::DType, std::optional<rt::ReduceKind>) { return true; };
  Compilation compilation = lower({&backend, isReached ? +all : nullptr});
  numCopiesThere_ = 0;
  compilation.module().walk([&](CopyOp copy) {
    numCopiesThere_ += copy.getSource().getType() == copy.getTarget().getType();
  });
  std::set<std::string> states;
  compilation.module().walk([&](NewGlobalOp global) {
    if (!global.getBuffer().getType().isOnHost()) {
      states.insert(global.getGlobal().str());
    }
  });
  numStatesThere_ = int64_t(states.size());
  auto artifact = compilation.emitTemporary();
  Devices devices;
  for (uint32_t rank = 0; rank < host_->numRanks(); ++rank) {
    devices.push_back(std::make_shared<rt::SeededDevice>(100 * seed + rank));
  }
  rt::SessionOptions options;
  options.backends = {&rt::referenceBackend(), &backend};
  options.timeout = std::chrono::seconds(10);
  options.device = [&](uint32_t rank, std::string_view space) {
    return Expected<std::shared_ptr<rt::Device>>(
        space == rt::TestDevice::name ? devices[rank] : nullptr);
  };
  if (isReached) {
    options.communicator = [](const rt::CommunicatorRequest &request) {
      return Expected<std::shared_ptr<rt::Communicator>>(
          std::make_shared<ReachingCommunicator>(
              rt::makeInprocCommunicator(request.timeout)));
    };
  }
  if (!artifact) {
    ADD_FAILURE() << artifact.status().message();
    return total;
  }
  auto session = rt::Session::open(artifact->path(), options);
  if (!session) {
    ADD_FAILURE() << session.status().message();
    return total;
  }
  std::vector<Results> got = run(**session);
  for (size_t i = 0; i < expected_.size(); ++i) {
    EXPECT_EQ(got[i].size(), expected_[i].size());
    for (size_t t = 0; t < std::min(got[i].size(), expected_[i].size()); ++t) {
      EXPECT_TRUE(
          std::ranges::equal(got[i][t].bytes(), expected_[i][t].bytes()))
          << "run " << i << ", tensor " << t << ", seed " << seed;
    }
  }
  expectCopies(**session, ops, isReached, total);
  bool hasBodies =
      llvm::any_of(programs_->module().getOps<EntryOp>(),
                   [](EntryOp entry) { return entry.getIsBody(); });
  expectCalls(**session, ops, hasBodies || all_.contains("fused"));
  auto predicted = predictMemory(compilation.module(), true, &backend);
  EXPECT_TRUE(predicted) << predicted.status().message();
  for (uint32_t rank = 0; predicted && rank < devices.size(); ++rank) {
    EXPECT_EQ((**session).memory()[rank].device, (*predicted)[rank].device);
    EXPECT_TRUE(devices[rank]->isPoisoned());
    numOvertaken_ += devices[rank]->numOvertaken;
  }
  EXPECT_EQ((**session).memory(), *(**session).predictedMemory());
  return total;
}
