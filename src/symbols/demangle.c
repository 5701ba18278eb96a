/* SPDX-License-Identifier: MIT */
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle_cxx.h"
#include "symbols/demangle_rust.h"

#define MAX_LINK_NAME	8192	/* longer names are copied */
#define MAX_D_WORK	16	/* as a power of two, at most so many times the work */
/* of that, for the ways in which an ambiguous length is read: one for each digit */
#define D_SYMBOL_WORK	4

/* Cuts "@VERSION" or "@@VERSION" off, and takes ".llvm.HASH" out. */
static void strip(char *name)
{
	char *p = strchr(name + 1, '@'), *end;

	if (p)
		*p = '\0';
	p = strstr(name + 1, ".llvm.");
	if (!p)
		return;
	end = p + strlen(".llvm.");
	end += strspn(end, "0123456789ABCDEF");
	if (end[-1] != '.' && (*end == '.' || !*end))
		memmove(p, end, strlen(end) + 1);
}

/* Where a Rust name ends and a clone's suffix begins; 0 where it is not a Rust name. */
static size_t rust_end(const char *name)
{
	size_t end = 0;

	if (!strncmp(name, "_R", 2))
		return strcspn(name, ".");
	if (strncmp(name, "_ZN", 3) != 0)
		return 0;
	/* A legacy name has dots of its own, but always ends with its hash. */
	for (const char *p = name; (p = strstr(p, "17h")); p++)
		if (strnlen(p, 21) >= 20 && p[19] == 'E' && (p[20] == '.' || !p[20]))
			end = (size_t)(p + 20 - name);
	return end;
}

/* Appends " [clone .cold]" for each part of @suffix: ".name" with the ".number"s that follow. */
static size_t append_clones(char *dst, size_t size, size_t len, const char *suffix)
{
	while (*suffix == '.') {
		size_t n = 1 + strcspn(suffix + 1, ".");
		int written;

		while (suffix[n] == '.' && suffix[n + 1] >= '0' && suffix[n + 1] <= '9')
			n += 1 + strcspn(suffix + n + 1, ".");
		written = snprintf(dst + len, size - len, " [clone %.*s]", (int)n, suffix);
		if (written < 0 || (size_t)written >= size - len)
			return 0;
		len += (size_t)written;
		suffix += n;
	}
	return len;
}

static size_t demangle_rust(const char *name, size_t end, char *dst, size_t size)
{
	size_t len = name[1] == 'R' ? demangle_rust_v0(name, end, dst, size) :
				      demangle_rust_legacy(name, end, dst, size);

	return len ? append_clones(dst, size, len, name + end) : 0;
}

/*
 * libiberty's decoder of D takes memory as it goes, so that no clock could end it. What multiplies
 * its work is counted beforehand: types that refer back, and symbols behind a length, which it
 * tries at each digit.
 */
static size_t demangle_d(char *name, char *dst, size_t size)
{
	char *suffix = name + strcspn(name, "."), first = *suffix, *text;
	size_t work = 0, n = 0;

	for (const char *p = name; *p; p++)
		work += *p == 'Q' ? 1 : *p == 'S' && p[1] >= '0' && p[1] <= '9' ? D_SYMBOL_WORK : 0;
	if (work > MAX_D_WORK)
		return 0;
	*suffix = '\0';
	text = dlang_demangle(name, 0);
	*suffix = first;
	if (text && strlen(text) < size) {
		n = strlen(text);
		memcpy(dst, text, n + 1);
	}
	free(text);
	return n ? append_clones(dst, size, n, suffix) : 0;
}

/*
 * The readable form of a C++ name with what lies in it, which has no name of its own for the
 * linker.
 */
static size_t demangle_inner(struct demangler *d, char *name, char *dst, size_t size)
{
	char *inner = strstr(name, "::");
	size_t n, rest = inner ? strlen(inner) : 0;

	if (inner)
		*inner = '\0';
	n = demangle_cxx_is_cheap(name) ? demangle_cxx(name, dst, size)
					: demangler_ask(d, name, dst, size);
	if (inner)
		*inner = ':';
	if (!n || n + rest >= size)
		return 0;
	memcpy(dst + n, inner ? inner : "", rest + 1);
	return n + rest;
}

int demangle(struct demangler *d, const char *raw, char *dst, size_t size)
{
	char name[MAX_LINK_NAME];
	size_t n = strnlen(raw, MAX_LINK_NAME), end;

	if (n > 1 && n < MAX_LINK_NAME) {
		memcpy(name, raw, n + 1);
		strip(name);
		end = rust_end(name);
		if (end && demangle_rust(name, end, dst, size))
			return 1;
		if (!strncmp(name, "_Z", 2) && demangle_inner(d, name, dst, size))
			return 1;
		if (!strncmp(name, "_D", 2) && demangle_d(name, dst, size))
			return 1;
		raw = name;
	}
	n = strnlen(raw, size - 1);
	memcpy(dst, raw, n);
	dst[n] = '\0';
	return 0;
}
