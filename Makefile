NODE_VERSION := $(shell sed -n 's/.*"node": "\([0-9.]*\)".*/\1/p' package.json)
# Until node_modules has it, the pinned Node comes from npm's cache; npm itself runs under it too.
NPM_EXEC := npm exec --yes --package=node@$(NODE_VERSION) --
NODE := node_modules/.bin/node
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help build check test

help: ## Show this help
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

node_modules/.package-lock.json: package.json package-lock.json
	$(NPM_EXEC) npm ci
	@touch $@

build: node_modules/.package-lock.json ## Install and compile everything

check: build ## Formatter, linter, types, import rules, dead code
	biome ci --error-on-warnings
	tsc
