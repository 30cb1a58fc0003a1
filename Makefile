# The project's front door; `make help` lists what it offers. The work is CMake's: see CMakePresets.json.
SHELL := /bin/bash
JOBS  ?= $(shell nproc)
SUDO  := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
RUN   := build/release/bin/towline run
DECK  ?= 64

.PHONY: help packages build demo test test-programs soak asan tsan clang bench bench-mpi bench-layout bench-net fuzz install clean
.DEFAULT_GOAL := help

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

PACKAGES := packages.txt
packages: ## installs what packages.txt lists and this machine lacks
	@missing=$$(for p in $$(sed 's/#.*//' $(PACKAGES)); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then echo "installing:" $$missing; \
	  $(SUDO) apt-get update -q && \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; fi

build/%/build.ninja: CMakeLists.txt CMakePresets.json | packages
	cmake --preset $*

build: build/release/build.ninja ## the libraries, the tool, examples and tests in build/release
	cmake --build build/release -j $(JOBS)

demo: build/release/build.ninja ## the blast wave on 4 processes (DECK=128 for the big one)
	cmake --build build/release -j $(JOBS) --target towline-tool 10_blast towline-malloc
	$(RUN) -n 4 --stats build/release/bin/10_blast examples/10_blast/sedov$(DECK).toml --output build/blast

test: build ## every test
	ctest --test-dir build/release --output-on-failure

test-programs: build/release/build.ninja ## real programs: MPICH's and mpi4py's test suites, also on two nodes, NetPIPE, NumPy, binaries that cross over (SUITES="mpich netpipe")
	cmake --build build/release -j $(JOBS) --target towline-tool towline-malloc mpiexec mpi_abi
	python3 tests/suites/all.py $(SUITES)

soak: build/release/build.ninja ## random messages and calls over a network that loses packets, every byte checked (SECONDS=600)
	cmake --build build/release -j $(JOBS) --target towline-tool towline-malloc program_soak mpi_soak
	TOWLINE=build/release/bin/towline TOWLINE_TEST_SOAK=$(or $(SECONDS),600) python3 tests/programs/soak_test.py

asan: build/asan/build.ninja ## every test under the address and undefined-behaviour sanitizers
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure

tsan: build/tsan/build.ninja ## every test under the thread sanitizer
	cmake --build build/tsan -j $(JOBS)
	setarch -R ctest --test-dir build/tsan --output-on-failure

clang fuzz: PACKAGES := packages.txt tests/packages.txt
clang: build/clang/build.ninja ## builds everything with Clang, warnings are errors, and runs the unit tests
	cmake --build build/clang -j $(JOBS)
	ctest --test-dir build/clang -R '^(unit_|conformance$$)' --output-on-failure

bench: PACKAGES := packages.txt bench/packages.txt
bench: packages ## measures everything against limits and other libraries, prints one table (QUICK=1: under 3 minutes)
	cmake --preset bench
	cmake --build build/bench -j $(JOBS)
	@if command -v cargo >/dev/null; then \
	  cd bench/peers/iceoryx2 && cargo build -q --release --locked --target-dir ../../../build/bench/iceoryx2 \
	  || echo "iceoryx2 could not be built (Rust 1.89 or newer): not measured"; else echo "no cargo here: iceoryx2 is not measured"; fi
	@find build/bench -maxdepth 1 -name '*.jsonl' ! -name 'mpi_*' ! -name 'net_*' -delete; failed=0; \
	python3 bench/conduct.py $(if $(QUICK),--quick) || failed=1; \
	if [ -x build/bench/bin/bench_serialize ]; then build/bench/bin/bench_serialize $(if $(QUICK),--quick) >/dev/null || failed=1; fi; \
	python3 bench/compile_time.py $(if $(QUICK),--quick) || failed=1; \
	python3 bench/table.py; \
	test -x build/bench/venv/bin/python || python3 -m venv build/bench/venv; \
	build/bench/venv/bin/pip install -q -r bench/requirements.txt && build/bench/venv/bin/python bench/plot.py || echo "no plot"; \
	exit $$failed

define measure_libraries
cmake --build build/release -j $(JOBS) --target towline-tool mpiexec mpi_abi towline-malloc
@failed=0; python3 $(1) measure $(if $(QUICK),--quick) || failed=1; \
python3 $(1) table; \
test -x build/bench/venv/bin/python || python3 -m venv build/bench/venv; \
build/bench/venv/bin/pip install -q -r bench/requirements.txt && build/bench/venv/bin/python $(1) plot || echo "no pictures"; \
exit $$failed
endef

bench-mpi: build/release/build.ninja ## measures MPI on Towline and three other libraries, table and pictures (QUICK=1: under 3 minutes)
	$(call measure_libraries,bench/mpi)

bench-layout: build/release/build.ninja ## measures derived datatypes, the patterns of real programs, on the same libraries (QUICK=1: under 3 minutes)
	$(call measure_libraries,bench/layout)

bench-net: build/release/build.ninja ## measures networks: MPI libraries over TCP, sockets, loss, crowds; as root (QUICK=1: under 4 minutes)
	cmake --build build/release -j $(JOBS) --target towline-tool mpiexec mpi_abi towline-malloc
	@failed=0; python3 bench/net measure $(if $(QUICK),--quick) || failed=1; python3 bench/net table; exit $$failed

fuzz: build/fuzz/build.ninja ## libFuzzer on the archive's decoder, network packets and layouts, with Clang and the sanitizers (SECONDS=60 each)
	cmake --build build/fuzz -j $(JOBS) --target fuzz_archive fuzz_packets fuzz_layouts
	mkdir -p build/fuzz/corpus build/fuzz/packets build/fuzz/layouts build/fuzz/found
	build/fuzz/bin/fuzz_archive -max_total_time=$(or $(SECONDS),60) -max_len=8192 -artifact_prefix=build/fuzz/found/ \
	  build/fuzz/corpus tests/fuzz/corpus
	build/fuzz/bin/fuzz_packets -max_total_time=$(or $(SECONDS),60) -max_len=8192 -artifact_prefix=build/fuzz/found/ \
	  build/fuzz/packets tests/fuzz/datagram_corpus
	build/fuzz/bin/fuzz_layouts -max_total_time=$(or $(SECONDS),60) -max_len=8192 -artifact_prefix=build/fuzz/found/ \
	  build/fuzz/layouts

install: build/release/build.ninja ## installs to PREFIX (without it: to /usr/local, with sudo)
	cmake --build build/release -j $(JOBS) --target towline-tool mpiexec towline-malloc mpi_abi manual
	$(if $(PREFIX),,$(SUDO)) cmake --install build/release --prefix "$(or $(PREFIX),/usr/local)"

clean: ## removes build/
	rm -rf build
