# Two commands set everything up: `make eval` (Go alone) and `make test` (everything).
SHELL := /bin/bash -euo pipefail
GO    ?= go
TOOL  := $(GO) tool -modfile=tools.mod
JUNIT ?= junit.xml
PKGS  ?= ./...
# Programs that npm installs: the agents, and the runtimes of scripts. Without them eval shows what it skips.
AGENTS   := $(CURDIR)/fixtures/agents/node_modules/.bin
RUNTIMES := $(CURDIR)/fixtures/runtimes/node_modules/.bin

.PHONY: help
help: ## Show what can be made.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

.PHONY: eval
eval: ## Replay the committed cassettes and check them: no network, no agent, no key.
	@PATH="$(RUNTIMES):$$PATH" $(GO) test ./evals/... -count=1 -v | { grep -vE '^=== |\[no test files\]$$' || true; }

.PHONY: test
test: $(if $(CI),agents runtimes mcp) ## Run all tests with -race and write junit.xml; CI=true installs agents, runtimes and MCP servers first.
	PATH="$(RUNTIMES):$$PATH" $(GO) tool gotestsum --format pkgname-and-test-fails --junitfile $(JUNIT) -- -race $(PKGS)
	cd internal/tracing/collectortest && $(GO) test -race ./...
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
	cd internal/tracing/collectortest && $(GO) vet ./... && $(GO) mod tidy -diff
	@dead=$$($(TOOL) deadcode -test ./...); test -z "$$dead" || { echo "$$dead"; exit 1; }

.PHONY: agents
agents: fixtures/agents/node_modules/.package-lock.json ## Install the pinned real agents with npm.

.PHONY: runtimes
runtimes: fixtures/runtimes/node_modules/.package-lock.json ## Install bun, deno and tsx with npm, for the judges in evals.

.PHONY: mcp
mcp: fixtures/mcp/node_modules/.package-lock.json ## Install the MCP servers that tests front with npm.

fixtures/%/node_modules/.package-lock.json: fixtures/%/package-lock.json fixtures/%/package.json
	cd fixtures/$* && npm ci --no-audit --no-fund && npm run --silent --if-present programs
	@touch $@

.PHONY: record
record: agents runtimes ## Record the cassettes of ./evals anew with the real agents and the loopback model.
	PATH="$(AGENTS):$(RUNTIMES):$$PATH" \
	  $(GO) run ./internal/modelserver/with-model -scripts fixtures/models -- \
	  env EVALTEST_MODE=record EVAL_LLM_JUDGE=1 $(GO) test ./evals/... -count=1 -v

.PHONY: bench
bench: ## Run the benchmarks.
	$(GO) test -run '^$$' -bench . -benchmem ./...
