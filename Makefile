# SPDX-License-Identifier: BSD-3-Clause
# Short names for what CMake, ctest and Python do. `make run` and `make test` set up everything they need.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
BUILD := build/release
JOBS ?= $(shell nproc)
export PYTHONPATH := $(CURDIR)/$(BUILD)/python
export PYTHONDONTWRITEBYTECODE := 1
STAMPS := $(VENV)/.stamps

.PHONY: help run run-ddp test check-all asan tsan bench conform matrix swap wheels style layers size build setup clean clang aarch64

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build $(STAMPS)/run ## the main job: a real network trains on npu:0, a real model embeds sentences
	@$(PY) examples/first_run.py

run-ddp: build $(STAMPS)/run ## the digits on 1, 2 and 8 ranks by torchrun: the same gradients and accuracy, samples/s
	@$(PY) examples/ddp.py --ranks 1,2,8

test: build $(STAMPS)/run $(STAMPS)/test $(STAMPS)/hf ## the tests (under 30 minutes on 2 cores)
	@tests/run.sh quick

check-all: build $(STAMPS)/run $(STAMPS)/test $(STAMPS)/hf ## the tests and everything longer: sanitizers, full conformance, networks
	@tests/run.sh all

asan: $(STAMPS)/system ## the C tests under address and undefined-behaviour sanitizers
	@cmake --preset asan >/dev/null && cmake --build --preset asan -j$(JOBS) && ctest --preset asan -j$(JOBS)

tsan: $(STAMPS)/system ## the C tests under the thread sanitizer
	@cmake --preset tsan >/dev/null && cmake --build --preset tsan -j$(JOBS) && ctest --preset tsan -j$(JOBS)

clang: $(STAMPS)/system ## the C half with clang, warnings are errors, and its tests
	@cmake --preset clang >/dev/null && cmake --build --preset clang -j$(JOBS) && ctest --preset clang -j$(JOBS)

aarch64: $(STAMPS)/system ## the C half for 64-bit Arm; its tests under qemu; the same bits as here
	@tests/kernel/aarch64.sh

bench: build $(STAMPS)/run ## speed as ratios to torch on the CPU, in interleaved runs (ten minutes); writes docs/PERFORMANCE.md
	@$(PY) tests/bench/bench.py --out $(BUILD)/bench.json --page docs/PERFORMANCE.md

conform: build $(STAMPS)/run $(STAMPS)/test ## PyTorch's operator samples and 89 networks on npu against cpu; writes docs/CONFORMANCE.md, docs/ONNX.md
	@tests/conformance/run.sh full
	@$(PY) tests/onnx/node_tests.py

matrix: ## builds and tries the package with each PyTorch it is written for (5 GB of downloads each); docs/COMPATIBILITY.md
	@$(PYTHON) tests/matrix/matrix.py

wheels: $(STAMPS)/test ## both wheels, installed into an environment of their own and used there: npu-smi, training, profiler
	@$(PY) tests/wheel/wheel.py

swap: build ## the official torch-npu wheel, in its own environment, on our libraries
	@$(PY) tests/swap/swap.py

style: $(STAMPS)/test ## clang-format and ruff
	@git ls-files '*.c' '*.h' '*.cpp' '*.hpp' | xargs $(VENV)/bin/clang-format --dry-run -Werror
	@$(VENV)/bin/ruff check -q . && echo "style: clean"

layers: ## which layer includes which; SPDX lines; file lengths; nothing generated in git
	@$(PYTHON) tools/layers.py

size: build ## the size of each library and of the sources
	@ls -l $(BUILD)/python/anynpu/toolkit/lib64/*.so $(BUILD)/python/torch_npu/lib/*.so | awk '{printf "%10d  %s\n", $$5, $$9}'
	@for k in c h cpp hpp py rows; do printf '%10d  lines of .%s\n' "$$(git ls-files "*.$$k" | xargs -r cat | wc -l)" $$k; done

setup: $(STAMPS)/build ## the environment alone
build: $(STAMPS)/build $(BUILD)/build.ninja ## the libraries and the staged packages under build/release/python
	@cmake --build $(BUILD) -j$(JOBS) | { grep -v '^ninja: no work to do' || true; }

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json $(STAMPS)/build
	@cmake --preset release -DPython3_EXECUTABLE=$(CURDIR)/$(PY) $(if $(CI),-DANYNPU_WERROR=ON)

clean: ## remove the build trees (the environment stays)
	rm -rf build

# ---- set-up, each step once and again when its list changes ----
$(STAMPS)/system: tools/setup-system.sh
	@tools/setup-system.sh
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: requirements/build.txt | $(STAMPS)/system
	@echo "Setting up $(VENV) (torch 2.13.0, CPU build): some minutes the first time"
	@[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check torch==2.13.0
	@$(PY) -m pip install --quiet --disable-pip-version-check -r $<
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/%: requirements/%.txt $(STAMPS)/build
	@echo "Installing the packages of $<"
	@$(PY) -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
