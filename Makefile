# make demo: the default study, from text to the report.  make test: the checks of ten minutes; make test-long: the
# others; make test-optional: those of optional packages and programs.
# make docs: the site.  make web: the engine for browsers.
PYTHON ?= $(or $(shell command -v python3.11),python3)
# An active virtual or conda environment is used as it is, but for conda's base; otherwise .venv is made.
ENVIRONMENT := $(or $(VIRTUAL_ENV),$(if $(filter-out base,$(CONDA_DEFAULT_ENV)),$(CONDA_PREFIX)),.venv)
BIN := $(ENVIRONMENT)/bin
INSTALLED := $(ENVIRONMENT)/.nmt-frontier-installed
PACKAGES = $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
CORES ?= all
CLUSTER_RECORD ?= results/reference/cluster

.PHONY: demo test test-long test-optional lint test-cluster docs pages install web wheels reference lock build/images/pipeline.tar

install: $(INSTALLED)

# The engine is compiled beside pip, which takes one core, with the tools that are installed first. The project follows
# them: among all packages, Setuptools would look through each of them. Then all modules are compiled, on all cores,
# where pip takes one and leaves this project's out: a job that may not write bytecode (PYTHONDONTWRITEBYTECODE) would
# compile what it imports. Some packages hold examples that do not compile, and tests.
BUILD_TOOLS := cmake|ninja|packaging|pathspec|scikit-build-core|setuptools
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
$(INSTALLED): requirements.lock pyproject.toml $(wildcard engine/*.* engine/*/*.* engine/python/*/*.py engine/python/*/*/*.py web/*.* web/page/*.*)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(ENVIRONMENT)
	@awk '/^[^ #]/ {wanted = /^($(BUILD_TOOLS))==/} wanted' requirements.lock | $(PIP) --require-hashes -r /dev/stdin
	@$(PIP) --no-build-isolation --editable .
	@$(BIN)/python engine/build.py & engine=$$!; trap 'kill $$engine' TERM; \
	$(PIP) --no-compile --require-hashes -r requirements.lock; status=$$?; \
	if test $$status = 0; then $(BIN)/python -W ignore -m compileall -qq -j 0 -x 'site-packages/.*/tests?/' src papers $(PACKAGES); \
	else kill $$engine; fi; \
	wait $$engine && exit $$status
	touch $@

# Without the corpora of the default study (no mirror, no network), the same study runs on the built-in corpus. The
# estimate is for this machine, which is measured before the first study; Snakemake itself measures nothing.
demo: install
	-@$(BIN)/python -m study.rates --once > /dev/null
	@if $(BIN)/python -m study.available configs/demo.yaml; then study=demo; else study=offline; \
	echo; echo "The corpora of configs/demo.yaml cannot be had (see above): running configs/offline.yaml, a built-in corpus."; fi; \
	$(BIN)/snakemake all first_front --cores $(CORES) --configfile configs/$$study.yaml && \
	$(BIN)/python -m report.terminal --measurements results/$$study/measurements.json

CPP := $(wildcard engine/*.h engine/*.cpp engine/*/*.h engine/*/*.hpp engine/*/*.c engine/*/*.cpp tests/data/*.cpp)
PYTEST := $(BIN)/python -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder \
  --durations 25 --ignore tests/pipeline/test_cluster.py
test: lint
	$(BIN)/mypy & types=$$!; $(PYTEST) -m "not long and not optional"; tests=$$?; wait $$types && exit $$tests

# The other tests: sanitizers, AArch64 under qemu, further studies and trainings, replicas, images, notebooks, the site.
# That of a cluster is test-cluster, as it mostly waits.
test-long: install
	@$(call debian,qemu-user g++-aarch64-linux-gnu emscripten) || true
	$(PYTEST) -m "long and not optional"

# As root on Debian, packages of the distribution: $(call debian,PACKAGES).
APT := apt-get install --yes -qq --no-install-recommends -o DPkg::Lock::Timeout=300
debian = if command -v apt-get > /dev/null && test $$(id -u) = 0; then \
  ($(APT) $(1) || (apt-get update -qq && $(APT) $(1))) > /dev/null 2>&1 || { echo "apt-get cannot install $(1)"; false; }; fi

# The tests of what `make install` leaves out: optional packages, in a folder beside the environment, which stays as it
# is, and programs, installed on Debian as root; elsewhere the tests of what is missing are skipped. The folder has what
# the environment lacks; of what both would have, the locks name one version (tests/pipeline/test_locks.py).
OPTIONAL := build/optional
OPTIONAL_LOCKS := $(patsubst %,requirements-%.lock,huggingface tokenizers marian parquet slurm)
test-optional: $(OPTIONAL)/.installed
	@$(call debian,chromium firefox-esr esbuild buildah busybox-static texlive-latex-recommended)
	PYTHONPATH=$(abspath $(OPTIONAL))$${PYTHONPATH:+:$$PYTHONPATH} $(PYTEST) -m optional

$(OPTIONAL)/.installed: requirements.lock $(OPTIONAL_LOCKS) | install
	@test $$(df --output=avail --block-size=1M . | tail -n 1) -ge 4000 || \
	{ echo "$(OPTIONAL) and the programs of its tests need 4 GB of disk; here are less (df .)" >&2; exit 1; }
	@rm -rf $(OPTIONAL) && mkdir -p $(OPTIONAL)
	@awk 'NR == FNR {own[$$1]; next} /^[^ #]/ {wanted = !($$1 in own)} wanted' requirements.lock $(OPTIONAL_LOCKS) | \
	$(PIP) --no-cache-dir --no-compile --require-hashes --target $(OPTIONAL) -r /dev/stdin || \
	{ echo "where torch is not found, requirements-huggingface.in says what to do" >&2; exit 1; }
	@touch $@

# Seconds instead of minutes: what the tests begin with.
lint: install
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/snakefmt --check Snakefile workflow/rules papers
	$(BIN)/lint-imports --no-logo --no-cache

# A study through a real Slurm of one node (docs/cluster.md). On Debian, as root, it installs what is missing.
test-cluster: install
	@command -v slurmctld > /dev/null || $(call debian,slurmctld slurmd slurm-client munge) || true
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-slurm.lock
	CLUSTER_RECORD=$(CLUSTER_RECORD) $(BIN)/python -m pytest -rs tests/pipeline/test_cluster.py

# Tables, pictures and pages of the studies in results/reference, in build/pages, from their JSON. Checksums of the texts
# are in git: git diff shows which of them a change of code or JSON changes.
pages: install
	@rm -rf build/pages  # a page that is no longer made has no checksum
	$(BIN)/python benchmarks/pages.py --output build/pages
	$(BIN)/python -m report.pages --checksums results/reference/pages.sha256 --output build/pages

# The site: README, docs/, the API and the pages above, in build/site/index.html. tests/pipeline/test_docs.py checks its links,
# too.
docs: pages
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

# The runtime for other machines, in build/dist: the wheels of all platforms, or of some,
# make wheels PLATFORMS="manylinux_2_28_x86_64 win_amd64".
wheels: install
	@$(call debian,emscripten) || true
	@rm -rf build/dist
	$(BIN)/python engine/wheels.py build/dist $(if $(PLATFORMS),--platforms $(PLATFORMS))

# The engine as WebAssembly, in web/: emscripten makes it, which Debian has. The next `make install` takes it along.
web: install
	@$(call debian,emscripten) || true
	$(BIN)/python engine/webassembly.py

# The picture of the README.
docs/front.png: results/reference/multi30k/measurements.json | install
	$(BIN)/python -m report front_overview --input $< --output $@ \
	  --systems teacher,deep-long-seed1,conditional,deep-seed1,ssru,gru,deep-original-seed1

# What is kept of a finished study, small enough for git: its JSON, from which make pages makes all else. Of the
# logs it takes the newest one that is about this study: make reference STUDY=demo.
STUDY ?= demo
LOG = $(shell ls -t .snakemake/log/*.snakemake.log 2> /dev/null | xargs -r grep -lF "results/$(STUDY)/" | head -n 1)
reference:
	@test -n "$(LOG)" || { echo "no log of $(STUDY) in .snakemake/log: run the study here, then make reference" >&2; exit 1; }
	$(BIN)/python -m report.keep --study results/$(STUDY) --log $(LOG) --output results/reference/$(STUDY)

# Images (docs/images.md), with buildah; OPTIONS are for `buildah bud`. The pipeline's is of the last commit.
BASE ?= docker.io/library/debian:bookworm-slim
build/images/pipeline.tar: images/pipeline/Containerfile
	rm -rf build/images/checkout && mkdir -p build/images/checkout
	git archive HEAD | tar --extract --directory build/images/checkout
	buildah bud --isolation chroot --build-arg BASE=$(BASE) --file $< --tag nmt-frontier $(OPTIONS) build/images/checkout
	rm -f $@ && buildah push nmt-frontier oci-archive:$@

# Where no registry can be reached: bases of these images, as root, with debootstrap.
build/images/python.tar: PACKAGES := python3
build/images/debian.tar: PACKAGES := ca-certificates,g++,make,python3-venv
build/images/python.tar build/images/debian.tar: images/base/Containerfile
	rm -rf $(@:.tar=) && mkdir -p $(@:.tar=)
	debootstrap --variant=minbase --include=$(PACKAGES) bookworm $(@:.tar=)/root
	tar --create --file $(@:.tar=)/debian.tar --directory $(@:.tar=)/root --numeric-owner \
	  --exclude='./dev/*' --exclude='./var/cache/*' --exclude='./var/lib/apt/lists/*' --exclude='./usr/share/doc/*' \
	  --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/info/*' .
	buildah bud --file $< --ignorefile /dev/null --tag nmt-frontier-base $(@:.tar=)
	rm -rf $(@:.tar=) $@ && buildah push nmt-frontier-base oci-archive:$@

# The one place where versions are chosen. uv writes pip's own format, without the addresses of any index. All that may
# live in one environment agrees: each of SHARED takes the versions of requirements.lock and of those before it.
UV_COMPILE := uv pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url --custom-compile-command "make lock"
SHARED := huggingface tokenizers marian parquet zig wheel
lock:
	$(UV_COMPILE) --override requirements.override requirements.in -o requirements.lock
	before=requirements.lock; for part in $(SHARED); do \
	UV_CONSTRAINT="$$before" $(UV_COMPILE) requirements-$$part.in -o requirements-$$part.lock || exit; \
	before="$$before requirements-$$part.lock"; done
	$(UV_COMPILE) --constraints requirements.lock --override requirements.override requirements-gpu.in -o requirements-gpu.lock
	$(UV_COMPILE) --override requirements.lock --override requirements.override requirements-slurm.in -o requirements-slurm.lock
	$(UV_COMPILE) requirements-command.in -o requirements-command.lock
