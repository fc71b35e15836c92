# `make eval` needs nothing but Go, `make test` needs no npm, `make test-live` installs the real agents with it.
SHELL := /bin/bash -euo pipefail
GO    ?= go
TOOL  := $(GO) tool -modfile=tools.mod
# The packages that take longest begin, so that none of them runs alone in the end.
PKGS  ?= ./cmd/sdd-eval ./evaltest ./internal/testkit/hostile ./...
# Programs that npm installs: the agents, and the runtimes of scripts. Without them eval shows what it skips.
AGENTS   := $(CURDIR)/fixtures/agents/node_modules/.bin
RUNTIMES := $(CURDIR)/fixtures/runtimes/node_modules/.bin
# Tests that need those programs. `make test` leaves them out; `make test-live` runs them, in their packages.
LIVE      := ^TestReal|^TestGemini$$/^gemini-cli$$|^TestEvals$$/^judges-(bun|deno|tsx)$$
# The packages that have tests with a prefix.
having     = $(addprefix ./,$(sort $(dir $(or $(shell git grep -l '^func $(1)' -- '*_test.go'),$(error git finds no test with the prefix $(1))))))
# The packages that decide what is green; docs/mutants.md has their figures.
MUTATED   := evaltest/trajectory playbook $(addprefix internal/,cassette engine interaction interaction/clienttools \
  interaction/mcpproxy jsonvalue judgment plan result rundir session $(addprefix evaluator/,codejudge command composite expect \
  fieldaccuracy files llmjudge metrics payload tooltrajectory))
# The queue, a module of its own.
SCALE     := cmd/sdd-eval-scale
# Go's own limit for a package, ten minutes, is too short for a busy machine.
GOTEST    := $(GO) tool gotestsum --format pkgname-and-test-fails
# Tests wait for processes as long as they compute: more packages run at a time than there are processors.
AT_ONCE   := -p $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))
# `make lint` vets.
FLAGS     := $(AT_ONCE) -vet=off -race -timeout 30m $(if $(CI),-shuffle=on)
define NO_SKIPS
@if [ -n "$(CI)" ] && grep -B1 '<skipped' $(1); then echo 'a test was skipped, and CI is set' >&2; exit 1; fi
endef

.PHONY: help
help: ## Show what can be made.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

# Other systems have no sandbox. What make eval runs there is ours: the steps and judges of ./evals.
SYSTEM   ?= $(shell uname -s)
UNCONFINED = echo 'EVALTEST_SANDBOX=none, since $(SYSTEM) has no sandbox: steps and judges of ./evals run with your rights' >&2; \
  export EVALTEST_SANDBOX=none;

.PHONY: eval
eval: ## Replay the committed cassettes and check them: no network, no agent, no key.
	@$(if $(EVALTEST_SANDBOX)$(filter Linux,$(SYSTEM)),,$(UNCONFINED)) \
	  PATH="$(RUNTIMES):$$PATH" $(GO) test ./evals/... -skip '^TestGemini$$/^gemini-cli$$' -vet=off -count=1 -v | \
	  { grep -vE '^=== |\[no test files\]$$' || true; }

# Judges in runtimes that are not there cannot be asked; in CI all are there.
UNASKED  := $(if $(CI),,$(foreach r,bun deno tsx,$(if $(wildcard $(RUNTIMES)/$(r)),,evals/judges/$(r).yaml)))
.PHONY: mutate
mutate: ## Show which share of bad agents ./evals would notice, 95 % or more: no network, no agent, no key.
	@$(GO) build -o .evaltest/sdd-eval ./cmd/sdd-eval
	@$(if $(UNASKED),echo 'left out as their runtimes are not installed (make runtimes): $(UNASKED)')
	@$(if $(EVALTEST_SANDBOX)$(filter Linux,$(SYSTEM)),,$(UNCONFINED)) \
	  PATH="$(RUNTIMES):$$PATH" .evaltest/sdd-eval mutate --min-killed 0.95 --strict \
	  $(filter-out $(UNASKED),$(wildcard evals/*/*.yaml)) > .evaltest/mutate.txt || { cat .evaltest/mutate.txt; exit 1; }
	@grep ' noticed: ' .evaltest/mutate.txt
	@$(GO) test ./evals -run Notices -vet=off -count=1 -v > .evaltest/mutate.txt || { cat .evaltest/mutate.txt; exit 1; }
	@sed -n '/ notices /s/^ *//p' .evaltest/mutate.txt

# The race detector would let each process wait a second at its end, for races of what still runs then.
test test-live: export GORACE := atexit_sleep_ms=0

.PHONY: test
test: ## Run all tests of all modules with -race, but for those of test-live, and write junit.xml.
	@$(MAKE) --no-print-directory --keep-going test-module test-collector test-scale

.PHONY: test-module test-collector test-scale
test-module:
	$(GOTEST) --junitfile junit.xml -- $(FLAGS) -skip '$(LIVE)' $(PKGS)
	$(call NO_SKIPS,junit.xml)
test-collector:
	cd internal/tracing/collectortest && $(GO) test $(FLAGS) ./...
test-scale:
	cd $(SCALE) && $(GO) test $(FLAGS) ./...

.PHONY: test-live
test-live: agents runtimes mcp ## Install agents, runtimes and MCP servers with npm and run the tests that need them.
	PATH="$(RUNTIMES):$$PATH" $(GOTEST) --junitfile junit-live.xml -- $(FLAGS) -run '$(LIVE)' ./evals/... $(call having,TestReal)
	$(call NO_SKIPS,junit-live.xml)

.PHONY: test-twice
# It finds what a test leaves in its process. Tests of other processes leave nothing in it: -short skips them.
test-twice: ## Run the tests within processes twice in one process each, in random order and without -race.
	$(GO) test $(AT_ONCE) -short -vet=off -count=2 -shuffle=on -timeout 30m -skip '$(LIVE)|^TestEvals$$' $(PKGS) | { grep -v '\[no test files\]$$' || true; }

.PHONY: soak
soak: ## Kill, flood and race for long what test does for a moment; docs/performance.md has figures.
	SOAK=1 $(GO) test -timeout 2h -count=1 -v -run '^TestSoak' $(call having,TestSoak)
	cd $(SCALE) && SOAK=1 $(GO) test -timeout 2h -count=1 -v -run '^(TestKills|TestPartition)$$' .

.PHONY: mutants-data
mutants-data: ## Replay all mutants of recordings, judgements and replies, of which test takes a sample: 10 minutes.
	MUTANTS_DATA=1 nice $(GO) test -timeout 1h -count=1 -v -run '^TestMutantsOf' ./internal/engine

.PHONY: skill-creator
skill-creator: ## Have skill-creator's own script and viewer read our files: SKILL_CREATOR names a copy of that skill's directory.
	SKILL_CREATOR=$(abspath $(or $(SKILL_CREATOR),$(error SKILL_CREATOR names no copy of skills/skill-creator of github.com/anthropics/skills))) \
	  $(GO) test -count=1 -v -run '^TestSkillCreator$$' ./internal/report

.PHONY: test-oracle
ORACLE := $(CURDIR)/fixtures/oracle
test-oracle: ## Have Claude Code's own `plugin eval` judge what TestPluginOracle replays, installed with npm: 4 minutes. UPDATE_GOLDEN=1 records.
	npm install --prefix $(ORACLE) --no-save --no-audit --no-fund @anthropic-ai/claude-code@2.1.318
	cd $(ORACLE)/node_modules/@anthropic-ai/claude-code && node install.cjs
	SDD_EVAL_CLAUDE=$(ORACLE)/node_modules/.bin/claude $(GO) test -tags oracle -timeout 30m -count=1 -v -run '^TestOracle$$' ./internal/cli

.PHONY: agentv-suites
agentv-suites: ## Convert the suites below AGENTV, a checkout of AgentV's examples, and say which load. RUN=1 runs them, scripted: its judges need bun, uv and its SDK. ORACLE_AGENTV names a command that runs AgentV itself: its verdicts are compared.
	$(GO) build -o .evaltest/agentv-suites ./cmd/sdd-eval
	PATH=$(RUNTIMES):$$PATH $(GO) run ./internal/testkit/agentvsuites --sdd-eval .evaltest/agentv-suites $(if $(RUN),--run) \
		$(if $(ORACLE_AGENTV),--agentv "$(ORACLE_AGENTV)") $(or $(AGENTV),$(error AGENTV names no directory))

.PHONY: live-skills
live-skills: agents ## Record the cases of fixtures/skills anew, and compare with the committed recordings.
	CI=1 $(GO) test -tags skills -count=1 -v -run '^TestRealSkills$$' ./internal/livetest

.PHONY: lint
# What it runs is short-lived and keeps nearly all that it allocates: most collections find nothing.
lint: export GOGC := 400
lint: ## Check format, vet, staticcheck, dead code, go fix and go.mod.
	@test -z "$$($(TOOL) gofumpt -l . | tee /dev/stderr)"
	$(GO) vet -tags latest,oracle,skills ./...
	$(TOOL) staticcheck ./...
	$(GO) fix -diff ./...
	$(GO) mod tidy -diff
	cd internal/tracing/collectortest && $(GO) vet ./... && $(GO) mod tidy -diff
	check=$$($(TOOL) -n staticcheck); cd $(SCALE) && $(GO) vet ./... && $(GO) mod tidy -diff && $(GO) fix -diff ./... && $$check ./...
	@dead=$$($(TOOL) deadcode -test ./...); test -z "$$dead" || { echo "$$dead"; exit 1; }
	@# It checks the types of all files of a system, and compiles nothing for it, as vet would.
	check=$$($(TOOL) -n deadcode); cd $(SCALE); dead=$$($$check -test ./...); test -z "$$dead" || { echo "$$dead"; exit 1; }
	GOOS=darwin $$($(TOOL) -n deadcode) -test ./... >/dev/null
	GOOS=windows $$($(TOOL) -n deadcode) -test ./... >/dev/null

.PHONY: mutants
mutants: ## Change the packages of MUTATED, or PKG, in 300 small ways each, and show which changes their tests do not notice.
	nice $(GO) run ./internal/testkit/mutants $(or $(PKG),$(MUTATED))

.PHONY: agents
agents: fixtures/agents/node_modules/.package-lock.json ## Install the pinned real agents with npm.

.PHONY: agents-latest
agents-latest: ## Run the agents that npm serves today, pinned or not, and write how they differ to agents-latest.md; not part of CI.
	mkdir -p fixtures/agents/latest && cp fixtures/agents/.npmrc fixtures/agents/latest
	sed -E -e '/"(dependencies|optionalDependencies)"/,/}/s/"[0-9][^"]*"|@[0-9][^"]*"/"latest"/; s/codex-acp"latest"/codex-acp@latest"/' \
	  -e 's/"dependencies": \{/&"@anthropic-ai\/claude-code": "latest",/' fixtures/agents/package.json > fixtures/agents/latest/package.json
	cd fixtures/agents/latest && npm install --no-package-lock --no-audit --no-fund && npm run --silent programs
	@# In the place of the one that the adapter brings, which is older.
	cd fixtures/agents/latest/node_modules/@anthropic-ai/claude-code && node install.cjs && ln -sf ../@anthropic-ai/claude-code/bin/claude.exe ../../.bin/claude
	SDD_EVAL_AGENTS='$(CURDIR)/fixtures/agents/latest/node_modules/.bin' SDD_EVAL_AGENTS_REPORT='$(CURDIR)/agents-latest.md' \
	  $(GO) test -tags latest ./internal/livetest -run '^TestLatest$$' -count=1 -timeout 30m -v

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
	  $(GO) run ./internal/testkit/modelserver/with-model -scripts fixtures/models -- \
	  env EVALTEST_MODE=record EVAL_LLM_JUDGE=1 $(GO) test ./evals/... -count=1 -v

.PHONY: simulate
simulate: ## Print how often `sdd-eval compare` is wrong, and how often it sees what is so: 4 minutes; docs/decisions.md has it.
	$(GO) run ./internal/testkit/simulate

.PHONY: simulate-scale
simulate-scale: ## Print how long a plan takes in shards and by queues, on 10 to 10,000 machines: docs/scale.md has it.
	$(GO) run ./internal/testkit/simulatescale

.PHONY: figures-scale
figures-scale: ## Print what the queue costs, beside something simple and beside sdd-eval run: docs/scale.md has it; 5 minutes.
	cd $(SCALE) && $(GO) run ./internal/figures

.PHONY: bench
bench: ## Run the benchmarks of parts.
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-table
bench-table: ## Print what users' commands cost, each beside something simple: all rows, half an hour, or ROWS, such as 'report list'.
	$(GO) run ./internal/testkit/benchtable $(ROWS)

CHROMIUM ?= chromium
.PHONY: pictures
pictures: ## Take the pictures of docs/pictures with CHROMIUM: the report of evals/fix-bug, replayed.
	mkdir -p docs/pictures; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	EVALTEST_RUN_DIR="$$dir" $(GO) test ./evals -run '^TestEvals$$/^fix-bug$$' -count=1; \
	report=$$($(GO) run ./cmd/sdd-eval report --root "$$dir" --format html); \
	picture() { "$(CHROMIUM)" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
	  --window-size="$$2" --screenshot="docs/pictures/$$1.png" "file://$$report$$3" 2>/dev/null; }; \
	picture report 1000,760 ''; picture unit 1000,900 '#unit=fix-bug/task/claude/1'
