# capfst: `make demo` and `make test` set up all they need in .venv; `make lm CORPUS=…` trains a model.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CAPFST := $(BIN)/capfst

OUT ?= cap.fst
# A value as one word of the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'
ORDER ?= 3
TRAIN_OPTIONS := --order $(ORDER) $(if $(MAX_NGRAMS),--max-ngrams $(MAX_NGRAMS)) $(OPTIONS)

.PHONY: help kernels demo test bounds lint lm model bench docs package clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo                       train on the Python language reference, recase sentences, show scores'
	@echo 'make test                       all tests'
	@echo 'make kernels                    build the kernels that have changed'
	@echo 'make bounds                     some tests with the indices of kernels checked'
	@echo 'make lm CORPUS=path             train a model: a file, a folder or a quoted glob; also compressed'
	@echo '        [OUT=cap.fst ORDER=3 MAX_NGRAMS=20000000 OPTIONS="--no-clean"]'
	@echo 'make model SOURCES=folder        a ready model, from the texts that its card names [NAME=multi]'
	@echo 'make bench CORPUS=path TEXT=f    speed and accuracy beside peers [KENLM=folder BENCH_OPTIONS=…]'
	@echo 'make docs                       the documentation as a site, in build/site'
	@echo 'make lint                       style, types and the layers of the package'
	@echo 'make package                    wheel and source distribution, in dist/'
	@echo 'make clean                      remove what make made'

# The environment, in stages: what capfst needs to run, and what an extra of pyproject.toml adds to it (dev, docs, …). Made
# again when a requirement changes, not when code does (the install is editable). The bytecode of the large extras is left
# to when it is needed.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

$(VENV)/core: pyproject.toml constraints.txt setup.py $(wildcard capfst/kernels/*.c)
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) -e .
	touch $@

$(VENV)/%: $(VENV)/core
	$(PIP_INSTALL) --no-compile -e '.[$*]'
	touch $@

# Compiled by numba in an environment of the build's own.
kernels: $(VENV)/core
	$(PIP_INSTALL) --no-deps -e .

demo: $(VENV)/core
	$(BIN)/python scripts/demo.py

# At most four processes: each trains models of its own.
test: $(VENV)/dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4

# Tests that go through most kernels, which are compiled anew, to check each index: in one process, so that each is
# compiled once.
bounds: $(VENV)/dev
	CAPFST_KERNELS=jit NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest --timeout 900 \
		-m 'not slow' tests/test_edges.py tests/training/test_stages.py tests/io/test_formats.py tests/casing/test_surface.py \
		tests/search/test_engines.py tests/lm/test_arpa.py tests/evaluate/test_score.py

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# A corpus may be a folder or a glob, whose age says little: `make lm` always trains.
lm: $(VENV)/core
	@$(if $(CORPUS),,echo 'make lm: say what to train on: make lm CORPUS=path' >&2; exit 2)
	$(CAPFST) train $(call quoted,$(CORPUS)) -o $(call quoted,$(OUT)) $(TRAIN_OPTIONS)

# A ready model; its card, capfst/models/NAME.json, says which texts must be in the folder.
NAME ?= en
model: $(if $(SOURCES),$(VENV)/words)
	@$(if $(SOURCES),,echo 'make model: say where the texts are: make model SOURCES=folder' >&2; exit 2)
	$(BIN)/python scripts/ready_model.py make $(call quoted,$(NAME)) $(call quoted,$(SOURCES))

# Needs a corpus and a text; KENLM=folder of KenLM's programs.
bench: $(if $(and $(CORPUS),$(TEXT)),$(VENV)/bench)
	@$(if $(and $(CORPUS),$(TEXT)),,echo 'make bench: say CORPUS=path and TEXT=held-out text' >&2; exit 2)
	$(BIN)/python scripts/bench.py $(call quoted,$(CORPUS)) $(call quoted,$(TEXT)) $(if $(KENLM),--kenlm $(call quoted,$(KENLM))) $(BENCH_OPTIONS)

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet --strict
	@echo 'build/site/index.html'

# The wheel is built from the source distribution.
package: $(VENV)/package
	rm -rf dist
	CAPFST_LEVELS=all $(BIN)/python -m build --quiet --outdir dist .
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf capfst/kernels/lib capfst/kernels/*.so $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.fst
