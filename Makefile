# Everything a person types. PRESET is one of the presets in CMakePresets.json.
PRESET ?= release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
READERS ?= Clusters Hosts Manifests Models Modules Problems Rules Tensors
export PEERS ?=

# One build tree a preset; CMakePresets.json names them alike.
BUILD = $(if $(filter release,$(PRESET)),build,build-$(PRESET))
FORMATTED = git ls-files '*.h' '*.hpp' '*.cpp'

.PHONY: setup build divisi install wheel demo test test-gpu sweep prove faults \
  node-suite races leaks fuzz format models
.DEFAULT_GOAL := build

setup:
	@bash cmake/setup.sh
	@bash cmake/cuda.sh
	@bash cmake/install/tools.sh

# Configures each time: a preset may say something else by now.
build: setup
	@cmake --preset $(PRESET) --log-level=NOTICE
	@cmake --build $(BUILD) -j $(JOBS)

# The program alone, without tests and benchmarks.
divisi: setup
	@cmake --preset $(PRESET) --log-level=NOTICE
	@cmake --build $(BUILD) -j $(JOBS) --target divisi

# What others need: programs, libraries, headers, documentation. It may be moved.
install: setup
	@cmake --preset $(PRESET) --log-level=NOTICE
	@cmake --build $(BUILD) -j $(JOBS) --target divisi-tree
	@bash cmake/install/stage.sh $(BUILD) $(BUILD)/stage
	@mkdir -p "$(DESTDIR)$(PREFIX)"
	@cp -R --no-dereference --remove-destination $(BUILD)/stage/* \
	  "$(DESTDIR)$(PREFIX)"
	@echo "installed in $(DESTDIR)$(PREFIX)"

# dist/divisi-*.whl: the Python package with all that it needs.
wheel: setup
	@cmake --preset $(PRESET) --log-level=NOTICE
	@cmake --build $(BUILD) -j $(JOBS) --target divisi-tree
	@bash cmake/install/stage.sh $(BUILD) $(BUILD)/wheel --strip
	@tools=$$(bash cmake/install/tools.sh --prefix)/bin; \
	$$tools/python cmake/install/wheel.py --wheel $$tools/wheel \
	  $(BUILD)/wheel dist

# A share of the cases: DIVISI_TEST_SHARE, from 0 to 1 (test/share.py). What the
# suites counted (cases that ran, messages that are expected) and the entries that
# took longest stand before the last line, which is ctest's. It counts halves of
# cores (cmake/DivisiTargets.cmake).
test: build
	@status=0; log=$(abspath $(BUILD))/ctest.log; \
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error \
	  -j $$((2 * $(JOBS))) --timeout 600 --output-log $$log || status=$$?; \
	sed -n 's/^counted: /  /p' $(BUILD)/Testing/Temporary/LastTest.log; \
	echo "the slowest, in seconds:"; \
	sed -n 's|^ *[0-9]*/[0-9]* Test .*: \([^ ]*\) .* \([0-9.]*\) sec.*$$|  \2 \1|p' \
	  $$log | sort -rn | head; \
	grep 'tests passed,' $$log; exit $$status

# $(call script,FILE): runs a script on the tools of this build.
define script
	@test -f $(1) || { echo "error: $(1) is not in this tree, so 'make $@' has nothing to run" >&2; exit 1; }
	@DIVISI_BUILD=$(abspath $(BUILD)) DIVISI_PYTHON=$$(bash cmake/setup.sh --prefix)/venv/bin/python bash $(1)
endef

# Once, on a machine with GPUs: what no run has shown yet first, then kernels, models
# and measurements. One part goes on after the other, and one file has all that
# they say: gpu-report.txt of the build. PEERS=torch,onnxruntime lets bench/gpu
# install what it compares with, and measure all of its models.
test-gpu: build
	@cmake --build $(BUILD) -j $(JOBS) --target gpu-tests
	$(call script,test/gpu.sh)

demo: divisi
	$(call script,test/demo.sh)

# All cases.
sweep: build
	$(call script,test/sweep.sh)

# Asks the prover about all rules, and writes down that it did: what `make test`
# compares with rules, axioms and the prover's sources.
prove: build
	$(call script,test/prove.sh)

# Plants each fault of test/faults/ in a copy of the tree and expects the tests of
# `make test` to catch it.
faults: setup
	@DIVISI_BUILD=$(abspath $(BUILD)) \
	$$(bash cmake/setup.sh --prefix)/venv/bin/python test/planted_faults.py

# All of ONNX's tests of single nodes: what is right, refused and why.
node-suite: build
	$(call script,test/Import/node_suite.sh)

# Needs a build of its own, of the runtime alone, under the thread sanitizer.
races: build
	@cmake --preset tsan --log-level=NOTICE
	@cmake --build build-tsan -j $(JOBS) --target RuntimeTest run-delayed \
	  run-contexts
	$(call script,test/races.sh)

# The same under the address sanitizer, of what the C API contains.
leaks: build
	@cmake --preset asan --log-level=NOTICE
	@cmake --build build-asan -j $(JOBS) --target run-contexts
	$(call script,test/leaks.sh)

# Needs a build of its own, by clang; only the fuzzed libraries are built.
# Each reader has FUZZ_SECONDS, one after the other; a table says what each has
# done, and it fails if one was broken. READERS=Tensors fuzzes one reader, or
# READERS="Rules Tensors" several; test/fuzz/Readers.h says which there are.
fuzz: setup
	@cmake --preset fuzz --log-level=NOTICE
	@cmake --build build-fuzz -j $(JOBS) --target $(READERS:%=%Fuzz)
	@bash test/fuzz/fuzz.sh build-fuzz $(FUZZ_SECONDS) $(READERS)

models: setup
	$(call script,models/make.sh)

format:
	@$(FORMATTED) | xargs -r clang-format-22 -i
