# Everything a contributor types. Each target sets up what it needs; a second `make setup` takes no time.
# All paths are relative, so a folder with spaces in its name and `make -C` from elsewhere both work.
SHELL := /bin/bash
PYTHON := .venv/bin/python
RUFF := $(PYTHON) -m ruff
PYTEST := $(PYTHON) -m pytest
PYTHON_FILES := src tests examples benchmarks
SLOW_TESTS := tests/integration tests/accuracy

.PHONY: help setup demo test lint format types native-test unit-test slow-test benchmark score record rivals speed clean
.NOTPARALLEL:
# Tests start hundreds of processes that import torch, which takes twice as long without compiled files.
unexport PYTHONDONTWRITEBYTECODE

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: ## .venv with the package, the reference torch and the tools
	@scripts/setup

demo: setup ## estimate examples/resnet50.py for an RTX 4090
	.venv/bin/veritasest run --gpu rtx-4090 -- .venv/bin/python examples/resnet50.py

test: lint types native-test unit-test slow-test ## all that CI runs

lint: setup ## ruff and the layering
	$(RUFF) check $(PYTHON_FILES)
	$(RUFF) format --check $(PYTHON_FILES)
	.venv/bin/lint-imports

format: setup ## ruff, in place
	$(RUFF) check --fix $(PYTHON_FILES)
	$(RUFF) format $(PYTHON_FILES)

types: setup ## mypy, strict
	$(PYTHON) -m mypy src/veritasest

native-test: setup ## the emulated device's C tests, under the sanitizers
	scripts/native-test address,undefined
	scripts/native-test thread

unit-test: setup ## the quick half of the Python tests
	$(PYTEST) -q tests $(addprefix --ignore=,$(SLOW_TESTS))

slow-test: setup ## real jobs on the emulated device
	$(PYTEST) -q -n 2 $(SLOW_TESTS)

benchmark: setup ## estimate every recorded job, score against the truth, rewrite the tables (hours; goes on where it was)
	$(PYTHON) benchmarks/estimates.py
	$(PYTHON) benchmarks/estimates.py --kind default
	$(PYTHON) benchmarks/estimates.py --kind capacity
	$(PYTHON) benchmarks/estimates.py --kind minimum
	$(MAKE) score

score: setup ## the tables and plots from the estimates that are there
	$(PYTHON) benchmarks/score.py
	scripts/update-readme

record: setup ## on a machine with a CUDA GPU: record the truth
	$(PYTHON) benchmarks/record_gpu.py peaks
	$(PYTHON) benchmarks/record_gpu.py repeats
	$(PYTHON) benchmarks/second_stage.py
	$(PYTHON) benchmarks/record_gpu.py limits
	$(PYTHON) benchmarks/record_gpu.py minimum

rivals: setup ## other tools on the same jobs
	$(PYTHON) benchmarks/rivals/run.py

speed: setup ## what an estimate costs over the job itself
	$(PYTHON) benchmarks/speed.py

clean: ## forget .venv and every build
	rm -rf .venv build dist
