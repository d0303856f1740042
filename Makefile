NODE_VERSION := $(shell sed -n 's/.*"node": "\([0-9.]*\)".*/\1/p' package.json)
# npm runs under the pinned Node too, taken from npm's cache before node_modules exists. npm 11.19 does not read package.json's
# allowScripts for what it executes, and would refuse Node's own install script.
NPM := npm exec --yes --no-strict-allow-scripts --package=node@$(NODE_VERSION) -- npm
NODE := node_modules/.bin/node
BIN := node_modules/.bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

# The local stack is reached directly.
export NO_PROXY := localhost,127.0.0.1,$(NO_PROXY)
export no_proxy := $(NO_PROXY)

# On a terminal show progress; elsewhere only failures.
REPORTER := $(if $(MAKE_TERMOUT),base,min)
# tap's reporters draw with ink, which prints nothing if CI is set: failures would have no name.
TAP := $(if $(MAKE_TERMOUT),,CI=false) $(BIN)/tap --reporter=$(REPORTER)
# The test files to run; all by default. One file takes seconds: make test TESTS=test/service/contacts/circuit.test.ts
TESTS :=
# Prints one line with the skipped tests and the reasons.
SKIPPED := awk '/ \# SKIP /{ sub(/.* \# SKIP /, ""); count[$$0]++ } \
  END { for (reason in count) line = line "; " count[reason] " (" reason ")"; if (line) print "skipped:" substr(line, 2) }'
# The git revision or file that rules-diff compares the rule table with, as in make rules-diff AGAINST=old.csv
# Recipes read it from the environment, where no shell takes it for more than a text.
AGAINST ?= main
export AGAINST
# A folder with rules/ and templates/ to use in place of this one's, as in make rules-check HOUSE=../house. See src/deploy/README.md.
GIVEN_HOUSE := $(HOUSE)
override export HOUSE := $(abspath $(HOUSE))
# Another checkout to measure against, as in make bench BEFORE=../old. Recipes run in another folder.
override export BEFORE := $(abspath $(BEFORE))
RULE_MANIFEST := src/deploy/kubernetes/prometheus-rule.yaml
# Tests and measurements use the first rules and texts, so that authors can change today's freely: see test/README.md.
FIRST := HOUSE= NODE_OPTIONS="--conditions=first-rules $$NODE_OPTIONS"
# On a runner of GitHub Actions faults are also shown at their lines.
ANNOTATIONS := $(if $(GITHUB_ACTIONS),--annotations)

.DEFAULT_GOAL := help
.PHONY: help build run tools test simulate migrate bench bench-latency bench-growth check format soak soak-brokers soak-transactions soak-histories soak-upgrade soak-hold soak-member soak-plans soak-properties rules-check rules-diff rules-accept rules-summary rules-outcomes rules-commit templates-check install commands chaos mutants image release-notes vulnerabilities

## Daily work

help: ## Show this help
	@sed -n -e 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' -e 's/^## \(.*\)/\n\1/p' $(MAKEFILE_LIST) | expand -t 24

build: node_modules/.package-lock.json ## Install dependencies and compile templates and console
	@$(NODE) src/build/compile-templates.ts
	@$(NODE) src/build/compile-console.ts

node_modules/.package-lock.json: package.json package-lock.json
	@test -w . || { echo "$(CURDIR) cannot be written: work in a checkout that belongs to you, not a read-only one" >&2; exit 1; }
	@echo "installing $$(grep -c '^    "node_modules/' package-lock.json) packages into node_modules: a minute or so" >&2
	@$(NPM) ci --strict-allow-scripts >&2
	@touch $@

install: node_modules/.package-lock.json ## Install dependencies

# Commands that report faults must run despite them. Standard output is reserved for their reports.
commands: install
	@$(NODE) src/build/compile-templates.ts --sound >&2

# Otherwise tap builds them in its first run, but uses its default plugins for that run.
node_modules/.tap-plugins: node_modules/.package-lock.json .taprc
	@$(BIN)/tap build
	@touch $@

# On a terminal run it as its own job, so that Ctrl-C reaches it alone: make would report the signal as a failure.
# Its events have the form of the product's own envelope map. A variable in the recipe would put a shell between make and bash, and keep
# signals from bash.
run: override export HOUSE :=
run: build ## Start a local stack and the service, publish events, show the results (PORT)
	@$(if $(GIVEN_HOUSE),echo "HOUSE is not used: this shows the product's own rules and texts. Check yours by make rules-check HOUSE=…" >&2)
	@bash -c 'if [ -t 0 ]; then set -m; fi; $(NODE) test/stack/run.ts; exit $$?'

# Hundreds of short processes: Node keeps what it compiled, and Java compiles quickly rather than well.
test mutants: export NODE_COMPILE_CACHE := $(CURDIR)/.cache/compiled
test mutants: export JDK_JAVA_OPTIONS := -XX:TieredStopAtLevel=1
test: $(if $(TESTS),build,check) node_modules/.tap-plugins tools ## Check, then test on a local stack; TESTS=test/x.test.ts runs that file alone, in seconds
	@for one in $(filter-out -%,$(TESTS)); do test -f "$$one" || { echo "TESTS names $$one, which is no file" >&2; exit 1; }; done
	@$(FIRST) RESULTS=.cache/test-results.tap $(NODE) test/stack/with-stack.ts -- env $(TAP) --output-file=.cache/test-results.tap $(TESTS); \
	  code=$$?; $(SKIPPED) .cache/test-results.tap; exit $$code

check: build rules-check ## Check rule table, format, lint, types, imports, dead code, migrations and generated docs
	$(BIN)/biome ci --error-on-warnings .
	$(BIN)/tsc --incremental --tsBuildInfoFile .cache/types.tsbuildinfo
	$(BIN)/tsc --project src/console/page --incremental --tsBuildInfoFile .cache/types-console.tsbuildinfo
	$(BIN)/depcruise --config .dependency-cruiser.mjs --output-type err src test
	$(BIN)/knip
	$(BIN)/knip --production --include exports
	$(NODE) src/build/check-migrations.ts db/migrations/*.sql
	$(NODE) src/build/document-variables.ts --check
	@for wing in src/*/; do find $$wing -name '*.ts*' | sed 's|.*/||' | sort | uniq -d | sed "s|$$| is the name of two files in $$wing|"; done | (! grep .)

format: build ## Format, fix lint, update the table of environment variables and the manifest of alerts
	$(BIN)/biome check --write .
	$(NODE) src/build/document-variables.ts
	mkdir -p .cache
	{ sed '/^spec:$$/q' $(RULE_MANIFEST); sed 's/^/  /' src/service/telemetry/alerts.yaml; } > .cache/alerts && cp .cache/alerts $(RULE_MANIFEST)

## The rule table

rules-check: commands ## Check the rule table, its promises and the envelope map
	@$(NODE) src/main.ts rules check $(ANNOTATIONS)

rules-diff: commands ## Describe which decisions differ from the rule table of AGAINST (main)
	@$(NODE) src/main.ts rules diff --against "$$AGAINST"

rules-accept: commands ## Accept the outcomes of the rule table and the texts, and show what changed
	@$(NODE) src/main.ts rules outcomes --accept
	@git -C "$$HOUSE" --no-pager diff -- rules/outcomes.txt

## Texts

templates-check: commands ## Check all texts: faults by file and line, length by SMS, variables
	@$(NODE) src/main.ts templates check $(ANNOTATIONS)

## Pull requests (.github/workflows)

rules-summary: commands ## Summarise a pull request to AGAINST as Markdown: faults, changes, texts
	@$(NODE) src/main.ts rules summary --against "$$(git -C "$$HOUSE" merge-base "$$AGAINST" HEAD)"

rules-outcomes: commands ## Print the outcomes that rules-accept would record
	@$(NODE) src/main.ts rules outcomes

# Runs none of the branch's code: it takes the one file that the checks of the pull request made.
rules-commit: ## Push the outcomes of pull request PR onto its branch as the accepted ones
	@bash src/build/accept-outcomes.sh

## Operation

migrate: build ## Bring the schema of DATABASE_URL up to date
	@$(NODE) src/main.ts migrate

release-notes: ## Print the changelog of this version
	@awk '/^## /{ wanted = $$2 == "'$$(sed -n 's/^  "version": "\(.*\)",/\1/p' package.json)'" } wanted' .github/CHANGELOG.md | grep .

vulnerabilities: install ## Check what the service depends on at run time for known vulnerabilities (asks the registry)
	@$(NPM) audit --omit=dev --audit-level=moderate

image: build ## Build and try the image, and that of HOUSE, without a container engine (src/deploy/README.md)
	@test/deploy/image.sh

## Measurements (test/bench/README.md)

bench: build ## Throughput against a bare minimum, and against the checkout BEFORE
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/main.ts

bench-latency: build ## CPU and time from publishing to commit at everyday rates (RATES, BEFORE)
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/latency.ts

bench-growth: build ## Throughput with 0, 1 and 10 million rows in the log (SIZES), and reads by each filter
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/bench/growth.ts

## Long runs

# Without tap's runner, whose recorder makes it several times slower.
simulate: build ## 100,000 interleavings of attempts against a store in memory (SCHEDULES, SEED)
	@$(FIRST) TAP_TIMEOUT=3600 SCHEDULES=$${SCHEDULES:-100000} $(NODE) test/service/attempt/simulator.test.ts

chaos: build ## Inject seeded faults into real processes (SEED, CYCLES, REPLICAS, BROKERS; POOLER=transaction: through PgBouncer)
	@$(FIRST) $(NODE) test/chaos/main.ts

# Tests that need these are skipped without them, and a mutant that no test saw would count as one that survived.
tools: install
	@$(NODE) test/stack/chromium.ts && $(NODE) test/stack/promtool.ts

mutants: build tools ## Apply small defects one by one, and show which tests notice them (MUTANTS, ALL=1)
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/mutants/main.ts

soak: soak-brokers soak-transactions soak-histories soak-upgrade soak-hold soak-member soak-plans soak-properties ## Run all soak tests below

soak-brokers: build ## Each of three brokers frozen for 40 s, killed, unreachable and slow in turn (KINDS), ROUNDS (1) times, beside a consumer by librdkafka (kcat)
	@$(FIRST) $(NODE) test/soak/brokers.ts

soak-transactions: build node_modules/.tap-plugins ## Random transactions against Kafka's own client (STEPS, SEEDS); PASSES (10) of EVENTS (15000) into a backlog
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/transactions.ts
	@$(FIRST) PASSES=$${PASSES:-10} EVENTS=$${EVENTS:-15000} $(NODE) test/stack/with-stack.ts -- env $(TAP) --timeout=3600 test/process/backed-up-transactions.test.ts

soak-histories: build node_modules/.tap-plugins ## 100,000 random histories of a partition (HISTORIES), on all processors
	@$(FIRST) HISTORIES=$${HISTORIES:-100000} $(TAP) --timeout=1800 test/service/consume/histories.test.ts

soak-upgrade: build ## A rolling restart to a version with pending migrations, on ROWS (1000000) rows under 500 events/s
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/upgrade.ts

soak-hold: build ## All messages held for SECONDS (60) under RATE (2000) events/s, two of three replicas killed and one upgraded meanwhile
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/hold.ts

soak-member: build ## One member PUTs preferences 10, 50 and 200 times a second (RATES), the database 60 and 1 ms away (DELAYS)
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- $(NODE) test/soak/eager-member.ts

soak-plans: build node_modules/.tap-plugins ## Rows that statements read of a log of 5,000,000 rows (ROWS), with a misled planner
	@$(FIRST) ROWS=$${ROWS:-5000000} $(NODE) test/stack/with-stack.ts -- env $(TAP) --timeout=3600 test/service/store/misled-plans.test.ts test/service/store/misled-pages.test.ts

soak-properties: build node_modules/.tap-plugins ## Tests of properties with ROUNDS (20) random seeds, where make test has one
	@$(FIRST) $(NODE) test/stack/with-stack.ts -- bash -c 'for seed in $$(shuf -i 1-1000000000 -n $${ROUNDS:-20}); do \
	  echo "SEED=$$seed"; SEED=$$seed $(TAP) $(shell grep -rl "stack/properties.ts'" test) || exit 1; done'
