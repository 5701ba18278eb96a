# SPDX-License-Identifier: MIT
# Packages; included by the Makefile.

.PHONY: deb deps-deb

DEPS_DEB := debhelper:dh dpkg-dev:dpkg-buildpackage fakeroot:fakeroot lintian:lintian

deps-deb: deps
	@tests/deps $(DEPS_DEB)

deb: deps-deb ebprof ## build/ebprof_VERSION_ARCH.deb: the package for Debian and what derives from it
	@BUILD=$(BUILD) packaging/deb $(VERSION)
