# SPDX-License-Identifier: MIT
# ebprof: `make help` lists the targets.

VERSION  := 0.1.0
BUILD    ?= build
PREFIX   ?= /usr/local
CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= bpftool
PKG      ?= pkg-config

ARCH     := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
OPT      ?= -O2 -g
WARN     := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wvla
CPPFLAGS += -D_GNU_SOURCE -DEBPROF_VERSION='"$(VERSION)"' -Isrc -I. -I$(BUILD)
CFLAGS   += -std=gnu11 $(OPT) $(WARN) -fno-strict-aliasing -fstack-protector-strong
LIBS     := -lbpf -lelf -lz
# Only a static libiberty exists in Debian.
LIBS     += -liberty

BPF_SRC  := $(wildcard bpf/*.bpf.c)
BPF_HDR  := $(wildcard bpf/*.h) vmlinux/vmlinux.h
BPF_OBJ  := $(BPF_SRC:bpf/%.bpf.c=$(BUILD)/bpf/%.bpf.o)
SKEL     := $(BUILD)/ebprof.skel.h

SRC      := $(wildcard src/*.c src/*/*.c)
OBJ      := $(SRC:%.c=$(BUILD)/%.o)

.DELETE_ON_ERROR:
.PHONY: all help clean

all: ebprof ## build ./ebprof (objects under build/)

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 16

ebprof: $(OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/src/collect/collector.o: $(SKEL)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(BPF_HDR)
	@mkdir -p $(@D)
	$(CLANG) -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Wextra -Werror -Ivmlinux -I. -c -o $@ $<

$(BUILD)/ebprof.bpf.o: $(BPF_OBJ)
	$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/ebprof.bpf.o
	$(BPFTOOL) gen skeleton $< name ebprof_bpf > $@

clean: ## remove what was built
	rm -rf $(BUILD) ebprof

-include $(OBJ:.o=.d)
include tests/tests.mk
