# Two commands set everything up: `make eval` (Go alone) and `make test` (everything).
SHELL := /bin/bash -euo pipefail
GO    ?= go
TOOL  := $(GO) tool -modfile=tools.mod
JUNIT ?= junit.xml
PKGS  ?= ./...

.PHONY: help
help: ## Show what can be made.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

.PHONY: eval
eval: ## Replay the committed cassettes and check them: no network, no agent, no key.
	@$(GO) test ./evals/... -count=1 -v | { grep -v '^=== ' || true; }

.PHONY: test
test: $(if $(CI),agents) ## Run all tests with -race and write junit.xml; CI=true installs the real agents first.
	$(GO) tool gotestsum --format pkgname-and-test-fails --junitfile $(JUNIT) -- -race $(PKGS)
	@if [ -n "$(CI)" ] && grep -B1 '<skipped' $(JUNIT); then echo 'a test was skipped, and CI is set' >&2; exit 1; fi

.PHONY: lint
lint: ## Check format, vet, staticcheck, dead code, go fix and go.mod.
	@test -z "$$($(TOOL) gofumpt -l . | tee /dev/stderr)"
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...
	$(TOOL) staticcheck ./...
	$(GO) fix -diff ./...
	$(GO) mod tidy -diff
	@dead=$$($(TOOL) deadcode -test ./...); test -z "$$dead" || { echo "$$dead"; exit 1; }

.PHONY: agents
agents: fixtures/agents/node_modules/.package-lock.json ## Install the pinned real agents with npm.

fixtures/agents/node_modules/.package-lock.json: fixtures/agents/package-lock.json
	cd fixtures/agents && npm ci --no-audit --no-fund
	@touch $@

.PHONY: record
record: agents ## Record the cassettes of ./evals anew with the real agents and the loopback model.
	PATH="$(CURDIR)/fixtures/agents/node_modules/.bin:$$PATH" \
	  $(GO) run ./internal/modelserver/with-model -scripts fixtures/models -- \
	  env EVALTEST_MODE=record $(GO) test ./evals/... -count=1 -v

.PHONY: bench
bench: ## Run the benchmarks.
	$(GO) test -run '^$$' -bench . -benchmem ./...
