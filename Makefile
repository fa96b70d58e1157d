# What one does with Tarn. Each command installs what it misses (Debian, Ubuntu) and says what it does.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run test apps bench crash torture diff history tikv-test deb deb-test release fmt

# Options for the server (run) or the benchmark (bench).
ARGS ?=
# How many kills (crash), commands (diff) or operations (history), and the seed (diff, torture, history; empty: a new one, printed).
N ?=
SEED ?=
# How long (torture).
MINUTES ?= 30
# The engine on TiKV in `make run`; it doubles what has to be compiled. Everything else has it.
TIKV ?= no
# A cluster for tikv-test.
PD ?= 127.0.0.1:2379

CARGO := scripts/cargo
# For `tarn --version`.
export TARN_COMMIT := $(shell scripts/version --commit)
# CI checks out a fresh clone each time: a target folder outside of it stays warm.
ifeq ($(CI),true)
export CARGO_TARGET_DIR ?= $(or $(TARN_CACHE_DIR),$(HOME)/.cache/tarn)/target
endif
TARGET = $(or $(CARGO_TARGET_DIR),target)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build and start the server on port 6379, data in ./tarn-data; ARGS="--option value", TIKV=yes
	@scripts/deps build
	@echo "run: building"
	@$(CARGO) build --release --bin tarn $(if $(filter yes,$(TIKV)),--features tikv)
	exec "$(TARGET)/release/tarn" --port 6379 --dir ./tarn-data $(ARGS)

test: ## everything that CI checks: format, lints, licences, tests, documentation
	@scripts/deps test
	@echo "test: format"
	@$(CARGO) fmt --all --check
	@echo "test: lints"
	@$(CARGO) clippy --workspace --all-targets --features tikv --locked --quiet -- -D warnings
	@echo "test: licences and sources of the dependencies"
	@scripts/deny
	@echo "test: documentation"
	@RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --features tikv --document-private-items --locked --quiet
	@echo "test: all tests"
	@$(CARGO) test --workspace --features tikv --locked
	@echo "test: real programs"
	@$(CARGO) build --locked --quiet --features tikv --bin tarn
	@scripts/apps "$(TARGET)/debug/tarn"
	@echo "test: the Debian package and the archive"
	@scripts/deb-test "$(TARGET)/debug/tarn"
	@scripts/release-test "$(TARGET)/debug/tarn"
	@echo "test: the web console"
	@scripts/console-test "$(TARGET)/debug/tarn"

apps: ## run programs that others wrote (BullMQ, RQ, Celery, asynq, Sidekiq and others) against the server
	@scripts/deps test
	@$(CARGO) build --release --locked --bin tarn
	@scripts/apps "$(TARGET)/release/tarn"

bench: ## compare with redis-server on this machine; ARGS="--quick", "--help" lists the suites
	@scripts/deps test
	@$(CARGO) build --release --locked --features tikv --bin tarn
	@$(CARGO) build --release --locked --quiet -p tikv-double
	@$(CARGO) build --release --locked --quiet -p tarn-engine --features tikv --example tikv_loop
	@$(CARGO) run --release --locked --quiet -p tarn-bench -- $(ARGS)

crash: ## kill -9 the server N times (1000) under load and look for every acknowledged write
	@scripts/deps test
	@TARN_CRASH_KILLS=$(or $(N),1000) $(CARGO) test --release --locked --test it -- crash --nocapture

torture: ## kills, panics, losses of power, failing logs, full disks, steps of the clock and flipped bits at random for MINUTES (30); SEED=7 repeats a run
	@scripts/deps test
	@export TARN_TORTURE_MINUTES=$$(( ($(MINUTES) + 1) / 2 )); export TARN_TORTURE_SEED=$(SEED); \
	    $(CARGO) test --locked -p tarn-engine --lib -- rocksdb::tests::model::torture --exact --nocapture; \
	    $(CARGO) test --locked --test it -- crash::torture::torture --exact --nocapture

diff: ## N (1000000) random commands to Tarn and redis-server, replies compared; SEED=7 repeats a run
	@scripts/deps test
	@TARN_DIFF_COMMANDS=$(or $(N),1000000) TARN_DIFF_SEED=$(SEED) \
	    $(CARGO) test --release --locked --test it -- differential --nocapture

tikv-test: ## the same tests on a real TiKV cluster; PD=host:port, scripts/tikv-playground starts one
	@scripts/deps test
	@TARN_TIKV_PD=$(PD) $(CARGO) test --features tikv --locked -p tarn-engine --lib -- tikv::tests::conformance
	@TARN_TIKV_PD=$(PD) $(CARGO) test --features tikv --locked --test it

history: ## N (1000000) operations of clients on the same keys, also across kills; what they saw must be linearizable
	@scripts/deps test
	@TARN_HISTORY_OPS=$(or $(N),1000000) TARN_HISTORY_SEED=$(SEED) \
	    $(CARGO) test --release --locked --test it -- history:: --nocapture

# Paths of the machine that compiled it are no part of a program that others get, wherever it was compiled. The last that fits counts.
RELEASE_FLAGS = --remap-path-prefix=$(CURDIR)=/tarn --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo \
    --remap-path-prefix=$(abspath $(or $(CARGO_BUILD_BUILD_DIR),$(TARGET)/package))=/target
RELEASE_BUILD = RUSTFLAGS="$(RELEASE_FLAGS)" CARGO_PROFILE_RELEASE_DEBUG=false \
    $(CARGO) build --release --locked --features tikv --bin tarn --target-dir "$(TARGET)/package"
PACKAGED = $(or $(BINARY),$(TARGET)/package/release/tarn)

deb: ## a Debian package in target/packages; BINARY=path packages a program that is there
	@scripts/deps build
	@$(if $(BINARY),true,$(RELEASE_BUILD))
	@scripts/deb "$(PACKAGED)" "$(TARGET)/packages"

deb-test: ## install, run, upgrade, remove and purge that package in a scratch root; BINARY=path
	@scripts/deps test
	@$(if $(BINARY),true,$(RELEASE_BUILD))
	@scripts/deb-test "$(PACKAGED)"

release: ## a stripped, reproducible archive with checksums and an SBOM in target/packages; BINARY=path
	@scripts/deps build
	@$(if $(BINARY),true,$(RELEASE_BUILD))
	@scripts/release "$(PACKAGED)" "$(TARGET)/packages"

fmt: ## format the code
	@cargo fmt --all
