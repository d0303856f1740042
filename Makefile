NODE_VERSION := $(shell sed -n 's/.*"node": "\([0-9.]*\)".*/\1/p' package.json)
# npm runs under the pinned Node too: npm's cache has it before node_modules does.
NPM := npm exec --yes --package=node@$(NODE_VERSION) -- npm
NODE := node_modules/.bin/node
BIN := node_modules/.bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Live on a terminal; elsewhere only what failed.
REPORTER := $(if $(MAKE_TERMOUT),base,min)
# tap's reporters draw by ink, which says nothing at all where CI is set: failures would have no name.
TAP := $(if $(MAKE_TERMOUT),,CI=false) $(BIN)/tap --reporter=$(REPORTER)
# Which test files to run: all, unless told. make test TESTS=test/retry.test.ts
TESTS :=
# What rules-diff compares the rule table with: a git revision, or a file. make rules-diff AGAINST=old.csv
AGAINST := main
SNAPSHOT := test/core/rules/outcomes.snapshot.cjs

.DEFAULT_GOAL := help
.PHONY: help build run test migrate bench bench-latency bench-observed bench-reads bench-replicas bench-growth bench-queries bench-retries check format soak soak-requests soak-rules soak-decisions soak-backlog soak-outage rules-check rules-diff rules-accept rules-summary rules-commit chaos

help: ## Show this help
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

build: node_modules/.package-lock.json ## Set up and compile everything
	@$(NODE) src/build/compile-templates.ts
	@$(NODE) src/build/compile-console.ts

node_modules/.package-lock.json: package.json package-lock.json
	$(NPM) ci
	@touch $@

# Left to itself tap does so in its first run, but runs that one with the plugins it came with.
node_modules/.tap-plugins: node_modules/.package-lock.json .taprc
	@$(BIN)/tap build
	@touch $@

# On a terminal as a job of its own, so that Ctrl-C reaches it alone: make would pass the signal off as a failure.
run: build ## Start a local stack and the service, publish events, show what became of them
	@bash -c 'if [ -t 0 ]; then set -m; fi; $(NODE) test/stack/run.ts; exit $$?'

test: check node_modules/.tap-plugins ## Check everything and run all tests, on a broker and a database of their own
	@mkdir -p .cache
	@$(NODE) test/stack/with-stack.ts -- env $(TAP) --output-file=.cache/test-results.tap $(TESTS)

check: build rules-check ## Rule table, formatter, linter, types, import rules, dead code
	$(BIN)/biome ci --error-on-warnings .
	$(BIN)/tsc
	$(BIN)/tsc --project src/console
	$(BIN)/depcruise --config .dependency-cruiser.mjs --output-type err src test
	$(BIN)/knip
	$(NODE) src/build/document-variables.ts --check

format: build ## Format, mend what the linter can, write the table of variables
	$(BIN)/biome check --write .
	$(NODE) src/build/document-variables.ts

rules-check: build ## Check the rule table, its promises and the envelope map
	@$(NODE) src/main.ts rules check

rules-diff: build ## Say what the rule table decides otherwise than that of AGAINST (main)
	@$(NODE) src/main.ts rules diff --against '$(AGAINST)'

rules-accept: build ## Take what the rule table decides now for right, and show what that changes
	@TAP_SNAPSHOT=1 CI=false $(BIN)/tap --reporter=min test/core/rules/outcomes.test.ts
	@git --no-pager diff -- $(SNAPSHOT)

rules-summary: build ## What a pull request changes in the rule table, as Markdown: its meaning, its outcomes
	@$(NODE) src/main.ts rules diff --against '$(AGAINST)' --markdown
	@echo; echo '### Outcomes that `make rules-accept` would record'; echo
	@cp $(SNAPSHOT) .cache/outcomes.kept && TAP_SNAPSHOT=1 $(BIN)/tap --reporter=silent test/core/rules/outcomes.test.ts >.cache/outcomes.log
	@echo '```diff'; git --no-pager diff '$(AGAINST)' -- $(SNAPSHOT); echo '```'; mv .cache/outcomes.kept $(SNAPSHOT)

rules-commit: ## Commit the outcomes that make rules-accept recorded, if there are new ones
	@git diff --quiet -- $(SNAPSHOT) || git commit --quiet -m 'Accept the outcomes of the changed rule table' -- $(SNAPSHOT)

migrate: build ## Bring the schema of DATABASE_URL up to date
	@$(NODE) src/main.ts migrate

bench: build ## Throughput against a plain implementation and the floor under any, in one run
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/main.ts

bench-latency: build ## Time from publishing to commit at parts of the capacity, against the floor
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/latency.ts

bench-observed: build ## What it costs to watch: log, metrics and traces against none of them, in one run
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/observed.ts

bench-replicas: build ## Throughput of 1 to 3 replicas, and how long events wait when replicas come and go
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/replicas.ts

bench-reads: build ## Reads of the log against a bare route that runs the same query, in one run
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/reads.ts

bench-growth: build ## Throughput with 0, 1 and 10 million rows in the log (SIZES), which it fills
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/growth.ts

bench-queries: build ## Each filter of the log and each pair of them, with 10 million rows (SIZE), which it fills
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/growth-queries.ts

bench-retries: build ## How fast 100,000 failed rows (ROWS) are drained, against dispatch in the same run
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/retries.ts

chaos: build ## Seeded faults on real processes, nothing lost, nothing twice: SEED, CYCLES (10), REPLICAS (2)
	@$(NODE) test/chaos/main.ts

soak: soak-requests soak-rules soak-decisions soak-backlog soak-outage ## Long runs: the next five

soak-requests: build ## Ten thousand odd requests
	@FUZZ_RUNS=10000 $(NODE) test/stack/with-stack.ts -- env $(TAP) test/service/fuzz.test.ts

soak-rules: build ## A thousand random rule tables
	@PROPERTY_RUNS=1000 $(TAP) --timeout=1800 test/core/rules/table.property.test.ts test/core/rules/diff.property.test.ts

soak-decisions: build ## Back-test and verify a million recorded decisions (DECISIONS)
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/decisions.ts

soak-backlog: build ## Memory before a slow database: a backlog of EVENTS (1000000)
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/backlog.ts

soak-outage: build ## Policy administration hangs for SECONDS (300) at RATE (1000) events/s, and comes back
	@$(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/outage.ts
