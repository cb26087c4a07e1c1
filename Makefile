# Two commands to know: `make demo` shows what it does, `make test` runs all tests.
# Each sets up a virtual environment first; a second call finds it ready. The demo installs the library
# as a user would, everything else adds the tools of developers.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := src tests docs benchmarks papers

.PHONY: demo test browser postgres check rest format lint types blocks docs pictures notebooks bench reproduce clean

demo: $(INSTALLED)
	$(BIN)/tightrope demo

test: $(READY) browser postgres
	$(BIN)/python -m pytest -m ''

# the report is tested in a real browser
browser:
	command -v chromium >/dev/null || (apt-get update && apt-get install -y --no-install-recommends chromium)

# studies are tested on a real PostgreSQL server, which the tests start and stop themselves
postgres:
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || (apt-get update && apt-get install -y --no-install-recommends postgresql)

check: test rest

rest: format lint types blocks docs

format: $(READY)
	$(BIN)/ruff format --check $(SOURCES)

lint: $(READY)
	$(BIN)/ruff check $(SOURCES)

types: $(READY)
	$(BIN)/mypy

blocks: $(READY)
	$(BIN)/python -m pytest docs

# the pages open from disk: docs/build/index.html
docs: $(READY)
	$(BIN)/sphinx-build -E -W --keep-going -n -q docs docs/build
	$(BIN)/python docs/pages/offline.py docs/build

# drawn by the commands and by the code that the pages show
pictures: $(READY) browser
	PYTHONPATH=docs $(BIN)/python docs/pages/pictures.py
	$(BIN)/tightrope solve grid --figure docs/pictures/grid.png
	$(BIN)/tightrope demo --out $(VENV)/demo
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1180,1330 --virtual-time-budget=9000 --screenshot=docs/pictures/report.png $(VENV)/demo/report.html
	$(BIN)/tightrope solve gym:FrozenLake-v1 --horizon 40 --budget holes=0.05 --figure docs/pictures/frozenlake.png
	$(BIN)/tightrope learn gym:FrozenLake-v1 --horizon 20 --budget holes=0.2 --episodes 2000 --stationary \
		--confidence tight --confidence pool=true --confidence scale=0.02 \
		--total-range holes=0,1 --total-range reward=0,1 --figure docs/pictures/gym-learn.png

# run from top to bottom and kept with their outputs
notebooks: $(READY)
	PYTHONPATH=docs $(BIN)/python docs/pages/notebooks.py

bench: $(READY)
	$(BIN)/python benchmarks/planning.py
	$(BIN)/python benchmarks/large.py
	$(BIN)/python benchmarks/lasting.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/learning.py
	$(BIN)/python benchmarks/experiments.py

# the paper's claims, measured: hours; ARGS="--from records" writes the page from stored runs
reproduce: $(READY)
	$(BIN)/python papers/efroni2020/reproduce.py $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis docs/build docs/generated

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tightrope needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV) || (apt-get update && apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV))
	$(PIP) --editable .
	touch $@

$(READY): $(INSTALLED)
	$(PIP) --editable '.[dev]'
	touch $@
