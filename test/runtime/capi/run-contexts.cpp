//===- run-contexts.cpp - Many contexts by the C API ----------------------===//
//
// Part of the Divisi project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a build with assertions, uses handles that were freed, which are errors.
// Opens, runs and closes each artifact SESSIONS times, after which the process
// may hold no more memory, files and threads than before. Then runs contexts on
// threads, RUNS times each: of each artifact, of all, and while other threads
// cancel the runs. Whatever is not cancelled gives the bits of the first run.
//
// Sanitizers find more than this program itself, which needs them for nothing.
//
//===----------------------------------------------------------------------===//

#include "divisi-c/runtime.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <malloc.h>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

/// Of sanitizers, whose allocator mallinfo2 does not know.
extern "C" size_t __sanitizer_get_current_allocated_bytes()
    __attribute__((weak));

static const divisi_runtime_api &api =
    *divisi_runtime_get_api(DIVISI_RUNTIME_VERSION);
static constexpr int numThreads = 8;

[[noreturn]] static void fail(const std::string &message) {
  std::cerr << "error: " << message << "\n";
  std::_Exit(1); // other threads may be at work
}

/// Ends the program if a call has failed.
static void check(divisi_error *error) {
  if (error) {
    fail(std::string(api.errors.place(error)) + ": " +
         api.errors.message(error));
  }
}

namespace {

/// An input or output in memory of its own.
struct Value {
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  divisi_dtype dtype;

  explicit Value(const divisi_value_info &info)
      : shape(info.shape, info.shape + info.ndim), dtype(info.dtype) {
    size_t size = info.dtype.bits < 8 ? 1 : info.dtype.bits / 8;
    for (int64_t extent : shape) {
      size *= size_t(extent);
    }
    bytes.resize(size);
  }

  /// The API writes outputs only.
  divisi_tensor tensor() const {
    return {const_cast<std::byte *>(bytes.data()),
            {1, 0},
            int32_t(shape.size()),
            dtype,
            const_cast<int64_t *>(shape.data()),
            nullptr,
            0};
  }

  /// Floats from -1 to 1, and integers of 0 and 1, which are indices of
  /// everything.
  void draw(std::mt19937_64 &random) {
    bool isFloat = dtype.code == 2 && dtype.bits == 32;
    size_t width = isFloat ? sizeof(float) : dtype.bits / 8;
    for (size_t at = 0; at + width <= bytes.size(); at += width) {
      if (isFloat) {
        float value = std::uniform_real_distribution<float>(-1, 1)(random);
        std::memcpy(&bytes[at], &value, width);
      } else {
        bytes[at] = std::byte(random() % 2);
      }
    }
  }
};

/// An entry with inputs for it, and with what it makes of them.
struct Entry {
  std::string name;
  std::vector<Value> inputs, outputs;
};

/// An artifact that is open.
class Artifact {
public:
  explicit Artifact(const std::string &path) {
    check(api.artifact_open(path.c_str(), nullptr, &handle_));
  }
  ~Artifact() { api.artifact_free(handle_); }
  Artifact(const Artifact &) = delete;
  divisi_artifact *handle() const { return handle_; }

private:
  divisi_artifact *handle_ = nullptr;
};

/// A context, with the outputs of its last run.
class Context {
public:
  Context(const Artifact &artifact, const char *backends) {
    divisi_context_options options{};
    options.struct_size = sizeof(options);
    options.backends = backends;
    check(api.context_create(artifact.handle(), &options, &handle_));
  }
  ~Context() { api.context_free(handle_); }
  Context(const Context &) = delete;
  divisi_context *handle() const { return handle_; }

  /// Whether `entry` was run to its end, not cancelled; `outputs` is memory for
  /// what it makes.
  bool run(const Entry &entry, std::vector<Value> &outputs) const {
    std::vector<divisi_tensor> inputs, tensors;
    for (const Value &input : entry.inputs) {
      inputs.push_back(input.tensor());
    }
    for (Value &output : outputs) {
      std::fill(output.bytes.begin(), output.bytes.end(), std::byte(0xff));
      tensors.push_back(output.tensor());
    }
    divisi_error *error =
        api.run(handle_, entry.name.c_str(), inputs.data(), inputs.size(),
                tensors.data(), tensors.size());
    if (api.errors.code(error) == DIVISI_CANCELLED) {
      api.errors.free(error);
      return false;
    }
    check(error);
    return true;
  }

  /// Runs all of them; returns how many were cancelled.
  int64_t runAll(const std::vector<Entry> &entries) const {
    int64_t cancelled = 0;
    for (const Entry &entry : entries) {
      std::vector<Value> outputs = entry.outputs;
      if (!run(entry, outputs)) {
        ++cancelled;
        continue;
      }
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].bytes != entry.outputs[i].bytes) {
          fail("entry '" + entry.name + "': a run gives other bits");
        }
      }
    }
    return cancelled;
  }

private:
  divisi_context *handle_ = nullptr;
};

/// A file with an artifact, and what its entries make of which inputs.
struct Case {
  std::string path;
  std::vector<Entry> entries;
};

/// What a process holds.
struct Held {
  size_t bytes, files, threads;

  static size_t count(const char *folder) {
    size_t found = 0;
    for ([[maybe_unused]] const auto &entry :
         std::filesystem::directory_iterator(folder)) {
      ++found;
    }
    return found;
  }
  static Held now() {
    size_t bytes = __sanitizer_get_current_allocated_bytes
                       ? __sanitizer_get_current_allocated_bytes()
                       : mallinfo2().uordblks;
    // A thread that was joined is listed for a moment more.
    size_t threads = count("/proc/self/task");
    for (int i = 0; i < 20 && threads > 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      threads = std::min(threads, count("/proc/self/task"));
    }
    return {bytes, count("/proc/self/fd"), threads};
  }
};

} // namespace

static divisi_value_info emptyInfo() {
  divisi_value_info info{};
  info.struct_size = sizeof(info);
  return info;
}

/// Draws inputs for the entries, and runs each once.
static Case makeCase(const std::string &path, const char *backends) {
  Case made{path, {}};
  Artifact artifact(path);
  Context context(artifact, backends);
  std::mt19937_64 random(0);
  size_t count = 0;
  check(api.artifact_num_entries(artifact.handle(), &count));
  for (size_t index = 0; index < count; ++index) {
    const char *name = nullptr;
    size_t numInputs = 0, numOutputs = 0;
    check(api.artifact_entry(artifact.handle(), index, &name, &numInputs,
                             &numOutputs));
    Entry entry{name, {}, {}};
    divisi_value_info info = emptyInfo();
    for (size_t i = 0; i < numInputs; ++i) {
      check(api.artifact_input(artifact.handle(), index, i, &info));
      entry.inputs.emplace_back(info).draw(random);
    }
    for (size_t i = 0; i < numOutputs; ++i) {
      check(api.artifact_output(artifact.handle(), index, i, &info));
      entry.outputs.emplace_back(info);
    }
    context.run(entry, entry.outputs);
    made.entries.push_back(std::move(entry));
  }
  return made;
}

/// Does so `sessions` times, and compares what the process holds.
static void openAndClose(const Case &each, const char *backends, int sessions) {
  auto once = [&] {
    Artifact artifact(each.path);
    Context context(artifact, backends);
    context.runAll(each.entries);
  };
  // Until allocators and libraries have what they keep.
  for (int i = 0; i < std::min(sessions, 20); ++i) {
    once();
  }
  Held before = Held::now();
  for (int i = 0; i < sessions; ++i) {
    once();
  }
  Held after = Held::now();
  std::string grown =
      each.path + ": " + std::to_string(sessions) + " sessions: bytes " +
      std::to_string(before.bytes) + " to " + std::to_string(after.bytes) +
      ", files " + std::to_string(before.files) + " to " +
      std::to_string(after.files) + ", threads " +
      std::to_string(before.threads) + " to " + std::to_string(after.threads);
  constexpr size_t slack = 64 << 10;
  if (after.bytes > before.bytes + slack || after.files > before.files ||
      after.threads > before.threads) {
    fail(grown);
  }
  std::cout << grown << "\n";
}

/// Opens contexts on threads, one each, of the artifacts by turns, and runs
/// them; returns how many runs were cancelled, which others do if `cancels`.
static int64_t runAtOnce(const std::vector<const Case *> &cases,
                         const char *backends, int runs, bool cancels) {
  std::vector<std::unique_ptr<Artifact>> artifacts;
  for (const Case *each : cases) {
    artifacts.push_back(std::make_unique<Artifact>(each->path));
  }
  std::atomic<int64_t> cancelled = 0;
  auto work = [&](size_t thread) {
    const Case &own = *cases[thread % cases.size()];
    Context context(*artifacts[thread % cases.size()], backends);
    auto begin = std::chrono::steady_clock::now();
    context.runAll(own.entries);
    auto took = std::chrono::steady_clock::now() - begin;
    std::atomic<bool> done = false;
    std::thread other;
    if (cancels) {
      other = std::thread([&, thread] {
        std::mt19937_64 random(thread);
        while (!done) {
          std::this_thread::sleep_for(took * double(random() % 128) / 64);
          check(api.cancel(context.handle()));
        }
      });
    }
    for (int i = 0; i < runs; ++i) {
      cancelled += context.runAll(own.entries);
    }
    done = true;
    if (other.joinable()) {
      other.join();
    }
    if (context.runAll(own.entries) != 0) {
      fail(own.path + ": a run was cancelled by nobody");
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < numThreads; ++i) {
    threads.emplace_back(work, i);
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  return cancelled;
}

#ifndef NDEBUG
/// Expects an error that says which handle is none any more.
static void checkRefused(divisi_error *error, const std::string &name) {
  std::string message = api.errors.message(error);
  if (api.errors.code(error) != DIVISI_USAGE ||
      message != name + " was freed, or never made") {
    fail("a call with a handle that was freed: " + message);
  }
  api.errors.free(error);
}

/// Calls what takes handles with some that were freed, and frees them again.
static void useFreedHandles(const std::string &path, const char *backends) {
  divisi_artifact *artifact = nullptr;
  divisi_context *context = nullptr, *none = nullptr;
  check(api.artifact_open(path.c_str(), nullptr, &artifact));
  divisi_context_options options{};
  options.struct_size = sizeof(options);
  options.backends = backends;
  check(api.context_create(artifact, &options, &context));
  api.artifact_free(artifact);
  const char *text = nullptr;
  uint32_t count = 0;
  divisi_value_info info = emptyInfo();
  checkRefused(api.artifact_hash(artifact, &text), "artifact");
  checkRefused(api.artifact_num_ranks(artifact, &count), "artifact");
  checkRefused(api.artifact_input(artifact, 0, 0, &info), "artifact");
  checkRefused(api.context_create(artifact, &options, &none), "artifact");
  api.artifact_free(artifact);
  check(api.describe(context, &text)); // which keeps what it needs
  api.context_free(context);
  divisi_memory_info memory{};
  memory.struct_size = sizeof(memory);
  checkRefused(api.run(context, nullptr, nullptr, 0, nullptr, 0), "context");
  checkRefused(api.cancel(context), "context");
  checkRefused(api.memory(context, 0, &memory), "context");
  checkRefused(api.reset_state(context), "context");
  checkRefused(api.describe(context, &text), "context");
  checkRefused(api.write_trace(context, "trace.json"), "context");
  api.context_free(context);
}
#endif

int main(int argc, char **argv) {
  if (argc < 5) {
    std::cerr << "usage: run-contexts BACKENDS SESSIONS RUNS ARTIFACT…\n";
    return 2;
  }
  const char *backends = argv[1];
  int sessions = std::atoi(argv[2]), runs = std::atoi(argv[3]);
  std::vector<Case> cases;
  for (int i = 4; i < argc; ++i) {
    cases.push_back(makeCase(argv[i], backends));
  }
#ifndef NDEBUG
  useFreedHandles(cases.front().path, backends);
#endif
  std::vector<const Case *> all;
  for (const Case &each : cases) {
    openAndClose(each, backends, sessions);
    all.push_back(&each);
  }
  int64_t cancelled = 0;
  for (const Case *each : all) {
    runAtOnce({each}, backends, runs, /*cancels=*/false);
    cancelled += runAtOnce({each}, backends, runs, /*cancels=*/true);
  }
  runAtOnce(all, backends, runs, /*cancels=*/false);
  cancelled += runAtOnce(all, backends, runs, /*cancels=*/true);
  if (runs > 0 && cancelled == 0) {
    fail("no run was cancelled");
  }
  std::cout << numThreads << " threads of " << runs << " runs, on each of "
            << all.size() << " artifacts and on all: equal bits; " << cancelled
            << " runs cancelled\n";
}
