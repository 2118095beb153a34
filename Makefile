# capfst: `make demo` and `make test` install their dependencies in .venv; `make lm CORPUS=…` trains a model.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CAPFST := $(BIN)/capfst

OUT ?= cap.fst
# Quote a value as one word of the shell.
quoted = '$(subst ','\'',$(1))'
ORDER ?= 3
TRAIN_OPTIONS := --order $(ORDER) $(if $(MAX_NGRAMS),--max-ngrams $(MAX_NGRAMS)) $(OPTIONS)

.PHONY: help kernels demo test quick bounds fuzz lint lm model bench bench-against experiments docs wheels clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo                       recase sentences, train on the language reference of Python, show scores'
	@echo 'make test                       all tests'
	@echo 'make quick                      the tests that are not slow, without Spark'
	@echo 'make kernels                    build changed kernels'
	@echo 'make bounds                     a part of the tests, with checked array indices'
	@echo 'make lm CORPUS=path             train a model: a file, a folder or a quoted glob, also compressed'
	@echo '        [OUT=cap.fst ORDER=3 MAX_NGRAMS=20000000 OPTIONS="--no-clean"]'
	@echo 'make model SOURCES=folder       build a bundled model from the texts of its model card [NAME=multi MARKS=model]'
	@echo 'make bench CORPUS=path TEXT=f   measure models of several sizes, and KenLM [KENLM=folder BENCH_OPTIONS=…]'
	@echo 'make bench-against REV=revision TEXT=f'
	@echo '                                compare the processor time of a revision with that of this checkout'
	@echo '        [BENCH_OPTIONS="--runs 9 --marks marks.fst"]'
	@echo 'make experiments                run the documented experiments and benchmarks on small parts of corpora'
	@echo '        [DATA=folder BRIEF=1]'
	@echo 'make docs                       build the documentation site, in build/site'
	@echo 'make fuzz                       attack capfst with random and repeated text, damaged models, signals and requests, for 20 minutes'
	@echo 'make lint                       check style, types and the layers of the package'
	@echo 'make wheels                     build the source distribution, and wheels for Linux, in dist/'
	@echo '        [PROCESSORS="x86_64 aarch64"]'
	@echo 'make clean                      remove everything that make has built'

# The environment, in stages: capfst's own dependencies (core), then those of an extra of pyproject.toml (dev, docs, …).
# Rebuilt when a requirement changes, but not when code changes, because the install is editable. The bytecode of the large
# extras is compiled at first use.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

$(VENV)/core: pyproject.toml constraints.txt setup.py $(wildcard capfst/kernels/*.c)
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) -e .
	touch $@

$(VENV)/%: $(VENV)/core
	$(PIP_INSTALL) --no-compile -e '.[$*]'
	touch $@

# numba compiles them in pip's isolated build environment.
kernels: $(VENV)/core
	$(PIP_INSTALL) --no-deps -e .

demo: $(VENV)/core
	$(BIN)/python scripts/demo.py

# At most four processes, because each trains its own models.
test: $(VENV)/dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4

quick: $(VENV)/dev
	$(BIN)/python -m pytest -n auto --maxprocesses 4 -m 'not slow and not spark'

# Tests that call most kernels, which are compiled again with index checks; in one process, so that each kernel is compiled
# once.
bounds: $(VENV)/dev
	CAPFST_KERNELS=jit NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest --timeout 900 \
		-m 'not slow' tests/test_edges.py tests/training/test_stages.py tests/io/test_formats.py tests/casing/test_surface.py \
		tests/search/test_engines.py tests/lm/test_arpa.py tests/evaluate/test_score.py

fuzz: $(VENV)/dev
	$(BIN)/python scripts/maintain/fuzz.py lines 1000000
	$(BIN)/python scripts/maintain/fuzz.py files 20000
	$(BIN)/python scripts/maintain/fuzz.py models 5000
	$(BIN)/python scripts/maintain/fuzz.py growth 500
	$(BIN)/python scripts/maintain/fuzz.py signals 200
	$(BIN)/python scripts/maintain/fuzz.py soak 120
	$(BIN)/python scripts/maintain/fuzz.py service 120

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# `make lm` always trains: the age of a folder or glob does not show whether its files have changed.
lm: $(VENV)/core
	@$(if $(CORPUS),,echo 'make lm: no corpus. Run: make lm CORPUS=path' >&2; exit 2)
	$(CAPFST) train $(call quoted,$(CORPUS)) -o $(call quoted,$(OUT)) $(TRAIN_OPTIONS)

# Build a bundled model; its model card, capfst/models/NAME.json, lists the texts and word lists that must be in the folder.
NAME ?= en
model: $(if $(SOURCES),$(VENV)/core $(VENV)/words)
	@$(if $(SOURCES),,echo 'make model: no texts. Run: make model SOURCES=folder' >&2; exit 2)
	$(BIN)/python scripts/maintain/ready_model.py make $(call quoted,$(NAME)) $(call quoted,$(SOURCES)) $(if $(MARKS),--marks $(call quoted,$(MARKS)))

# Results are written to build/bench.json. KENLM is the folder of KenLM's programs.
bench: $(if $(and $(CORPUS),$(TEXT)),$(VENV)/bench)
	@$(if $(and $(CORPUS),$(TEXT)),,echo 'make bench: no corpus or text. Run: make bench CORPUS=path TEXT=held-out-text' >&2; exit 2)
	$(BIN)/python scripts/bench/bench.py $(call quoted,$(CORPUS)) $(call quoted,$(TEXT)) $(if $(KENLM),--kenlm $(call quoted,$(KENLM))) $(BENCH_OPTIONS)

# The other revision is installed in build/against/.
bench-against: $(if $(and $(REV),$(TEXT)),$(VENV)/core)
	@$(if $(and $(REV),$(TEXT)),,echo 'make bench-against: no revision or text. Run: make bench-against REV=revision TEXT=cased-text' >&2; exit 2)
	$(BIN)/python scripts/bench/against.py $(call quoted,$(REV)) $(call quoted,$(TEXT)) $(BENCH_OPTIONS)

# Commands whose packages or programs are not installed are left out; BRIEF=1 also leaves out those that take long.
experiments: $(VENV)/dev
	$(BIN)/python scripts/maintain/run_documented.py $(if $(DATA),--data $(call quoted,$(DATA))) $(if $(BRIEF),--brief)

docs: $(VENV)/docs
	NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --quiet --strict
	@echo 'build/site/index.html'

# The wheels are built from the source distribution.
PROCESSORS ?= x86_64 aarch64
wheels: $(VENV)/package
	rm -rf dist
	$(BIN)/python -m build --quiet --no-isolation --sdist --outdir dist .
	.ci/manylinux $(PROCESSORS)
	$(BIN)/twine check --strict dist/*

clean:
	rm -rf capfst/kernels/lib capfst/kernels/*.so $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis demo.fst
