# The one door: `make help` lists what there is. Everything runs in .venv, which `make setup` makes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

.DEFAULT_GOAL := help
.PHONY: help setup demo chat chat-page test test-all test-rest test-local install-clients test-clients test-mcp test-durable docs check check-code check-page fmt bench bench-full bench-provenance adapter-data fuzz address cut release test-lowest audit clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 14

setup: $(STAMP) ## make .venv with all that is needed to run, test and check

$(STAMP): pyproject.toml constraints.txt packages/toolspeak-trained/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "toolspeak needs Python 3.11 or later; say which: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --disable-pip-version-check -e packages/toolspeak-trained -e '.[cli,local,meaning,sandbox,gateway,page,otel,prices,mcp,cluster,clients,dev,docs]'
	@touch $@

demo: setup ## pull the embedded model (1.1 GB, once) and ask it about the weather
	$(BIN)/toolspeak pull
	$(BIN)/toolspeak run "What's the weather like in Paris and London? Also convert 20C to Fahrenheit." --tools examples/weather_calculator.py

chat: setup ## talk to the embedded model, which has the tools of the demo
	$(BIN)/toolspeak pull
	$(BIN)/toolspeak chat --tools examples/weather_calculator.py

chat-page: setup ## the same in the browser
	$(BIN)/toolspeak pull
	$(BIN)/toolspeak page --chat --tools examples/weather_calculator.py

test: setup ## run the tests, without those that take long
	$(BIN)/python -m pytest -m 'not slow and not browser'

test-all: setup ## run all tests, the slow ones and those in a browser too
	TOOLSPEAK_TESTS=all $(BIN)/python -m pytest -m 'not heavy'

test-rest: setup ## run what `make test` leaves out of `make test-all`: slow tests, those in a browser, more cases
	TOOLSPEAK_TESTS=rest $(BIN)/python -m pytest -m 'not heavy'

# With a fixed number of threads: how sums are rounded depends on it, and a small model's likeliest word on that.
test-local: export TOOLSPEAK_LOCAL_THREADS ?= 2
test-local: setup ## run the tests of the embedded model, with its real weights; QUICK=1: without the long ones
	$(BIN)/toolspeak pull
	$(BIN)/python -m pytest tests/local -n0 --timeout 900 $(if $(QUICK),-m 'not long')

# In folders of their own: 1.4 GB of npm packages, and Python packages that cannot be installed beside newer ones.
CLIENTS := tests/clients/node_modules/.stamp .venv-clients/.stamp .venv-frameworks/.stamp

tests/clients/node_modules/.stamp: tests/clients/package.json
	@if command -v npm >/dev/null; then \
		npm install --prefix tests/clients --legacy-peer-deps --no-package-lock --no-audit --no-fund --loglevel=error && touch $@ \
		|| echo 'npm could not install the clients in Node, so they are skipped; the reason is above'; \
	else echo 'there is no npm, so clients in Node are skipped: install Node 20 or later, for example `apt install nodejs npm`'; fi

.venv-clients/.stamp: tests/clients/requirements.txt
	$(PYTHON) -m venv --clear .venv-clients
	@.venv-clients/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/clients/requirements.txt && touch $@ \
		|| echo 'google-genai, litellm and instructor could not be installed, so they are skipped; the reason is above'

.venv-frameworks/.stamp: tests/clients/frameworks.txt
	$(PYTHON) -m venv --clear .venv-frameworks
	@.venv-frameworks/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/clients/frameworks.txt && touch $@ \
		|| echo 'the agent frameworks in Python could not be installed, so they are skipped; the reason is above'

install-clients: $(CLIENTS) tests/page/node_modules/.stamp

test-clients: setup $(CLIENTS) ## run real clients and coding agents through the gateway; SMOKE=1: one test of each; TABLE=docs/clients.md: write the page
	$(BIN)/python -m pytest tests/clients $(if $(SMOKE),-m smoke) $(if $(TABLE),--write-table $(TABLE))

MCP_SERVERS := tests/mcp_servers/node_modules/.stamp .venv-mcp-servers/.stamp

tests/mcp_servers/node_modules/.stamp: tests/mcp_servers/package.json
	@if command -v npm >/dev/null; then \
		npm install --prefix tests/mcp_servers --no-package-lock --no-audit --no-fund --loglevel=error && touch $@ \
		|| echo 'npm could not install the servers in Node, so they are skipped; the reason is above'; \
	else echo 'there is no npm, so servers in Node are skipped: install Node 20 or later, for example `apt install nodejs npm`'; fi

.venv-mcp-servers/.stamp: tests/mcp_servers/requirements.txt
	$(PYTHON) -m venv --clear .venv-mcp-servers
	@.venv-mcp-servers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/mcp_servers/requirements.txt && touch $@ \
		|| echo 'the servers in Python could not be installed, so they are skipped; the reason is above'

test-mcp: setup $(MCP_SERVERS) ## use the tools of public MCP servers
	$(BIN)/python -m pytest tests/mcp_servers -n0 -rs

test-durable: setup ## kill workers of durable runs at random, crash their server; KILLS=… on each store, 200 otherwise; CUTS=… of connections, 1000 otherwise
	TOOLSPEAK_KILLS=$(or $(KILLS),200) $(BIN)/python -m pytest tests/durable -m heavy -n0 -rs -s
	TOOLSPEAK_CUTS=$(or $(CUTS),1000) $(BIN)/python -m pytest tests/gateway/test_run_routes.py -k cut -n0 --timeout 3600

docs: setup ## build the guides and the reference into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo 'built; to read it: python3 -m http.server --directory site'

# What checks the page: types of its modules, and accessibility in the tests of a browser.
tests/page/node_modules/.stamp: tests/page/package.json
	@if command -v npm >/dev/null; then \
		npm install --prefix tests/page --no-package-lock --no-audit --no-fund --loglevel=error && touch $@ \
		|| echo 'npm could not install what checks the page, so that is skipped; the reason is above'; \
	else echo 'there is no npm, so the modules of the page are not checked: install Node 20 or later, for example `apt install nodejs npm`'; fi

check-page: tests/page/node_modules/.stamp ## check the types of the modules of the page, if Node is there
	@if [ -x tests/page/node_modules/.bin/tsc ]; then tests/page/node_modules/.bin/tsc -p tests/page; fi

check-code: setup
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/python scripts/house.py
	$(BIN)/python scripts/regexes.py
	$(BIN)/python scripts/api.py check
	$(BIN)/basedpyright

check: setup ## format, lint, types, layers, size, docs, tests
	$(MAKE) --no-print-directory -j2 check-code check-page docs
	$(MAKE) --no-print-directory test

fmt: setup ## format and mend what can be mended
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: setup ## measure beside peers for some minutes, and write bench/speed.md
	$(BIN)/python bench/all.py --short

bench-full: setup ## the same with all peers and more repetitions
	$(BIN)/python bench/all.py

bench-provenance: setup ## play AgentDojo's tasks and attacks with a model that is fooled, for some minutes; ARGS="--suite banking" for a part
	$(BIN)/python bench/provenance.py $(ARGS)

# With files of yours it needs the source of toolspeak and no other package, otherwise pydantic too.
adapter-data: OUT ?= training/out
adapter-data: ## write what an adapter is trained on and measured with, to OUT; EPOCHS=4,5 takes some epochs, SEED=8 draws anew, QUESTIONS=… MEASURE=… files of yours
	PYTHONPATH=src:packages/toolspeak-trained/src $(or $(wildcard $(BIN)/python),$(PYTHON)) training pairs $(OUT) $(if $(EPOCHS),--epochs $(EPOCHS)) $(if $(SEED),--seed $(SEED)) $(if $(QUESTIONS),--questions $(QUESTIONS)) $(if $(MEASURE),--measure $(MEASURE))
	@echo 'now, on a machine with a GPU: python training train MODEL.gguf $(OUT) --runs $(if $(QUESTIONS),your-tools,NAME)'
	@echo 'then here: toolspeak eval --suite $(if $(MEASURE),$(MEASURE) --answers $(OUT)/your-tools.jsonl.gz,field --answers $(OUT)/NAME.jsonl.gz)'

fuzz: export FUZZ_EXAMPLES ?= 40000
fuzz: setup ## look at random for texts that break the reader, for some minutes; FUZZ_EXAMPLES=… says how many
	$(BIN)/python -m pytest tests/reading/test_reading_properties.py tests/reading/test_quotes.py tests/turns/test_turn_reader.py -k "chunking or raise or deltas or shown or first_call or escaped" --hypothesis-profile fuzz --timeout 1800

# A person with an account does the rest: `make address REPOSITORY=…` once, `make cut VERSION=0.2.0`, `make release`, then
# push the tag.
address: ## set the address of the repository in the metadata: REPOSITORY=https://github.com/OWNER/toolspeak
	$(PYTHON) scripts/release.py address $(or $(REPOSITORY),'')

cut: setup ## set the version, cut the changelog, commit and tag: VERSION=0.2.0; nothing is pushed
	$(BIN)/python scripts/release.py cut $(VERSION)

# What describes an environment is in an environment of its own, so that it describes no tools.
.venv-release/.stamp: scripts/release-requirements.txt
	$(PYTHON) -m venv --clear .venv-release
	.venv-release/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/release-requirements.txt
	@touch $@

release: setup .venv-release/.stamp ## build twice and compare, check, install the wheel in fresh Pythons, try it; print what to upload; STRICT=1: fail if that must not be uploaded
	$(BIN)/python scripts/release.py build dist $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(STRICT),--strict)

# Tests of the gateway's clients and of the repository's own tools need packages with other versions. One test compares
# the exact pattern that pydantic writes for a decimal, which is another one since 2.14.
LOWEST_TESTS ?= tests/values tests/reading tests/dialects tests/turns tests/wire tests/loop tests/tools tests/run tests/models tests/execution tests/builtin tests/mcp tests/telemetry tests/durable tests/cli tests/settings tests/page tests/testing
test-lowest: ## run the tests with the lowest versions of all dependencies (constraints-lowest.txt), in an environment of its own
	$(PYTHON) -m venv --clear .venv-lowest
	PIP_CONSTRAINT=constraints-lowest.txt .venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check ./packages/toolspeak-trained -e '.[cli,local,meaning,sandbox,gateway,page,otel,prices,mcp,cluster]' -r scripts/lowest-requirements.txt
	.venv-lowest/bin/python -m pytest $(LOWEST_TESTS) -m 'not slow and not browser' --deselect 'tests/tools/test_function_shapes.py::test_a_model_is_shown_exactly_this_schema[takes_decimal_without_losing_a_digit]'

# Not part of `check`: it needs the network. In an environment of its own, so that nothing else depends on it.
audit: ## look up known advisories for the pinned dependencies; fails where a pin could not be looked up
	$(PYTHON) -m venv --clear .venv-audit
	.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check -r scripts/audit-requirements.txt
	.venv-audit/bin/python scripts/audit.py

clean: ## remove what was made
	rm -rf $(VENV) .venv-audit .venv-release .venv-lowest dist .venv-clients .venv-frameworks .venv-mcp-servers tests/clients/node_modules tests/mcp_servers/node_modules tests/page/node_modules bench/.venvs site
