/* SPDX-License-Identifier: MIT */
/* What code of an interpreter tells: of programs that compilers made here. */
#include "lang/lang.h"
#include "lang/python_code.h"

#include <stdio.h>

#include "elf/elf_lookup.h"
#include "test.h"
#include "unit/debug_fixture.h"

#define AARCH64 "aarch64-linux-gnu-gcc"

struct looked_for {
	const char *name;
	struct python_function function;
};

static void take(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct looked_for *l = ctx;

	if (!strcmp(name, l->name))
		l->function = (struct python_function){ sym->st_value, sym->st_size };
}

static struct python_function function_of(const struct elf_file *f, const char *name)
{
	struct looked_for l = { .name = name };

	if (f)
		elf_lookup_each(f, take, &l);
	return l.function;
}

/* A function with a part that is moved away, and one that others jump to. */
static int make_source(void)
{
	return shell("printf '%%s\\n' '#include <stdlib.h>'"
		     " 'int out[9];'"
		     " '__attribute__((cold, noinline)) void rare(int x)'"
		     " '{ out[x & 7] = rand(); }'"
		     " '__attribute__((noinline)) int next(int x) { out[x & 3]++; return x; }'"
		     " 'int loop(int x, int y) {'"
		     " ' if (x > 5) { rare(x); rare(y); x += rand(); }'"
		     " ' if (y > 7) { rare(y); y += rand(); rare(3); }'"
		     " ' if (x == y) { rare(y); x += rand(); rare(x); }'"
		     " ' if (x > 1) return next(x + y); return next(x); }'"
		     " 'int main(int n, char **v) { (void)v; return loop(n, n); }'"
		     " >part.c &&"
		     " printf '%%s\\n'"
		     " '__attribute__((aligned(64))) _Thread_local long pad[4] = { 1 };'"
		     " 'static _Thread_local void *state[8];'"
		     " 'void *get(void) { return state[3]; }'"
		     " 'void set(void *p) { state[3] = p; }'"
		     " 'int main(void) { set(pad); return !get(); }' >tls.c");
}

static void check_part(const char *cc, const char *options)
{
	struct fixture_file full, bare;
	struct python_function part = { 0 }, cold;
	struct elf_code code = { 0 };

	CHECK_EQ(shell("%s -O2 -freorder-blocks-and-partition %s -o full part.c && cp full bare &&"
		       " objcopy --strip-all bare 2>/dev/null;"
		       " [ -s bare ]",
		       cc, options),
		 0);
	full = fixture_open("full");
	bare = fixture_open("bare");
	cold = function_of(full.elf, "loop.cold");
	CHECK(bare.elf && cold.size);
	if (bare.elf) {
		struct python_function loop = function_of(full.elf, "loop");
		struct python_function next = function_of(full.elf, "next");

		elf_code_collect(bare.elf, &code);
		CHECK_EQ(python_moved_part(bare.elf, &code, &loop, &part), 0);
		CHECK_EQ(part.address, cold.address);
		CHECK(part.size >= cold.size);
		CHECK(python_moved_part(bare.elf, &code, &next, &part) < 0);
		elf_code_free(&code);
	}
	fixture_close(&full);
	fixture_close(&bare);
}

TEST(a_part_without_its_name)
{
	check_part("cc", "");
	check_part("cc", "-no-pie -fno-pie");
	check_part("cc", "-shared -fPIC");
	if (!shell("command -v " AARCH64 " >/dev/null"))
		check_part(AARCH64, "");
}

static int returned(const char *cc, const char *options, struct python_tls *tls)
{
	struct fixture_file f;
	struct elf_code code = { 0 };
	struct python_function get;
	int err = -1;

	CHECK_EQ(shell("%s -O2 %s -o tls tls.c", cc, options), 0);
	f = fixture_open("tls");
	get = function_of(f.elf, "get");
	CHECK(f.elf && get.size);
	if (f.elf) {
		elf_code_collect(f.elf, &code);
		err = python_returned_tls(f.elf, &code, &get, tls);
		elf_code_free(&code);
	}
	fixture_close(&f);
	return err;
}

/* 32 bytes of other variables, then ours, of which this is the fourth word. */
TEST(a_thread_local_variable)
{
	struct python_tls tls;

#ifdef __x86_64__
	CHECK_EQ(returned("cc", "", &tls), 0);
	CHECK(!tls.module);
	/* They end at the thread pointer, as far as they are aligned. */
	CHECK_EQ((int64_t)tls.at, -128 + 32 + 24);
	CHECK_EQ(returned("cc", "-fno-omit-frame-pointer -fcf-protection", &tls), 0);
	CHECK_EQ((int64_t)tls.at, -128 + 32 + 24);
	CHECK_EQ(returned("cc", "-shared -fPIC", &tls), 0);
	CHECK(tls.module && tls.at);
	CHECK_EQ(tls.offset, 32 + 24);
#endif
	if (!shell("command -v " AARCH64 " >/dev/null")) {
		CHECK_EQ(returned(AARCH64, "", &tls), 0);
		CHECK(!tls.module);
		/* They begin behind 16 bytes, as far as they are aligned. */
		CHECK_EQ((int64_t)tls.at, 64 + 32 + 24);
		CHECK(returned(AARCH64, "-shared -fPIC", &tls) < 0);
	}
}

TEST(a_c_library)
{
	struct fixture_file f;

	CHECK_EQ(shell("cc -o glibc part.c"), 0);
	f = fixture_open("glibc");
	CHECK(f.elf && !lang_needs_musl(f.elf));
	fixture_close(&f);
	if (!shell("musl-gcc -o musl part.c")) {
		f = fixture_open("musl");
		CHECK(f.elf && lang_needs_musl(f.elf));
		fixture_close(&f);
	}
}

TEST(a_function_that_does_something_else)
{
	struct fixture_file f = fixture_open("full");
	struct python_function loop = function_of(f.elf, "loop"), none = { 0x10, 1 << 30 };
	struct elf_code code = { 0 };
	struct python_tls tls;

	CHECK(f.elf && loop.size);
	if (f.elf) {
		elf_code_collect(f.elf, &code);
		CHECK(python_returned_tls(f.elf, &code, &loop, &tls) < 0);
		CHECK(python_returned_tls(f.elf, &code, &none, &tls) < 0);
		CHECK(python_moved_part(f.elf, &code, &none, &none) < 0);
		elf_code_free(&code);
	}
	fixture_close(&f);
}

int main(void)
{
	if (fixture_begin() || make_source())
		return 1;
	RUN(a_part_without_its_name);
	RUN(a_thread_local_variable);
	RUN(a_c_library);
	RUN(a_function_that_does_something_else);
	fixture_end();
	return TEST_END();
}
