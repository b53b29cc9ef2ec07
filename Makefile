# Yardmaster. `make help` lists the targets. Needs Go and make, nothing else.

SHARED ?= ../shared
# The trace of the demo: empty generates one; a Parquet jobs table or a Philly CSV is used as it is.
TRACE ?=
# Where the demo keeps its trace, run, tables and logs.
DEMO ?= demo

# Property tests draw from it and tests are shuffled by it: the same seed, the same run. `make test SEED=2` tries other draws.
SEED ?= 1

export SHARED
export RAPID_SEED := $(SEED)
GO ?= go
YARDMASTER := bin/yardmaster
TOOL := $(GO) tool -modfile=tools.mod

.DEFAULT_GOAL := help
.PHONY: help demo build test race lint fmt bench fuzz damage verify known-answers lp-oracle lp-bench bench-openblas beside onnx soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## the whole job, end to end: trace, train, benchmark, serve, replay (TRACE=file for your own)
	@YARDMASTER="$(YARDMASTER)" DEMO="$(DEMO)" TRACE="$(TRACE)" sh cmd/demo.sh

build: ## build bin/yardmaster
	@CGO_ENABLED=0 $(GO) build -trimpath -o $(YARDMASTER) ./cmd/yardmaster

test: ## run every test
	$(GO) test -shuffle=$(SEED) ./...

race: ## run every test under the race detector (needs a C compiler)
	$(GO) test -race -shuffle=$(SEED) ./...

lint: ## formatting, vet, modernizers, staticcheck, tidy modules
	@files=$$($(TOOL) gofumpt -l .); test -z "$$files" || { echo "gofumpt wants changes (make fmt) in:"; echo "$$files"; exit 1; }
	$(GO) vet ./...
	@diff=$$($(GO) fix -diff ./... 2>&1); test -z "$$diff" || { echo "$$diff"; exit 1; }
	$(TOOL) staticcheck -checks all,-ST1000 ./...
	$(GO) mod tidy -diff
	$(GO) mod verify

fmt: ## format the code
	$(TOOL) gofumpt -w .

bench: ## run every benchmark once, to see that it runs; use -benchtime and benchstat for figures
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

fuzz: ## fuzz every target for ten seconds
	@$(GO) list ./... | while read -r package; do \
		$(GO) test -list '^Fuzz' "$$package" | grep '^Fuzz' | while read -r target; do \
			echo "$$package $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 10s -fuzzminimizetime 1s "$$package" || exit 1; \
		done || exit 1; \
	done

damage: ## damage every fixture and every real file at each place and import it (minutes)
	YARDMASTER_DAMAGE=full $(GO) test -count=1 -timeout 2h -v -run 'Damaged|WrongFormats' ./datasets/importers/catalogue ./datasets

verify: build ## run the reference runs of Gavel and Pollux again and compare (needs $(SHARED)/data)
	@$(YARDMASTER) verify gavel --data $(SHARED)/data/gavel
	@$(YARDMASTER) perf verify --data $(SHARED)/data
	@$(YARDMASTER) verify pollux --data $(SHARED)/data/pollux

known-answers: ## train on problems whose answers are published or known exactly, five seeds each (minutes)
	YARDMASTER_KNOWN_ANSWERS=1 $(GO) test -count=1 -timeout 1h -run TestAnswer -v ./train/known

lp-oracle: ## compare every linear program with HiGHS (installs it) and CLP (Debian: coinor-clp) on random instances
	$(GO) run ./cmd/lporacle --venv bin/oracle

lp-bench: ## time the linear programs beside HiGHS and CLP on the same instances
	$(GO) run ./cmd/lporacle --venv bin/oracle --bench

bench-openblas: ## time the kernels beside OpenBLAS (needs a C compiler; Debian: libopenblas-dev)
	$(GO) test -tags openblas -run '^$$' -bench Product -benchtime 30x ./models/nn/kernel

beside: ## train CartPole beside Stable-Baselines3 and CleanRL (YARDMASTER_PYTHON names a Python that has them; minutes)
	$(GO) test -count=1 -timeout 2h -run TestBeside -v ./train/known

onnx: ## score exported models in ONNX Runtime (YARDMASTER_PYTHON names a Python that has onnx, onnxruntime, numpy, safetensors)
	$(GO) test -count=1 -v -run 'ONNXRuntime|FromPython' ./models/export ./cmd/yardmaster

soak: ## serve 50 clusters for ten minutes with faults, then kill the service 200 times (13 minutes)
	YARDMASTER_SOAK=10m YARDMASTER_KILLS=200 $(GO) test -count=1 -timeout 1h -v -run 'TestSoak|TestFault24' ./serve/soak

clean: ## remove what the other targets made
	rm -rf bin $(DEMO)
