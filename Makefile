# Everything a contributor types. Each target sets up what it needs; a second `make setup` takes no time.
# All paths are relative, so a folder with spaces in its name and `make -C` from elsewhere both work.
SHELL := /bin/bash
PYTHON := .venv/bin/python
RUFF := $(PYTHON) -m ruff
PYTEST := $(PYTHON) -m pytest
PYTHON_FILES := src tests examples benchmarks scripts
SLOW_TESTS := tests/integration tests/accuracy
COVERAGE := 85 # percent of the lines of src that the quick tests run in their own process

.PHONY: help setup demo test lint docs format types native-test unit-test slow-test benchmark score record rivals speed clean
.NOTPARALLEL:
# Tests start hundreds of processes that import torch, which takes twice as long without compiled files.
unexport PYTHONDONTWRITEBYTECODE

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: ## .venv with the package, the reference torch and the tools
	@scripts/setup

demo: setup ## estimate examples/resnet50.py for an RTX 4090
	.venv/bin/veritasest run --gpu rtx-4090 -- .venv/bin/python examples/resnet50.py

test: lint types native-test unit-test slow-test ## everything that CI runs

lint: setup docs ## ruff, the layering and the documentation
	$(RUFF) check $(PYTHON_FILES)
	$(RUFF) format --check $(PYTHON_FILES)
	.venv/bin/lint-imports

docs: setup ## the documentation site in build/site, its links checked
	$(PYTHON) scripts/generate-docs --check
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build --strict

format: setup ## ruff, in place
	$(RUFF) check --fix $(PYTHON_FILES)
	$(RUFF) format $(PYTHON_FILES)

types: setup ## mypy, strict
	$(PYTHON) -m mypy src/veritasest

native-test: setup ## the emulated device's C tests, under the sanitizers
	scripts/native-test address,undefined
	scripts/native-test thread

unit-test: setup ## the quick half of the Python tests
	$(PYTEST) -q tests $(addprefix --ignore=,$(SLOW_TESTS)) --cov=veritasest --cov-report= --cov-fail-under=$(COVERAGE)

slow-test: setup ## real jobs on the emulated device
	$(PYTEST) -q -n 2 $(SLOW_TESTS)

benchmark: setup ## estimate every recorded job, score against the truth, rewrite the tables (hours; can be interrupted)
	for kind in peaks default capacity minimum; do $(PYTHON) -m benchmarks.estimate.jobs --kind $$kind || exit; done
	for kind in peaks default capacity minimum; do $(PYTHON) -m benchmarks.estimate.publish build/estimates/$$kind.jsonl || exit; done
	$(MAKE) score

score: setup ## the tables and plots from the published estimates (SCORE_OPTIONS=--draft: also without a clean commit)
	$(PYTHON) -m benchmarks.score.publish $(SCORE_OPTIONS)
	scripts/update-readme

record: setup ## on a machine with a CUDA GPU: record the truth
	$(PYTHON) -m benchmarks.record.truth peaks
	$(PYTHON) -m benchmarks.record.truth repeats
	$(PYTHON) -m benchmarks.record.second_stage
	$(PYTHON) -m benchmarks.record.truth limits
	$(PYTHON) -m benchmarks.record.truth minimum

rivals: setup ## other tools on the same jobs
	$(PYTHON) -m benchmarks.rivals.run

speed: setup ## the cost of an estimate over the job itself
	$(PYTHON) -m benchmarks.estimate.speed

clean: ## forget .venv and every build
	rm -rf .venv build dist
