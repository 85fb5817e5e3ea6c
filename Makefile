# The commands of this repository; `.ci/run` calls the same. Everything runs in .venv.
.DEFAULT_GOAL := help
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -q

.PHONY: help setup demo test test-fast check fmt bench fuzz chaos accuracy lock ceph browser

help:  ## what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 12

setup:  ## make .venv from the lock (PYTHON, TORCH_INDEX: see scripts/setup)
	@scripts/setup

demo: setup  ## the whole job for real, on embedded defaults
	@$(BIN)/python -m demo

test: setup  ## all tests, with real Ray, Serve and vLLM
	$(PYTEST) -m "not chaos" tests

test-fast: setup  ## all tests but those that start Ray, vLLM, Ceph or a browser
	$(PYTEST) -m "not slow and not ceph and not browser and not chaos" tests

browser:  ## install Chromium for the tests that look at pages (Debian, as root)
	@scripts/chromium

ceph:  ## install Ceph's RADOS gateway for the tests that want it (Debian, as root)
	@scripts/ceph_rgw install

check: setup  ## lint, format, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fmt: setup  ## format, and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup  ## pictures a second of the pipeline, as ratios in one run
	@$(BIN)/python -m demo.bench

fuzz: setup  ## 5,000 mutated files of all formats through the decoders
	@$(BIN)/python -m tests.fuzz_pictures --files 5000

chaos: setup  ## 36 faults in real jobs, one a seed (CHAOS_SEEDS, CHAOS_LABS, CHAOS_MINUTES)
	@$(BIN)/python -W ignore -m tests.chaos

accuracy: setup  ## the bundled model on 500 held-out pictures, through the whole product
	@$(BIN)/python -m demo.accuracy

lock: setup  ## write requirements.lock anew from .venv
	@scripts/lock
