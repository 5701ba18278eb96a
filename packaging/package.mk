# SPDX-License-Identifier: MIT
# Packages; included by the Makefile.

.PHONY: deb deb-arm64 deps-deb

DEPS_DEB := debhelper:dh dpkg-dev:dpkg-buildpackage fakeroot:fakeroot lintian:lintian

deps-deb: deps
	@tests/deps $(DEPS_DEB)

deb: deps-deb ebprof ## build/ebprof_VERSION_ARCH.deb: the package for Debian and what derives from it
	@BUILD=$(BUILD) packaging/deb $(VERSION)

# Linked with what apt has for that machine, and packed as if built there. Needs gcc-aarch64-linux-gnu.
DEB_ARM64 := $(BUILD)/arm64/deb
deb-arm64: deps-deb ebprof ## the same for arm64, on any machine
	@[ -d $(DEB_ARM64)/libraries ] || packaging/libraries arm64 $(DEB_ARM64)/libraries
	@MAKEFLAGS= $(MAKE) --no-print-directory -s -j$$(nproc) ARCH=arm64 CC=aarch64-linux-gnu-gcc STRIP=aarch64-linux-gnu-strip \
		LDFLAGS="-L$(DEB_ARM64)/libraries/link -Wl,--allow-shlib-undefined" BUILD=$(BUILD)/arm64 PROGRAM=$(DEB_ARM64)/ebprof all
	@BUILD=$(BUILD) packaging/deb $(VERSION) arm64 $(DEB_ARM64)/ebprof $(BUILD)/arm64/ebprof-alloc.so $(DEB_ARM64)/libraries
