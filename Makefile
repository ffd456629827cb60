# SPDX-License-Identifier: MIT
# aoe: angle-optimized embeddings. `make help` lists the targets.
#
#   CC=gcc|clang   compiler
#   SAN=LIST       sanitizers, such as SAN=address,undefined or SAN=thread; each list has its own build directory
#   TAGS=WORD      check: runs only the tests with this tag (tests/README.md), such as TAGS=numbers
#   SKIP=WORD      check: does not run the tests with this tag
#   AOE_FUZZ_SEED=N check: random seed of the mutated inputs of the fuzz tests (default: another one each time)
#   FUZZ_SECONDS=N fuzz: seconds per harness (default: 60)
#   CROSS=TRIPLET  cross-compiles with TRIPLET-gcc and the libraries in SYSROOT; `make deps-arm64` prepares
#                  CROSS=aarch64-linux-gnu
#   BUILD=DIR      build directory (default: build, build/TRIPLET with CROSS, or .../san-... with SAN)
#   WERROR=1       warnings are errors (used in CI)
#   V=1            prints every command
#   DEBUG=1        keeps the debug information in test programs, which otherwise have none, because it takes most of
#                  their size
#   PEERS=OPTIONS  bench-peers: options of the benchmark (bench/README.md); check-peers: options of pytest, such as
#                  -k bert
#   MINUTES=N      soak: duration of the test (default: 30)
#   QUICK=1        check-mpi: fewer processes, and no network namespaces
#   MPICC=mpicc    mpi: compiler of the MPI that starts the program
#   AOE_PEERS=DIR  check-peers: directory of the Python packages and models (default: ~/.cache/aoe/peers)
#   PREFIX, DESTDIR  directories of install
#   VERSIONS=LIST  check-versions: versions of Python, such as VERSIONS="3.14 3.15" (default: 3.10 to 3.15)
#   DIST=DIR       wheel: directory of the packages (default: dist, or BUILD/dist with CROSS)

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
# Runs one job per CPU if there is no -j on the command line. With the goal `clean`, runs one job.
ifeq ($(filter clean,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=$(or $(shell nproc 2>/dev/null),1)
endif
.SUFFIXES:
.DELETE_ON_ERROR:

CROSS ?=
TOOL := $(if $(CROSS),$(CROSS)-)
CC ?= cc
ifeq ($(origin CC),default)
CC := $(if $(CROSS),$(TOOL)gcc,cc)
endif
ifeq ($(origin AR),default)
AR := $(TOOL)ar
endif
NM ?= $(TOOL)nm
PREFIX ?= /usr/local
SAN ?=
comma := ,
BUILD ?= build$(if $(CROSS),/$(CROSS))$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
SYSROOT ?= $(if $(CROSS),build/sysroot/$(CROSS))
SYSROOT_FLAG := $(if $(SYSROOT),--sysroot=$(SYSROOT))
EMULATOR ?= $(if $(CROSS),qemu-$(firstword $(subst -, ,$(CROSS))) -L $(abspath $(SYSROOT)))
PKG_CONFIG ?= $(if $(SYSROOT),PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) \
  PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(CROSS)/pkgconfig) pkg-config
PACKAGES := jansson libutf8proc libpcre2-8 libzstd zlib libcurl libmicrohttpd sqlite3
DEPS_APT := gcc make pkg-config libjansson-dev libutf8proc-dev libpcre2-dev libzstd-dev zlib1g-dev \
  libcurl4-openssl-dev libmicrohttpd-dev libsqlite3-dev ca-certificates libcmocka-dev gnuplot-nox
DEPS_PEERS := python3 python3-venv g++ libdnnl-dev curl prometheus default-jre-headless
DEPS_LINT := clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev qemu-user abigail-tools python3
DEPS_WHEEL := python3 python3-venv
DEPS_VERSIONS := debootstrap
DEPS_DEB := dpkg-dev lintian
DEPS_MPI := gcc libc6-dev openmpi-bin libopenmpi-dev mpich libmpich-dev openssh-client \
  iproute2 nftables
DEPS_SLURM := slurm-wlm munge
DEPS_ARM64 := gcc-aarch64-linux-gnu qemu-user

HEADERS := $(sort $(wildcard include/*.h))
VERSION := $(shell sed -n 's/^#define AOE_VERSION *"\(.*\)"/\1/p' include/aoe.h)

# While files are built, a terminal shows one line of progress, and any other output gets one line per 10 percent. With
# V=1, make prints every command instead. STEPS is the number of files to build, which a dry run counts; DONE has one
# word per started file.
Q := $(if $(V),,@)
ifneq ($(COUNTING),)
say = STEP
else
TERMINAL := $(if $(V),,$(shell [ ! -t 2 ] || echo yes))
percent = $$(($(1) < $(or $(STEPS),0) ? $(1) * 100 / $(or $(filter-out 0,$(STEPS)),1) : 100))
show_terminal = printf '\r\033[K  %3d%%  %-4s %s\r' "$(call percent,$(words $(DONE)))" $(1) $@; \
  if [ $(words $(DONE)) = $(STEPS) ]; then printf '\033[K'; fi
show_lines = if [ $$(($(call percent,$(words $(DONE))) / 10)) != \
  $$(($(call percent,($(words $(DONE)) - 1)) / 10)) ]; then \
  echo "  $(call percent,$(words $(DONE)))% built"; fi
say = $(if $(V),,$(eval DONE += x)@$(if $(TERMINAL),$(call show_terminal,$(1)),$(show_lines)))
endif
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
  $(if $(WERROR),-Werror)
# A sanitizer build is usually run only once, so compilation takes most of the time. -O1 -g1 halves this time. Without
# -fexpensive-optimizations, gcc does not end AVX code with vzeroupper, and the following SSE code is several times
# slower.
OPT := $(if $(SAN),-O1 -fexpensive-optimizations -g1,-O2 -g)
# -march=native is not used, because one binary supports every CPU of the architecture. -ffp-contract=off makes the
# results of all compilers equal. Kernels contain explicit fused multiply-adds.
CFLAGS_ALL := -std=c11 -D_GNU_SOURCE $(OPT) $(WARN) -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC \
  -pthread $(SYSROOT_FLAG) -Iinclude -Isrc -I. -MMD -MP \
  $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(CFLAGS)
# With the address sanitizer of gcc, tests have red zones around their variables. Their own accesses, mostly in slow
# reference implementations, are not checked.
SAN_TESTS := $(if $(findstring address,$(SAN)),$(if $(findstring fuzzer,$(SAN)),,-fno-sanitize=undefined \
  --param asan-instrument-reads=0 --param asan-instrument-writes=0))
# Test programs are linked statically. Sanitizers need their debug information for reports.
LDFLAGS_TEST := $(if $(DEBUG)$(SAN),,-Wl,--strip-debug)
LDFLAGS_ALL := -pthread $(SYSROOT_FLAG) $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
MACHINE := $(or $(firstword $(subst -, ,$(CROSS))),$(shell uname -m))
X86 := $(filter x86_64 amd64,$(MACHINE))
ARM64 := $(filter aarch64 arm64,$(MACHINE))

# CPU tiers and their compiler flags. src/kernels/NAME_TIER.c is compiled for one tier, and src/kernels/NAME_simd.c once
# per tier of TIERS_SIMD, to NAME_TIER.o. The tier avx512bf16 has its own versions of two of these files.
TIERS_X86 := avx2 avxvnni avx512 avx512vnni avx512bf16 amx
TIERS_ARM64 := neon neondot neonbf16
TIERS_SIMD := avx2 avx512 neon
TIER_avx2 := -mavx2 -mfma -mf16c
TIER_avxvnni := $(TIER_avx2) -mavxvnni
TIER_avx512 := $(TIER_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl
TIER_avx512vnni := $(TIER_avx512) -mavx512vnni
TIER_avx512bf16 := $(TIER_avx512vnni) -mavx512bf16
TIER_amx := $(TIER_avx512bf16) -mamx-tile -mamx-bf16 -mamx-int8
TIER_neondot := -march=armv8.2-a+dotprod
TIER_neonbf16 := -march=armv8.2-a+dotprod+bf16+i8mm
SIMD_SRC := $(sort $(wildcard src/kernels/*_simd.c))
SIMD_AVX512BF16 := src/kernels/gemm_epilogue_simd.c src/kernels/softmax_simd.c
# tier_src: sources for tier $(1). tier_flags: its compiler flags. list_tiers: shell commands that print SOURCE FLAGS
# for each source of the tiers $(1)
tier_src = $(sort $(wildcard src/kernels/*_$(1).c) $(if $(filter $(1),$(TIERS_SIMD)),$(SIMD_SRC)) \
  $(if $(filter $(1),avx512bf16),$(SIMD_AVX512BF16)))
tier_flags = $(strip $(TIER_$(1)) -DAOEI_TIER=$(1))
list_tiers = $(foreach t,$(1),$(foreach f,$(call tier_src,$(t)) $(wildcard tests/support/*_$(t).c), \
  echo '$(f) $(call tier_flags,$(t))';))
TIERS := $(if $(X86),$(TIERS_X86)) $(if $(ARM64),$(TIERS_ARM64))
TIER_OBJ := $(foreach t,$(TIERS),$(patsubst %,$(BUILD)/%.o,$(patsubst %_simd,%_$(t),$(basename $(call tier_src,$(t))))))

SRC := $(filter-out $(SIMD_SRC) $(foreach t,$(TIERS_X86) $(TIERS_ARM64),%_$(t).c),$(sort $(wildcard src/*/*.c)))
OBJ := $(sort $(SRC:%.c=$(BUILD)/%.o) $(TIER_OBJ))
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c cli/*/*.c)))
# Tests declare tags in their first comment lines (tests/README.md). With the thread sanitizer, only tests with the tag
# `threads` run. With the address sanitizer, tests with the tag `slow` do not run. `make fuzz` builds the fuzz
# harnesses with libFuzzer.
TAGS ?= $(if $(findstring thread,$(SAN)),threads)
SKIP ?= $(if $(findstring address,$(SAN)),slow)
with_tag = $(if $(2),$(shell grep -lE '^( \*|\#) tags:.*\<$(1)\>' /dev/null $(2)))
selected = $(filter-out $(if $(SKIP),$(call with_tag,$(SKIP),$(1))),$(if $(TAGS),$(call with_tag,$(TAGS),$(1)),$(1)))
TEST_SRC := $(call selected,$(sort $(wildcard tests/*/*_test.c)))
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
CASES := $(patsubst tests/cli/%.sh,%,$(call selected,$(sort $(wildcard tests/cli/*.sh))))
FUZZ_ALL := $(sort $(wildcard tests/fuzz/*_fuzz.c))
FUZZ_BIN := $(patsubst %.c,$(BUILD)/%,$(call selected,$(FUZZ_ALL)))
LIBFUZZER_BIN := $(FUZZ_ALL:tests/fuzz/%.c=$(BUILD)/libfuzzer/%)
# The selected tests of a folder are linked into one program, build/tests/FOLDER/$(TESTS), and
# build/tests/FOLDER/NAME_test is a link to it (tests/support/program.h). Tests of TEST_SINGLE are linked alone.
TESTS := tests$(TAGS:%=-%)$(SKIP:%=-without-%)
TEST_SINGLE := tests/api/host_process_test.c \
  $(addprefix tests/cli/,hints_test.c mcp_server_test.c snippet_test.c stem_test.c)
TEST_LINKS := $(filter-out $(TEST_SINGLE:%.c=$(BUILD)/%),$(TEST_BIN) $(FUZZ_BIN))
TEST_FOLDERS := $(sort $(patsubst $(BUILD)/tests/%/,%,$(dir $(TEST_LINKS))))
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(filter-out $(if $(X86),,%_amx.c),$(wildcard tests/support/*.c))))
# Local servers for the command-line cases.
SERVER_BIN := $(patsubst %.c,$(BUILD)/%,$(filter-out %_test.c,$(sort $(wildcard tests/servers/*.c))))
# The same program, compiled with the public headers and with older ones (tests/cli/old_header.sh)
API_BIN := $(BUILD)/tests/api/compatibility $(BUILD)/tests/api/compatibility_old
# aoe-check contains all kernel tests.
CHECK_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard check/*.c tests/kernels/*_test.c)))
BENCH_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard bench/*.c)))
BENCH_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard bench/support/*.c)))
PEER_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard bench/peers/*.c)))
CXX := $(shell command -v $(TOOL)g++ || command -v $(TOOL)clang++)
EXAMPLE_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard examples/*.c))) \
  $(if $(CXX),$(patsubst %.cpp,$(BUILD)/%_cpp,$(wildcard examples/*.cpp)))
LIB := $(BUILD)/libaoe.a
SHLIB := $(BUILD)/libaoe.so
# The library and the program of the packages (packaging/README.md)
PACKAGE := $(BUILD)/package

FUZZ_SECONDS ?= 60
# The packages are needed only for targets that compile. Missing packages are listed in one line.
NO_PACKAGES := help deps deps-lint deps-peers deps-wheel deps-versions deps-deb deps-arm64 deps-mpi mpi tier-flags clean
# Directory of the Python packages and models of check-peers and bench-peers. They are installed once.
AOE_PEERS ?= $(HOME)/.cache/aoe/peers
ifneq ($(filter-out $(NO_PACKAGES),$(or $(MAKECMDGOALS),all)),)
# These goals install missing packages first.
ifneq ($(if $(COUNTING),,$(filter demo check check-python check-versions wheel deb static,$(MAKECMDGOALS))),)
DEPS_RUN := $(shell tools/deps.sh $(DEPS_APT) >&2; echo $$?)
ifneq ($(DEPS_RUN),0)
$(error could not install the build dependencies)
endif
endif
MISSING := $(shell for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
ifneq ($(MISSING),)
$(error missing packages: $(MISSING).$(if $(CROSS), \
  Install them in $(SYSROOT) or run `make deps-arm64` for CROSS=aarch64-linux-gnu, \
  Run `make deps` as root, or: apt-get install $(DEPS_APT)))
endif
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
# libcurl and libmicrohttpd are not linked, because src/net/libraries.c and src/serve/mhd.c load them at run time when
# they are first needed.
LIBS := $(shell $(PKG_CONFIG) --libs $(filter-out libcurl libmicrohttpd,$(PACKAGES))) -ldl -lm
endif

# Counts the files to build, after the packages are installed.
ifeq ($(V)$(COUNTING),)
STEPS := $(if $(filter-out $(NO_PACKAGES),$(or $(MAKECMDGOALS),all)), \
  $(shell $(MAKE) -n COUNTING=1 $(MAKECMDGOALS) 2>/dev/null | grep -c '^STEP$$'))
ifneq ($(filter-out 0,$(STEPS)),)
$(info building $(STEPS) files in $(BUILD); V=1 prints the commands)
endif
endif

.PHONY: all lib package-files wheel deb static deps-wheel deps-deb demo check build-tests fuzz fuzz-programs \
  aoe-check lint lint-all check-all format bench bench-peers deps-peers check-peers check-python check-versions \
  check-browser deps-versions soak mpi deps-mpi check-mpi install uninstall clean deps deps-lint deps-arm64 help \
  symbols header abi abi-record tier-flags

all: $(BUILD)/aoe lib ## builds build/aoe, build/libaoe.a and build/libaoe.so

lib: $(LIB) $(SHLIB)

define compile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS_ALL) $(PKG_CFLAGS) $(TIER) $(PROGRAM) -c $< -o $@
endef
$(BUILD)/%.o: %.c Makefile
	$(compile)
define tier_rules
$$(BUILD)/%_$(1).o: TIER := $$(call tier_flags,$(1))
$$(BUILD)/%_$(1).o: %_simd.c Makefile
	$$(compile)
endef
$(foreach t,$(TIERS),$(eval $(call tier_rules,$(t))))
# Dependency files of older builds contain sources that no longer exist, such as src/kernels/gelu_avx2.c.
$(TIER_OBJ:$(BUILD)/%.o=%.c): ;

# This file includes all public headers. Its debug information contains all their types, for `make abi`.
$(BUILD)/src/base/struct_layout.o: CFLAGS_ALL += -fno-eliminate-unused-debug-types
$(BUILD)/src/base/source_tree.o: CFLAGS_ALL += -DAOEI_SOURCE_TREE='"$(CURDIR)"'

# The library contains the web page of the server. Its policy contains the hashes of its script and of its style.
$(BUILD)/src/serve/page.o: src/serve/page/index.html tools/page_hashes.sh
$(BUILD)/src/serve/page.o: PROGRAM = $(shell tools/page_hashes.sh src/serve/page/index.html)

$(LIB): $(OBJ)
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $^

$(SHLIB): $(OBJ)
	$(call say,LINK)
	$(Q)$(CC) -shared -Wl,-soname,libaoe.so.0 $(LDFLAGS_ALL) $^ $(LIBS) -o $@
	$(Q)ln -sf libaoe.so $@.0

$(BUILD)/aoe: $(CLI_OBJ) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

# Packages contain no debug information and not the path of the source tree.
$(PACKAGE)/source_tree.o: src/base/source_tree.c Makefile
	$(compile)

$(PACKAGE)/libaoe.so.0: $(filter-out $(BUILD)/src/base/source_tree.o,$(OBJ)) $(PACKAGE)/source_tree.o
	$(call say,LINK)
	$(Q)$(CC) -shared -s -Wl,-soname,libaoe.so.0 $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(PACKAGE)/aoe: $(CLI_OBJ) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) -s $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(PACKAGE)/options.json: $(PACKAGE)/aoe
	$(Q)$(EMULATOR) $< options --json >$@

$(BUILD)/tests/%_test.o: PROGRAM = -DTEST_NAME='"$(basename $(@F))"' -Dmain=$(basename $(@F))_main \
  -include tests/support/program.h
$(BUILD)/tests/%_fuzz.o: PROGRAM = -DTEST_NAME='"$(basename $(@F))"' -Dmain=$(basename $(@F))_main \
  $(foreach f,LLVMFuzzerTestOneInput LLVMFuzzerInitialize fuzz_mutations,-D$f=$(basename $(@F))_$f) \
  -include tests/fuzz/harness.h
$(TEST_SINGLE:%.c=$(BUILD)/%.o): PROGRAM :=
$(BUILD)/tests/%.o: CFLAGS_ALL += $(SAN_TESTS)

# Fuzz harnesses are run by tests/fuzz/driver.c on the stored corpus and on random mutations of the corpus.
# mcp_fuzz tests a unit of the program.
$(BUILD)/tests/fuzz/$(TESTS): $(BUILD)/tests/fuzz/driver.o $(BUILD)/tests/fuzz/mutate.o \
  $(BUILD)/cli/search/mcp_server.o
define folder_rules
$$(BUILD)/tests/$(1)/$$(TESTS): $(addsuffix .o,$(filter $(BUILD)/tests/$(1)/%,$(TEST_LINKS))) $$(BUILD)/tests/main.o \
  $$(TEST_SUPPORT) $$(LIB)
	$$(call say,LINK)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) $$(LDFLAGS_TEST) $$(filter-out $$(LIB),$$^) $$(LIB) -lcmocka $$(LIBS) -o $$@
$(filter $(BUILD)/tests/$(1)/%,$(TEST_LINKS)): $$(BUILD)/tests/$(1)/$$(TESTS)
	@ln -f $$< $$@
endef
$(foreach f,$(TEST_FOLDERS),$(eval $(call folder_rules,$(f))))

$(BUILD)/tests/servers/%: $(BUILD)/tests/servers/%.o $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LDFLAGS_TEST) $^ -lcmocka $(LIBS) -o $@

$(BUILD)/tests/old_include/%.h: include/%.h tools/old_header.awk
	@mkdir -p $(@D)
	$(Q)awk -f tools/old_header.awk $< > $@

$(BUILD)/tests/api/compatibility: INCLUDE := include
$(BUILD)/tests/api/compatibility_old: INCLUDE := $(BUILD)/tests/old_include
$(API_BIN): tests/api/compatibility.c $(HEADERS) $(HEADERS:include/%=$(BUILD)/tests/old_include/%) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(filter-out -Iinclude -MMD -MP,$(CFLAGS_ALL)) -I$(INCLUDE) $(LDFLAGS_ALL) $(LDFLAGS_TEST) \
	  $< $(LIB) $(LIBS) -o $@

# A fuzz harness with libFuzzer, which is part of clang.
$(BUILD)/libfuzzer/%.o: tests/fuzz/%.c Makefile
	$(compile)
$(BUILD)/libfuzzer/%_fuzz: $(BUILD)/libfuzzer/%_fuzz.o $(BUILD)/tests/fuzz/libfuzzer.o \
  $(BUILD)/tests/fuzz/mutate.o $(BUILD)/cli/search/mcp_server.o $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) -fsanitize=fuzzer $(LDFLAGS_ALL) $^ -lcmocka $(LIBS) -o $@

# This test links the program, so that it can read the option tables of all commands.
$(BUILD)/tests/cli/hints_test: $(BUILD)/tests/cli/hints_test.o $(filter-out $(BUILD)/cli/main.o,$(CLI_OBJ)) \
  $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lcmocka $(LIBS) -o $@

$(BUILD)/tests/cli/snippet_test: $(BUILD)/tests/cli/snippet_test.o \
  $(patsubst %,$(BUILD)/cli/%.o,search/snippet search/hit_json search/hit_output) \
  $(patsubst %,$(BUILD)/cli/%.o,common/visible common/output common/progress) \
  $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LDFLAGS_TEST) $^ -lcmocka $(LIBS) -o $@

$(BUILD)/tests/cli/mcp_server_test: $(BUILD)/tests/cli/mcp_server_test.o $(BUILD)/cli/search/mcp_server.o \
  $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LDFLAGS_TEST) $^ -lcmocka $(LIBS) -o $@

# This test is a program that uses the library and its dependencies, so nothing else may be linked with it.
$(BUILD)/tests/api/host_process_test: $(BUILD)/tests/api/host_process_test.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LDFLAGS_TEST) $^ -lcmocka -lcurl $(LIBS) -o $@

# Test cases that are generated from the public headers.
$(BUILD)/tests/null_arguments.inc: tests/api/null_arguments.awk $(HEADERS)
	@mkdir -p $(@D)
	@awk -f $< $(HEADERS) > $@
$(BUILD)/tests/api/null_arguments_test.o $(BUILD)/tests/api/null_options_test.o: $(BUILD)/tests/null_arguments.inc
$(BUILD)/tests/api/null_arguments_test.o $(BUILD)/tests/api/null_options_test.o: CFLAGS_ALL += -I$(BUILD)/tests

$(BUILD)/aoe-check: $(CHECK_OBJ) $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LDFLAGS_TEST) $^ -lcmocka $(LIBS) -o $@

# Only this program needs oneDNN.
$(BUILD)/bench/peers/gemm_onednn.o: | deps-peers
$(BUILD)/bench/peers/gemm_onednn: $(BUILD)/bench/peers/gemm_onednn.o $(BENCH_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -ldnnl $(LIBS) -o $@

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BENCH_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(BUILD)/examples/%_cpp: examples/%.cpp $(LIB) $(HEADERS)
	@mkdir -p $(@D)
	$(call say,CXX)
	$(Q)$(CXX) -std=c++11 -Wall -Wextra $(if $(WERROR),-Werror) $(OPT) -Iinclude $(LDFLAGS_ALL) $< $(LIB) $(LIBS) -o $@

$(BUILD)/examples/%: $(BUILD)/examples/%.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

.SECONDARY:

# packaging/python/aoe_backend.py runs this target and reads the paths that it prints.
package-files: $(PACKAGE)/aoe $(PACKAGE)/libaoe.so.0 $(PACKAGE)/options.json
	@echo "package=$(abspath $(PACKAGE))"
	@echo "machine=$(MACHINE)"
	@echo "documents=$(abspath $(or $(SYSROOT),/))/usr/share/doc"

DIST ?= $(if $(CROSS),$(BUILD)/)dist

wheel: package-files | deps-wheel ## builds the Python packages (a wheel and an sdist) in dist
	@BUILD=$(BUILD) CROSS=$(CROSS) SYSROOT=$(SYSROOT) packaging/python/wheel.sh $(DIST)

# The program without shared libraries. The linker would warn that dlopen and getaddrinfo need those of the same glibc.
$(PACKAGE)/static/program.o: packaging/static/static_program.c Makefile $(wildcard models/aoe-small-en/*)
	$(compile)

$(PACKAGE)/static/aoe: $(CLI_OBJ) $(PACKAGE)/static/program.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) -static -s $(addprefix -Wl$(comma)--wrap=,aoe_default_model dlopen dlerror) $(LDFLAGS_ALL) $^ $(LIBS) \
	  -Wl,--no-warnings -o $@

static: $(PACKAGE)/static/aoe ## builds build/package/static/aoe, the program in one file with the default model

deb: all package-files | deps-deb ## builds Debian packages (aoe and libaoe-dev) in dist
	@packaging/debian/deb.sh $(BUILD) $(DIST)

demo: all ## installs missing packages, builds, fine-tunes and evaluates the default model, and searches docs/
	@BUILD=$(BUILD) examples/demo.sh

aoe-check: $(BUILD)/aoe-check ## builds a program that compares every kernel with a reference and measures its speed

check: $(TEST_BIN) $(FUZZ_BIN) $(SERVER_BIN) $(API_BIN) $(if $(SAN),,$(BUILD)/aoe-check) $(EXAMPLE_BIN) header symbols
check: all ## installs missing packages, builds, runs all tests
	@BUILD=$(BUILD) SAN=$(SAN) EMULATOR="$(EMULATOR)" CASES="$(or $(CASES),none)" tests/run.sh $(TEST_BIN) $(FUZZ_BIN)

fuzz: deps-lint ## builds every fuzz harness with libFuzzer and the sanitizers, runs each for FUZZ_SECONDS (60)
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang-14 SAN=fuzzer-no-link,address,undefined fuzz-programs
	@BUILD=build/fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz.sh

fuzz-programs: $(LIBFUZZER_BIN)

compile_commands.json: Makefile ## writes the compiler command of every source file, for clangd and other editor tools
	@{ $(call list_tiers,$(TIERS)) for f in $(SRC) $(wildcard cli/*.c cli/*/*.c) $(TEST_SRC) \
	  $(filter-out %_amx.c,$(wildcard tests/support/*.c)) $(wildcard check/*.c bench/*.c); do echo $$f; done; } | \
	  awk -v command='$(CC) $(CFLAGS_ALL) $(PKG_CFLAGS)' 'BEGIN { print "[" } \
	  { file = $$1; $$1 = ""; printf "%s", separator; separator = ",\n" } \
	  { printf "{\"directory\": \"%s\", \"file\": \"%s\", ", "$(CURDIR)", file } \
	  { printf "\"command\": \"%s%s -c %s\"}", command, $$0, file } \
	  END { print "\n]" }' > $@

tier-flags: # prints SOURCE FLAGS for each source and CPU tier of every architecture (tools/lint.sh)
	@$(call list_tiers,$(TIERS_X86) $(TIERS_ARM64))

build-tests: $(TEST_BIN) $(FUZZ_BIN) $(SERVER_BIN) $(API_BIN) $(BENCH_BIN) $(BUILD)/aoe-check $(EXAMPLE_BIN)
build-tests: header symbols ## builds every test, benchmark and example without running them

header: ## checks that each public header compiles alone, as C99 and as C++
	@for h in $(notdir $(HEADERS)); do \
	  echo "#include <$$h>" | \
	    $(CC) -std=c99 -pedantic -Wall -Wextra -Werror $(SYSROOT_FLAG) -Iinclude -fsyntax-only -x c - || exit 1; \
	  command -v g++ >/dev/null || continue; \
	  echo "#include <$$h>" | g++ -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ - || exit 1; \
	done

symbols: lib ## checks that every exported symbol starts with aoe
	@bad=$$({ $(NM) -g --defined-only $(LIB); $(NM) -D --defined-only $(SHLIB); } 2>/dev/null | \
	  awk 'NF==3 && $$3 !~ /^(aoe|_init$$|_fini$$|__asan|__odr_asan|__tsan|__ubsan|__sanitizer)/ {print $$3}' | sort -u); \
	  if [ -n "$$bad" ]; then echo "symbols that do not start with aoe:"; echo "$$bad"; exit 1; fi

abi: lib ## compares the binary interface of the library with the record in tools/abi.txt
	@tools/abi.py check tools/abi.txt $(SHLIB)

abi-record: lib ## records the binary interface of the library in tools/abi.txt
	@tools/abi.py record $(SHLIB) > $(BUILD)/abi.txt && mv $(BUILD)/abi.txt tools/abi.txt

lint: deps-lint deps-arm64 ## checks the rules of CONTRIBUTING.md, and the changed files with clang-tidy (tools/lint.sh)
	@$(MAKE) --no-print-directory abi
	@tools/lint.sh

lint-all: deps-lint deps-arm64 ## like lint, with clang-tidy for all files
	@$(MAKE) --no-print-directory abi
	@tools/lint.sh includes cycles vocabulary sizes columns flags words links format tests tidy-all

check-all: ## runs the checks that .ci/run leaves out, because they take long (tests/README.md)
	@.ci/run rest

format: ## formats all sources with clang-format
	$$(command -v clang-format-14 || echo clang-format) -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

bench: all $(BENCH_BIN) ## measures matmuls, layers, tokenizer, losses, encoders and training steps on this machine
	@BUILD=$(BUILD) bench/run.sh

bench-peers: all $(PEER_BIN) ## compares the speed of aoe and of other libraries (PEERS=--quick: a short run)
	@tests/peers/install.sh $(abspath $(AOE_PEERS))
	@BUILD=$(abspath $(BUILD)) AOE_PEERS=$(abspath $(AOE_PEERS)) \
	  $(abspath $(AOE_PEERS))/venv/bin/python -B bench/peers/run.py $(PEERS)

check-peers: $(BUILD)/tests/servers/chat_template $(BUILD)/tests/servers/hub $(BUILD)/tests/servers/json_keys
check-peers: $(foreach m,openmpi mpich,$(BUILD)/mpi/$m/libaoe-mpi.so)
check-peers: all | deps-peers ## compares results with transformers, sentence-transformers, and clients of servers
	@tests/peers/install.sh $(abspath $(AOE_PEERS))
	@cd tests/peers && AOE=$(abspath $(BUILD))/aoe AOE_PEERS=$(abspath $(AOE_PEERS)) PYTHONDONTWRITEBYTECODE=1 \
	  $(abspath $(AOE_PEERS))/venv/bin/python -m pytest -q -p no:cacheprovider --ignore python $(PEERS)
ifeq ($(PEERS),)
	@AOE_LIBRARY=$(abspath $(SHLIB)) tests/peers/python/run.sh $(abspath $(AOE_PEERS))/python
	@BUILD=$(BUILD) tests/peers/slurm.sh
endif

# With SAN, the library and the program are built with sanitizers, and the wheel is not tested.
check-python: all $(if $(SAN),,wheel) | deps-wheel ## tests the Python package and its wheel; also with SAN or CROSS
	@$(if $(CROSS),tests/python/arm64.sh $(DIST),BUILD=$(BUILD) SAN=$(SAN) tests/python/run.sh)

check-versions: wheel | deps-versions ## tests the wheel with the versions of Python of this machine and Debian unstable
	@tests/python/versions.sh $(DIST) $(VERSIONS)

check-browser: all ## tests the web page of the server in Chromium (PEERS=OPTIONS: options of pytest)
	@BUILD=$(abspath $(BUILD)) tests/browser/run.sh $(abspath $(AOE_PEERS))/browser $(PEERS)

# The shim between the library and an MPI, the only file that needs mpi.h. Nothing else needs MPI.
MPICC ?= mpicc
MPI_FLAGS := -std=c11 -D_GNU_SOURCE -O2 $(WARN) -fPIC -shared -fvisibility=hidden -Isrc
mpi: ## builds build/libaoe-mpi.so for training on several computers, with the compiler MPICC (mpicc)
	@mkdir -p $(BUILD)
	$(MPICC) $(MPI_FLAGS) mpi/aoe_mpi.c -o $(BUILD)/libaoe-mpi.so

$(BUILD)/mpi/%/libaoe-mpi.so: mpi/aoe_mpi.c src/comm/mpi_shim.h Makefile | deps-mpi
	@mkdir -p $(@D)
	$(call say,MPI)
	$(Q)mpicc.$* $(MPI_FLAGS) $< -o $@

$(BUILD)/tests/mpi/ranks: $(BUILD)/tests/mpi/ranks.o $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $(LDFLAGS_TEST) $^ -lcmocka $(LIBS) -o $@

check-mpi: $(BUILD)/tests/train/distributed_test
check-mpi: $(BUILD)/tests/mpi/ranks $(foreach m,openmpi mpich,$(BUILD)/mpi/$m/libaoe-mpi.so)
check-mpi: all | deps-mpi ## tests several processes with Open MPI and MPICH (QUICK=1: a part of the tests)
	@BUILD=$(BUILD) tests/mpi/run.sh
	@[ -n "$(QUICK)" ] || BUILD=$(BUILD) tests/mpi/namespaces.sh
	@[ -n "$(QUICK)" ] || AOE_TEST_RANKS=all $(BUILD)/tests/train/distributed_test

soak: all ## sends mixed requests and faults to the server for MINUTES (30); also with SAN=address,undefined or thread
	@nice -n 5 python3 -B tests/soak/serve.py $(BUILD)/aoe $(or $(MINUTES),30) $(SEED)

deps: ## installs the build dependencies with apt (requires root)
	@tools/deps.sh $(DEPS_APT)

deps-peers: | deps # packages for check-peers and bench-peers
	@tools/deps.sh $(DEPS_PEERS) $(DEPS_SLURM)

deps-wheel: | deps
	@tools/deps.sh $(DEPS_WHEEL)

deps-versions: | deps
	@tools/deps.sh $(DEPS_VERSIONS)

deps-deb: | deps
	@tools/deps.sh $(DEPS_DEB)

deps-lint: | deps # linters, sanitizer runtimes, qemu
	@tools/deps.sh $(DEPS_LINT)

deps-mpi: # Open MPI and MPICH
	@tools/deps.sh $(DEPS_MPI)

deps-arm64: | deps # cross-compiler, qemu, and the libraries for CROSS=aarch64-linux-gnu
	@tools/deps.sh $(DEPS_ARM64)
	@tools/sysroot.sh arm64 build/sysroot/aarch64-linux-gnu libc6-dev $(filter %-dev,$(DEPS_APT))

COMPLETIONS := bash-completion/completions/aoe zsh/site-functions/_aoe fish/vendor_completions.d/aoe.fish

install: all ## installs the program, library, headers, default model, man page and completions in PREFIX
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/pkgconfig include share/man/man1)
	install -m 755 $(BUILD)/aoe $(DESTDIR)$(PREFIX)/bin/aoe
	install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib/libaoe.a
	install -m 755 $(SHLIB) $(DESTDIR)$(PREFIX)/lib/libaoe.so.0
	ln -sf libaoe.so.0 $(DESTDIR)$(PREFIX)/lib/libaoe.so
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include
	[ ! -f $(BUILD)/libaoe-mpi.so ] || \
	  install -D -m 755 $(BUILD)/libaoe-mpi.so $(DESTDIR)$(PREFIX)/lib/aoe/libaoe-mpi.so
	tools/man_page.sh $(BUILD)/aoe >$(BUILD)/aoe.1
	install -m 644 $(BUILD)/aoe.1 $(DESTDIR)$(PREFIX)/share/man/man1/aoe.1
	install -d $(DESTDIR)$(PREFIX)/share/aoe/plot
	install -m 644 share/plot/*.gp $(DESTDIR)$(PREFIX)/share/aoe/plot
	for file in $(COMPLETIONS); do shell=$${file%%[-/]*}; $(BUILD)/aoe completion $$shell >$(BUILD)/completion.$$shell && \
		install -D -m 644 $(BUILD)/completion.$$shell $(DESTDIR)$(PREFIX)/share/$$file || exit 1; done
	for file in $$(find models -type f); do install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/aoe/$$file || exit 1; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' docs/aoe.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/aoe.pc
	@[ -n "$(DESTDIR)" ] || ! command -v ldconfig >/dev/null || ldconfig 2>/dev/null || true

uninstall: ## removes the installed files
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/aoe lib/libaoe.a lib/libaoe.so.0 lib/libaoe.so lib/aoe/libaoe-mpi.so \
		$(HEADERS) \
		share/man/man1/aoe.1 lib/pkgconfig/aoe.pc $(addprefix share/,$(COMPLETIONS)))
	rm -rf $(DESTDIR)$(PREFIX)/share/aoe

clean: ## removes the build directory
	rm -rf build

help: ## prints this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
	  awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

-include $(CHECK_OBJ:.o=.d) $(OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_BIN:=.d) $(FUZZ_BIN:=.d) $(BUILD)/tests/main.d \
  $(wildcard $(BUILD)/tests/fuzz/*.d $(BUILD)/libfuzzer/*.d) $(SERVER_BIN:=.d) $(TEST_SUPPORT:.o=.d) \
  $(BENCH_BIN:=.d) $(BENCH_SUPPORT:.o=.d) $(PEER_BIN:=.d) $(EXAMPLE_BIN:=.d)
