# Smelter's front door. Bare `make` prints this menu.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
unexport PYTHONDONTWRITEBYTECODE  # without bytecode every start is slow

SMELT := .venv/bin/smelt
LAKE := $(or $(SMELTER_LAKE),warehouse)
# The shim of a version manager may exist without a Python behind it, hence asking and not only looking.
FIND_PYTHON = python=python3.11; $$python -c '' 2>/dev/null || python=python3; \
	command -v $$python >/dev/null || { echo "Python 3.11 is needed, but there is no python3 on PATH: install python3.11" >&2; exit 3; }
UV_VERSION := 0.13.7

.PHONY: help setup starts demo up down logs test lint bench prove recompute soak lock clean

help: ## Print this menu
	@echo "Smelter: every record that arrives is in exactly one place, bronze or dead letters."
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)$$/  make \1	\2/p' Makefile | expand -t 16

setup: ## Make .venv and .jars, verified (quick when they are there)
	@$(FIND_PYTHON); $$python include/install.py

starts: setup ## Keep what Java reads at each start of Spark, so that later starts take a third less time (once, 40 s)
	@.venv/bin/python -m smelter.lake.class_archive

demo: setup ## Run the whole job on the embedded lake and print what it did
	@$(SMELT) demo

up: starts ## Start the whole platform on this machine, Airflow among it (SAMPLE=1, PORT=, DATASETS=)
	@$(SMELT) up $(if $(SAMPLE),--sample) $(if $(PORT),--port $(PORT)) $(if $(DATASETS),--datasets $(DATASETS))

down: ## Stop the platform, after the running batches
	@$(SMELT) down

logs: ## Follow what the keeper, Airflow and the drivers of the streams say; Ctrl-C ends it
	@cd "$(LAKE)/run/airflow/logs" 2>/dev/null || { echo "there are no logs yet: make up"; exit 1; }; \
		exec tail -n 5 -F *.log $$(ls ../../streams/*/driver.log 2>/dev/null)

test: starts ## Check style, imports and types, then test every room (ROOM=name for one)
	@.venv/bin/python tests/run_rooms.py $(ROOM)

lint: setup ## Check style, imports and types only
	@.venv/bin/python tests/run_rooms.py --lint

bench: starts ## Measure bronze and the judge beside the alternatives, replay beside bronze, questions beside bare DuckDB, the stream, silver and maintenance against themselves
	@$(SMELT) bench bronze
	@$(SMELT) bench silver
	@$(SMELT) bench replay
	@$(SMELT) bench maintain
	@$(SMELT) bench explore
	@$(SMELT) bench judge
	@$(SMELT) bench stream

prove: starts ## Break the stream in every way, 200 times, kill runs over dead letters everywhere, and prove that nothing was lost or doubled (ROUNDS=, SEED=)
	@$(SMELT) prove --rounds $(or $(ROUNDS),200) $(if $(SEED),--seed $(SEED))
	@ALL_POINTS=1 .venv/bin/python -m pytest -q -n 2 tests/dead_letters/test_kills.py tests/dead_letters/test_kills_and_strangers.py

recompute: starts ## Build silver and gold from random events, killed at random, beside plain recomputations (EXAMPLES=, KILLS=)
	@EXAMPLES=$(or $(EXAMPLES),60) KILLS=$(or $(KILLS),20) .venv/bin/python -m pytest -q -n 0 tests/silver/test_silver.py tests/silver/test_kills.py tests/silver/test_removals.py
	@EXAMPLES=$(or $(EXAMPLES),60) .venv/bin/python -m pytest -q -n 0 tests/gold/test_equals.py
	@PLAIN_SPARK=1 EXAMPLES=6 .venv/bin/python -m pytest -q -n 0 tests/silver/test_silver.py
	@PLAIN_SPARK=1 EXAMPLES=3 .venv/bin/python -m pytest -q -n 0 tests/gold/test_equals.py

soak: starts ## Commit beside somebody's compaction; stream, silver, replay and maintenance at once with random kills; ask DuckDB beside a stream and maintenance; then kill and press every part of a running platform (SECONDS=, SEED=, ROUNDS=)
	@.venv/bin/python tests/lake/beside_compaction.py
	@.venv/bin/python tests/maintenance/soak.py --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))
	@.venv/bin/python tests/explore_live/beside_writers.py --seconds $(or $(SECONDS),60) --eager
	@.venv/bin/python tests/explore_live/beside_writers.py --seconds $(or $(SECONDS),60)
	@.venv/bin/python -m pytest -q -n 0 tests/platform/test_platform.py tests/platform/upkeep.py
	@ROUNDS=$(or $(ROUNDS),3) .venv/bin/python -m pytest -q -n 0 tests/platform/soak.py

lock: ## Write requirements.txt anew from requirements.in (UPGRADE=1 for newer versions)
	@mkdir -p build
	@$(FIND_PYTHON); $$python -m venv build/lock
	@build/lock/bin/pip install --quiet uv==$(UV_VERSION)
	@env -u PIP_FIND_LINKS -u UV_FIND_LINKS build/lock/bin/uv pip compile requirements.in --quiet \
		--generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links --no-annotate \
		--custom-compile-command "make lock" $(if $(UPGRADE),--upgrade) --output-file requirements.txt
	@rm -rf build/lock
	@echo "requirements.txt is written; make setup installs it"

clean: ## Remove .venv, .jars, build and caches; never your data
	@rm -rf .venv .jars build .mypy_cache .ruff_cache .import_linter_cache .hypothesis include/smelter.egg-info
	@find dags jobs include tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "Removed .venv, .jars, build and caches. Landing files and tables are untouched (smelt lake drop removes tables)."
