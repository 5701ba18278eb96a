/* SPDX-License-Identifier: MIT */
/* With elfutils' own library, where it is installed, and a folder as the server. */
#include "elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>

#include "test.h"
#include "unit/debug_fixture.h"

TEST(is_off_unless_there_are_servers)
{
	unsetenv("DEBUGINFOD_URLS");
	CHECK(!debuginfod_new() && errno == EDESTADDRREQ);
	setenv("DEBUGINFOD_URLS", "", 1);
	CHECK(!debuginfod_new() && errno == EDESTADDRREQ);
	debuginfod_free(NULL);
}

/* What the folder has is found, and a file of another build id is refused. */
static void fetch(struct debuginfod *d)
{
	struct fixture_file f = fixture_open("prog"), other = fixture_open("other"),
			    bare = fixture_open("bare");
	struct elf_file *debug = NULL;
	uint8_t want[ELF_BUILD_ID_MAX], got[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(f.elf, want);
	int fd;

	fd = debuginfod_fetch(d, f.elf, &debug);
	CHECK(fd >= 0 && debug);
	if (debug) {
		CHECK_EQ(elf_file_build_id(debug, got), n);
		CHECK(!memcmp(got, want, n));
		CHECK(elf_file_section(debug, ".debug_info") != NULL);
		elf_file_free(debug);
		close(fd);
	}
	CHECK_EQ(debuginfod_fetch(d, other.elf, &debug), -ESTALE);
	CHECK(!debug);
	CHECK_EQ(debuginfod_fetch(d, bare.elf, &debug), -ENOENT);
	CHECK(!debug);
	fixture_close(&f);
	fixture_close(&other);
	fixture_close(&bare);
}

TEST(fetches_by_build_id)
{
	void *lib = dlopen("libdebuginfod.so.1", RTLD_NOW);
	char url[512], cache[512];
	struct debuginfod *d;

	CHECK_EQ(fixture_begin(), 0);
	snprintf(url, sizeof(url), "file://%s", fixture_dir);
	snprintf(cache, sizeof(cache), "%s/cache", fixture_dir);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	CHECK_EQ(shell("cc -g -Wl,--build-id=0x12345678 -o other prog.c && cc -Wl,--build-id=none "
		       "-o bare prog.c &&"
		       " objcopy --only-keep-debug prog debuginfo && id=$(readelf -n prog | sed -n "
		       "'s/.*Build ID: //p') &&"
		       " mkdir -p buildid/$id buildid/12345678 && cp debuginfo buildid/$id/ &&"
		       " cp debuginfo buildid/12345678/"),
		 0);
	d = debuginfod_new();
	CHECK_EQ(d != NULL, lib != NULL);
	if (d)
		fetch(d);
	else
		CHECK_EQ(errno, ELIBACC);
	debuginfod_free(d);
	fixture_end();
	if (lib)
		dlclose(lib);
}

int main(void)
{
	RUN(is_off_unless_there_are_servers);
	RUN(fetches_by_build_id);
	return TEST_END();
}
