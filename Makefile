# Two commands: `make learn` opens the course, `make test` checks everything. Both install what is missing.
# Settings: PYTHON=/path/to/python3.12  BROWSER=none  PORT=9000  TORCH=gpu  MODEL=none  SEED=7

PY := .venv/bin/python
SETUP = sh tools/setup.sh --torch "$(TORCH)" --model "$(model)"
# The released model is fetched by these alone.
model := none
learn test chat: model = $(MODEL)
PARALLEL := -n 2 --dist loadfile --no-loadscope-reorder
PYTEST := $(PY) -m pytest $(PARALLEL)
NBVAL := -p tools.nbval_kernels --nbval-current-env
SEED ?= $(shell date +%s)
as_older = ATEN_CPU_CAPABILITY=$1 MKL_ENABLE_INSTRUCTIONS=$2 ONEDNN_MAX_CPU_ISA=$3
test check repeat: export OMP_NUM_THREADS := 1
unexport PYTHONDONTWRITEBYTECODE  # hundreds of Pythons start here: one compiles, all others read
unexport VIRTUAL_ENV  # IPython would add the packages of an environment that happens to be active

.PHONY: learn chat test check repeat install gates format notebooks book pdf serve grade-demo hub-demo mutants bench
.NOTPARALLEL:

learn:
	@$(SETUP) && $(PY) -m tools.start_lab --browser "$(BROWSER)" --port "$(PORT)"

chat:
	@$(SETUP) && $(PY) -m course_utils chat

test: gates book
	$(PYTEST) $(NBVAL) --nbval solutions
	$(PY) -m tools.alone $(PARALLEL) -p tools.nbval_kernels --nbval-lax
	$(PYTEST) -p no:nbval --dist worksteal -m "not benchmark and not exhaustive"

check: gates
	$(PYTEST) -p no:nbval -m "not browser and not thorough and not exhaustive" $$($(PY) -m tools.changed_tests)

install:
	@$(SETUP) --extras test,book,grade,hub

gates: install
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	@$(PY) -m tools.node_tests & javascript=$$!; \
	    $(PY) -m tools.build_notebooks --check; notebooks=$$?; \
	    wait $$javascript && exit $$notebooks

format: install
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# The notebooks with two threads and with the instructions of two older processors: trained numbers
# differ a little among them, printed ones must not. Then the tests in random order.
repeat: install
	NOTEBOOK_THREADS=2 $(PYTEST) $(NBVAL) --nbval solutions
	$(call as_older,avx2,AVX2,AVX2) $(PYTEST) $(NBVAL) --nbval solutions
	$(call as_older,default,SSE4_2,SSE41) $(PYTEST) $(NBVAL) --nbval solutions
	$(PYTEST) -p no:nbval --dist worksteal --random-order-bucket=global --random-order-seed=$(SEED)

notebooks: install
	$(PY) -m tools.build_notebooks

book: install
	$(PY) -m book.build --edition $(or $(EDITION),learner)

pdf: book
	$(PY) -m book.pdf --edition $(or $(EDITION),learner)

serve: book
	$(PY) -m http.server --bind 127.0.0.1 --directory _build/html$(if $(filter instructor,$(EDITION)),-instructor) $(or $(PORT),8000)

grade-demo: install
	$(PY) -m tools.grade_demo

hub-demo:
	@$(SETUP) --extras hub
	@test -e node_modules/.bin/configurable-http-proxy || npm ci --silent
	@$(PY) -m tools.hub_demo $(if $(PORT),--port $(PORT))

mutants: install
	$(PY) -m tools.mutation.misconceptions
	$(PY) -m tools.mutation.run --json book/unlisted.json

bench:
	@$(SETUP) --extras bench
	$(PY) -m benchmarks.peers.bench
	$(PY) -m benchmarks.services.verdicts
	$(PY) -m benchmarks.chapters.ch19.chapter_19_decode
