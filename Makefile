# SPDX-License-Identifier: MIT
# aoe: angle-optimized embeddings. `make help` lists the targets.
#
#   CC=gcc|clang   compiler
#   SAN=LIST       sanitizers, e.g. SAN=address,undefined or SAN=thread; builds beside the plain build
#   SCOPE=numbers  check: only tests whose figures may depend on the CPU tier
#   BUILD=DIR      build directory (build, or build/san-... with SAN)
#   WERROR=1       warnings are errors (CI)
#   V=1            shows every command
#   PEERS=OPTIONS  of bench-peers (bench/README.md)
#   PREFIX, DESTDIR  for install

.DEFAULT_GOAL := all
MAKEFLAGS += --no-builtin-rules
# one job a CPU (a -j of the command line goes before it), and one goal after the other where one of them clears away
ifeq ($(filter clean,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=$(or $(shell nproc 2>/dev/null),1)
endif
.SUFFIXES:
.DELETE_ON_ERROR:

CC ?= cc
ifeq ($(origin CC),default)
CC := cc
endif
AR ?= ar
NM ?= nm
PREFIX ?= /usr/local
SAN ?=
comma := ,
BUILD ?= build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
PKG_CONFIG ?= pkg-config
PACKAGES := jansson libutf8proc libpcre2-8 libzstd zlib libcurl sqlite3
DEPS_APT := gcc make pkg-config libjansson-dev libutf8proc-dev libpcre2-dev libzstd-dev zlib1g-dev libcurl4-openssl-dev libsqlite3-dev ca-certificates libcmocka-dev gnuplot-nox
DEPS_PEERS := python3 python3-torch libopenblas0-pthread libdnnl-dev
DEPS_LINT := clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev qemu-user

VERSION := $(shell sed -n 's/^#define AOE_VERSION "\(.*\)"/\1/p' include/aoe.h)

# Commands are shown as `CC file`; V=1 shows them whole.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $@)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla $(if $(WERROR),-Werror)
# the sanitizers' builds are compiled for one run: -O1 -g1 takes half the time
OPT := $(if $(SAN),-O1 -g1,-O2 -g)
# One baseline binary for every CPU of the architecture: no -march=native. Contraction is off so that
# the same source gives the same bits everywhere; fused multiply-adds are written out in the kernels.
CFLAGS_ALL := -std=c11 -D_GNU_SOURCE $(OPT) $(WARN) -ffp-contract=off -fno-math-errno -fvisibility=hidden -fPIC -pthread \
  -Iinclude -Isrc -I. -MMD -MP $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) $(CFLAGS)
LDFLAGS_ALL := -pthread $(if $(SAN),-fsanitize=$(SAN)) $(LDFLAGS)
TIER_avx2 := -mavx2 -mfma -mf16c
TIER_avx512 := -mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl
TIER_avx512bf16 := $(TIER_avx512) -mavx512bf16
TIER_amx := $(TIER_avx512bf16) -mamx-tile -mamx-bf16
X86 := $(filter x86_64 amd64,$(shell uname -m))

SRC_ALL := $(sort $(wildcard src/*/*.c))
SRC_TIERED := $(filter %_avx2.c %_avx512.c %_avx512bf16.c %_amx.c,$(SRC_ALL))
SRC := $(if $(X86),$(SRC_ALL),$(filter-out $(SRC_TIERED),$(SRC_ALL)))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
CLI_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard cli/*.c cli/*/*.c)))
# kernels and parsers know no threads, and some tests use one: the thread sanitizer has nothing to look for in them; what
# encoder, attention, verify and golden run on threads, embedder, pair_step and train do too, and faster
THREADLESS := $(if $(findstring thread,$(SAN)),kernels fuzz)
ONE_THREAD := $(if $(THREADLESS),$(patsubst %,tests/%_test.c,unit/data_% unit/text_% grad/mlm_grad grad/encoder_grad grad/ran_grad unit/encoder unit/verify golden/bert golden/causal grad/attention unit/peft unit/model_config unit/bench unit/issues_% unit/chat_% fault/train_fault fault/pretrain_fault fault/model_fault fault/ran_fault fault/embed_fault))
# SCOPE=numbers: what may differ between CPU tiers, for runs under AOE_CPU; without what goes through all tiers by itself
NUMBERS := $(filter numbers,$(SCOPE))
NOT_NUMBERS := $(if $(NUMBERS),$(patsubst %,tests/%_test.c,unit/text_% unit/data_% unit/net_% unit/http_% unit/issues_% unit/github_% unit/chat_% unit/annotate unit/peft unit/model_publish unit/adamw unit/dropout unit/embedder unit/encoder unit/tensor grad/encoder_grad grad/mlm_grad grad/ran_grad))
# command-line cases: those that compute, or those in which threads meet signals and files, or for the address sanitizer all but
# those that do what others do, at length; "" for all
CASES_ALL := $(sort $(patsubst tests/cli/%.sh,%,$(wildcard tests/cli/*.sh)))
CASES_OF := $(if $(NUMBERS),architectures convert mine pipeline pretrain ran teacher verify,$(if $(THREADLESS),interrupt kill_resume mine pipeline pretrain teacher,$(if $(SAN),$(filter-out annotate_recipe default_model default_model_shared grid_jobs paper_recipes results_recipe,$(CASES_ALL)))))
TEST_KINDS := $(filter-out $(THREADLESS) $(if $(NUMBERS),fault kernels),unit kernels grad golden fault)
TEST_SRC := $(filter-out $(ONE_THREAD) $(NOT_NUMBERS),$(sort $(foreach k,$(TEST_KINDS),$(wildcard tests/$(k)/*_test.c))))
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
FUZZ_SRC := $(if $(filter fuzz,$(THREADLESS))$(NUMBERS),,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/%)
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(filter-out $(if $(X86),,%_amx.c),$(wildcard tests/support/*.c))))
# programs that command-line cases talk to
SERVER_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/servers/*.c)))
# aoe-check has the kernel tests under names of their own
CHECK_TESTS := $(notdir $(patsubst %.c,%,$(sort $(wildcard tests/kernels/*_test.c))))
CHECK_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard check/*.c))) $(CHECK_TESTS:%=$(BUILD)/check/tests/%.o)
BENCH_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard bench/*.c)))
BENCH_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(sort $(wildcard bench/support/*.c)))
PEER_BIN := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard bench/peers/*.c)))
LIB := $(BUILD)/libaoe.a
SHLIB := $(BUILD)/libaoe.so

# Packages are looked up only by targets that compile; what is missing is named in one line.
NO_PACKAGES := help deps deps-lint deps-peers clean
ifneq ($(filter-out $(NO_PACKAGES),$(or $(MAKECMDGOALS),all)),)
# demo and check install what is missing before anything else is looked at
ifneq ($(filter demo check,$(MAKECMDGOALS)),)
DEPS_RUN := $(shell tools/deps.sh $(DEPS_APT) >&2; echo $$?)
ifneq ($(DEPS_RUN),0)
$(error could not install the build dependencies)
endif
endif
MISSING := $(shell for p in $(PACKAGES); do $(PKG_CONFIG) --exists $$p 2>/dev/null || echo $$p; done)
ifneq ($(MISSING),)
$(error missing: $(MISSING). Run `make deps` as root, or: apt-get install $(DEPS_APT))
endif
PKG_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(PACKAGES))
# libcurl is loaded when a command first needs it (src/net/libraries.c)
LIBS := $(shell $(PKG_CONFIG) --libs $(filter-out libcurl,$(PACKAGES))) -ldl -lm
endif

.PHONY: all lib demo check build-tests aoe-check lint format bench bench-peers deps-peers install uninstall clean deps deps-lint help symbols header

all: $(BUILD)/aoe lib ## builds build/aoe, build/libaoe.a and build/libaoe.so

lib: $(LIB) $(SHLIB)

$(BUILD)/%_avx2.o: TIER := $(TIER_avx2)
$(BUILD)/%_avx512.o: TIER := $(TIER_avx512)
$(BUILD)/%_avx512bf16.o: TIER := $(TIER_avx512bf16)
$(BUILD)/%_amx.o: TIER := $(TIER_amx)
$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS_ALL) $(PKG_CFLAGS) $(TIER) -c $< -o $@

$(LIB): $(OBJ)
	@rm -f $@
	$(call say,AR)
	$(Q)$(AR) rcs $@ $^

$(SHLIB): $(OBJ)
	$(call say,LINK)
	$(Q)$(CC) -shared -Wl,-soname,libaoe.so.0 $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(BUILD)/aoe: $(CLI_OBJ) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(BUILD)/tests/%_test: $(BUILD)/tests/%_test.o $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lcmocka $(LIBS) -o $@

$(BUILD)/tests/servers/%: $(BUILD)/tests/servers/%.o $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lcmocka $(LIBS) -o $@

# The regression driver of a fuzz harness: runs it over a built-in corpus and seeded mutations.
$(BUILD)/tests/fuzz/%_fuzz: $(BUILD)/tests/fuzz/%_fuzz.o $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lcmocka $(LIBS) -o $@

$(BUILD)/check/programs.inc: $(wildcard tests/kernels/*_test.c)
	@mkdir -p $(@D)
	@printf 'PROGRAM(%s)\n' $(CHECK_TESTS) > $@

$(BUILD)/check/main.o: $(BUILD)/check/programs.inc
$(BUILD)/check/main.o: CFLAGS_ALL += -I$(BUILD)/check
$(BUILD)/check/tests/%.o: tests/kernels/%.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS_ALL) $(PKG_CFLAGS) -Wno-missing-prototypes -Dmain=$*_main -c $< -o $@

$(BUILD)/aoe-check: $(CHECK_OBJ) $(TEST_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -lcmocka $(LIBS) -o $@

# Only the peers' programs need oneDNN.
$(PEER_BIN:=.o): | deps-peers
$(BUILD)/bench/peers/%: $(BUILD)/bench/peers/%.o $(BENCH_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ -ldnnl $(LIBS) -o $@

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BENCH_SUPPORT) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

$(BUILD)/examples/%: $(BUILD)/examples/%.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(LDFLAGS_ALL) $^ $(LIBS) -o $@

.SECONDARY:

demo: all ## installs what is missing, builds, fine-tunes and evaluates the default model on examples/, draws the loss curve
	@BUILD=$(BUILD) examples/demo.sh

aoe-check: $(BUILD)/aoe-check ## builds the kernel checker: every kernel of every tier against its oracle, and its speed

check: all $(TEST_BIN) $(FUZZ_BIN) $(SERVER_BIN) $(BUILD)/aoe-check $(BUILD)/examples/search header symbols ## installs what is missing, builds, runs every test
	@BUILD=$(BUILD) SAN=$(SAN) $(if $(CASES_OF),CASES="$(CASES_OF)") tests/run.sh $(TEST_BIN) $(FUZZ_BIN)

build-tests: $(TEST_BIN) $(FUZZ_BIN) $(SERVER_BIN) $(BENCH_BIN) $(BUILD)/aoe-check $(BUILD)/examples/search header symbols ## builds every test, benchmark and example without running them

header: ## aoe.h compiles alone, as C99 and as C++
	@echo '#include <aoe.h>' | $(CC) -std=c99 -pedantic -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c -
	@if command -v g++ >/dev/null; then echo '#include <aoe.h>' | g++ -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ -; fi

symbols: lib ## every exported symbol starts with aoe
	@bad=$$({ $(NM) -g --defined-only $(LIB); $(NM) -D --defined-only $(SHLIB); } 2>/dev/null | \
	  awk 'NF==3 && $$3 !~ /^(aoe|_init$$|_fini$$|__asan|__odr_asan|__tsan|__ubsan|__sanitizer)/ {print $$3}' | sort -u); \
	  if [ -n "$$bad" ]; then echo "symbols that do not start with aoe:"; echo "$$bad"; exit 1; fi

lint: deps-lint ## include directions, formatting, clang-tidy
	@tools/lint.sh

format: ## clang-format over the tree
	clang-format -i $$(git ls-files '*.c' '*.h')

bench: all $(BENCH_BIN) ## speed of products, layers, encoder, training step, tokenizer and loss on this machine
	@BUILD=$(BUILD) bench/run.sh

bench-peers: all $(PEER_BIN) ## installs PyTorch and oneDNN; prints the ratios to them and to ONNX Runtime (PEERS=--quick: a short look)
	@BUILD=$(BUILD) /usr/bin/python3 bench/peers/run.py $(PEERS)

deps: ## installs the build dependencies (root, apt)
	@tools/deps.sh $(DEPS_APT)

deps-peers: | deps # what aoe is measured against
	@tools/deps.sh $(DEPS_PEERS)

deps-lint: | deps # the linters and sanitizer runtimes
	@tools/deps.sh $(DEPS_LINT)

install: all ## installs program, library, header, default model, pkg-config file and man page under PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/aoe $(DESTDIR)$(PREFIX)/bin/aoe
	install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib/libaoe.a
	install -m 755 $(SHLIB) $(DESTDIR)$(PREFIX)/lib/libaoe.so.0
	ln -sf libaoe.so.0 $(DESTDIR)$(PREFIX)/lib/libaoe.so
	install -m 644 include/aoe.h include/aoe_data.h include/aoe_chat.h $(DESTDIR)$(PREFIX)/include
	install -m 644 docs/aoe.1 $(DESTDIR)$(PREFIX)/share/man/man1/aoe.1
	for file in $$(find models -type f); do install -D -m 644 $$file $(DESTDIR)$(PREFIX)/share/aoe/$$file || exit 1; done
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' docs/aoe.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/aoe.pc
	@[ -n "$(DESTDIR)" ] || ! command -v ldconfig >/dev/null || ldconfig 2>/dev/null || true

uninstall: ## removes what install wrote
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/aoe lib/libaoe.a lib/libaoe.so.0 lib/libaoe.so include/aoe.h include/aoe_data.h include/aoe_chat.h share/man/man1/aoe.1 lib/pkgconfig/aoe.pc)
	rm -rf $(DESTDIR)$(PREFIX)/share/aoe

clean: ## removes the build directory
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

-include $(CHECK_OBJ:.o=.d) $(OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(TEST_BIN:=.d) $(FUZZ_BIN:=.d) $(SERVER_BIN:=.d) $(TEST_SUPPORT:.o=.d) $(BENCH_BIN:=.d) $(BENCH_SUPPORT:.o=.d) $(PEER_BIN:=.d)
