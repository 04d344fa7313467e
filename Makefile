# The commands of this project. `make run` is all that a new user needs.

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
COLLOQUY := $(TARGET_DIR)/release/colloquy

.PHONY: help run test bench

help: ## Show this list
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+): .*## (.*)/  make \1\t\2/' | expand -t 16

run: ## Build, get an engine and a model, and open the chat page
	@scripts/needs.sh
	@$(CARGO) build --locked --release --package colloquy-server
	@$(COLLOQUY) setup || echo "colloquy: setup did not finish; starting without it" >&2
	@exec $(COLLOQUY) serve --open

test: ## Everything that CI runs
	@scripts/needs.sh
	@$(CARGO) xtask ci

bench: ## Measure what the README promises
	@$(CARGO) xtask bench
