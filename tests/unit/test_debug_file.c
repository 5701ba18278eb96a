/* SPDX-License-Identifier: MIT */
#include "elf/debug_file.h"

#include <errno.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "elf/debug_link.h"
#include "test.h"
#include "unit/debug_fixture.h"
#include "unit/unwinder_fake.h"

static char dir_d[300];	/* FIXTURE/d, a --debug-dir */
static const char *dirs[] = { dir_d };
static struct debug_places places = { .dirs = dirs, .n_dirs = 1 };
static char id_name[128];		/* .build-id/xx/yyyy.debug of "prog" */

/* The build id's name of @file. */
static void name_by_id(const char *file)
{
	struct fixture_file f = fixture_open(file);
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = f.elf ? elf_file_build_id(f.elf, id) : 0;
	int at;

	CHECK(n > 1);
	at = sprintf(id_name, ".build-id/%02x/", n ? id[0] : 0);
	for (size_t i = 1; i < n; i++)
		at += sprintf(id_name + at, "%02x", id[i]);
	strcpy(id_name + at, ".debug");
	fixture_close(&f);
}

static void begin(void)
{
	CHECK_EQ(fixture_begin(), 0);
	snprintf(dir_d, sizeof(dir_d), "%s/d", fixture_dir);
	places.target = 0;
	places.root_owned = 0;
	places.crc_left = NULL;
	places.n_dirs = 1;
	CHECK_EQ(shell("objcopy --only-keep-debug prog prog.debug && mkdir bin .debug d && cp "
		       "prog.debug keep &&"
		       " objcopy --strip-all --add-gnu-debuglink=prog.debug prog bin/prog && rm "
		       "prog.debug &&"
		       " objcopy --remove-section .note.gnu.build-id bin/prog bin/anonymous &&"
		       " objcopy --remove-section .note.gnu.build-id keep keep_anonymous"),
		 0);
	name_by_id("prog");
	CHECK_EQ(shell("mkdir -p d/%.12s", id_name), 0);
}

/* Searches for @file's: the result, with the path of what was found in @path. */
static int search(const char *file, const char *dir, char path[PATH_MAX])
{
	struct fixture_file f = fixture_open(file);
	struct elf_file *debug = NULL;
	char link[64];
	ssize_t n = 0;
	int fd = f.elf ? debug_file_open(&places, f.elf, dir, &debug) : -EINVAL;

	CHECK((fd >= 0) == (debug != NULL));
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, PATH_MAX - 1);
		elf_file_free(debug);
		close(fd);
	}
	path[n > 0 ? n : 0] = '\0';
	fixture_close(&f);
	return fd < 0 ? fd : 0;
}

/* Whether @want (in the folder) is what is found for @file. */
static int finds(const char *file, const char *want)
{
	char path[PATH_MAX], dir[300];
	int err;

	snprintf(dir, sizeof(dir), "%s/bin", fixture_dir);
	err = search(file, dir, path);
	if (!err && !strcmp(path, fixture_path(want)))
		return 1;
	printf("found \"%s\" (%d)\n", path, err);
	return 0;
}

static int error_of(const char *file)
{
	char path[PATH_MAX], dir[300];

	snprintf(dir, sizeof(dir), "%s/bin", fixture_dir);
	return search(file, dir, path);
}

/* By build id first, then each place of the link in its turn. */
TEST(finds_in_order)
{
	char path[PATH_MAX];

	begin();
	CHECK_EQ(error_of("bin/prog"), -ENOENT);
	CHECK_EQ(shell("mkdir -p d/$PWD/bin bin/.debug && cp keep d/$PWD/bin/prog.debug"), 0);
	snprintf(path, sizeof(path), "d%s/bin/prog.debug", fixture_dir);
	CHECK(finds("bin/prog", path));
	CHECK_EQ(shell("cp keep bin/.debug/prog.debug"), 0);
	CHECK(finds("bin/prog", "bin/.debug/prog.debug"));
	CHECK_EQ(shell("cp keep bin/prog.debug"), 0);
	CHECK(finds("bin/prog", "bin/prog.debug"));
	/* Without a directory the link is of no use. */
	CHECK_EQ(search("bin/prog", NULL, path), -ENOENT);
	CHECK_EQ(shell("cp keep d/%s", id_name), 0);
	CHECK_EQ(search("bin/prog", NULL, path), 0);
	snprintf(path, sizeof(path), "d/%s", id_name);
	CHECK(finds("bin/prog", path));
	/* Links are what distributions make of it. */
	CHECK_EQ(shell("mv d/%s d/target && ln -s ../../target d/%s", id_name, id_name), 0);
	CHECK(finds("bin/prog", "d/target"));
	places.n_dirs = 0;
	CHECK(finds("bin/prog", "bin/prog.debug"));
	fixture_end();
}

/* No build id in the file, or in the debug file: then the CRC decides. */
TEST(a_crc_serves_where_there_is_no_build_id)
{
	begin();
	CHECK_EQ(shell("cp keep bin/prog.debug"), 0);
	CHECK(finds("bin/anonymous", "bin/prog.debug"));
	CHECK_EQ(shell("printf x >>bin/prog.debug"), 0);
	CHECK_EQ(error_of("bin/anonymous"), -ESTALE);
	CHECK(finds("bin/prog", "bin/prog.debug"));
	/* A CRC does not make good for a build id that is wrong. */
	CHECK_EQ(shell("cc -g -O2 -Wl,--build-id=0x1234 -o other prog.c && cp other bin/prog.debug "
		       "&&"
		       " objcopy --strip-all --remove-section .gnu_debuglink prog bin/other &&"
		       " objcopy --add-gnu-debuglink=bin/prog.debug bin/other"),
		 0);
	CHECK_EQ(error_of("bin/other"), -ESTALE);
	/* Only one of them has one. */
	CHECK_EQ(shell("cp keep_anonymous bin/prog.debug && objcopy --remove-section "
		       ".gnu_debuglink bin/other &&"
		       " objcopy --add-gnu-debuglink=bin/prog.debug bin/other"),
		 0);
	CHECK(finds("bin/other", "bin/prog.debug"));
	CHECK_EQ(error_of("bin/prog"), -ESTALE);
	/* By the name of the build id only the build id counts. */
	CHECK_EQ(shell("rm bin/prog.debug && cp keep_anonymous d/%s", id_name), 0);
	CHECK_EQ(error_of("bin/other"), -ESTALE);
	fixture_end();
}

/* What is read for CRCs is bounded, and more than that not begun. */
TEST(crcs_have_a_budget)
{
	uint64_t left, size;
	struct stat st;

	begin();
	CHECK_EQ(shell("cp keep bin/prog.debug && mkdir bin/.debug && cp prog "
		       "bin/.debug/prog.debug"),
		 0);
	CHECK_EQ(stat(fixture_path("bin/prog.debug"), &st), 0);
	size = left = (uint64_t)st.st_size;
	places.crc_left = &left;
	CHECK(finds("bin/anonymous", "bin/prog.debug"));
	CHECK_EQ(left, 0);
	CHECK_EQ(error_of("bin/anonymous"), -ESTALE);
	left = size - 1;
	CHECK_EQ(shell("rm bin/.debug/prog.debug"), 0);
	CHECK_EQ(error_of("bin/anonymous"), -ESTALE);
	CHECK_EQ(left, size - 1);
	/* Another one's bytes count as well. */
	left = 3 * size;
	CHECK_EQ(shell("printf x >>bin/prog.debug && cp keep bin/.debug/prog.debug"), 0);
	CHECK(finds("bin/anonymous", "bin/.debug/prog.debug"));
	CHECK_EQ(left, size - 1);
	/* A build id costs nothing. */
	left = 0;
	CHECK(finds("bin/prog", "bin/prog.debug"));
	fixture_end();
}

/* Whatever lies there under the right name: an error, at once. */
TEST(other_files_are_refused)
{
	static const char *const makers[] = {
		"cp /dev/null $F",
		"mkdir $F",
		"mkfifo $F",
		"ln -s $F $F",
		"ln -s /dev/zero $F",
		"ln -s missing $F",
		"head -c 100 ../keep >$F",
		"head -c $(($(stat -c %s ../keep) - 100)) ../keep >$F",
		"cp ../prog.c $F",
		"cc -g -Wl,--build-id=0x1234 -o $F ../prog.c",
		"cp ../keep $F && printf '\\267\\0' | dd of=$F bs=1 seek=18 conv=notrunc",
		"ln -s /proc/self/fd/0 $F",
		"objcopy -O elf32-x86-64 ../keep $F",
	};
	static const int errors[] = {
		-ESTALE, -ESTALE, -ESTALE, -ENOENT, -ESTALE, -ENOENT, -ESTALE,
		-ESTALE, -ESTALE, -ESTALE, -ESTALE, -ENOENT, -ESTALE,
	};

	begin();
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		char command[512];

		snprintf(command, sizeof(command), "cd bin; rm -rf $F; %s", makers[i]);
		CHECK_EQ(shell("F=$PWD/d/%s; %s", id_name, command), 0);
		CHECK_EQ(error_of("bin/prog"), errors[i]);
		CHECK_EQ(shell("rm -rf d/%s; F=$PWD/bin/prog.debug; %s", id_name, command), 0);
		CHECK_EQ(error_of("bin/prog"), errors[i]);
		CHECK_EQ(shell("rm -rf bin/prog.debug"), 0);
	}
	fixture_end();
}

/* Not even for a look: to open a device or a pipe is to do something to it. */
TEST(only_regular_files_are_opened)
{
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];

	begin();
	CHECK_EQ(shell("mkfifo bin/prog.debug"), 0);
	CHECK(inotify_add_watch(watch, fixture_path("bin/prog.debug"), IN_OPEN) >= 0);
	CHECK_EQ(error_of("bin/prog"), -ESTALE);
	CHECK(read(watch, event, sizeof(event)) < 0 && errno == EAGAIN);
	close(watch);
	fixture_end();
}

/* In .debug/, under the name of the file itself, which has the build id as well. */
TEST(a_file_is_not_its_own_debug_file)
{
	begin();
	CHECK_EQ(shell("mkdir bin/.debug && cp keep bin/.debug/same && objcopy --strip-all prog "
		       "bin/same &&"
		       " objcopy --add-gnu-debuglink=bin/.debug/same bin/same"),
		 0);
	CHECK(finds("bin/same", "bin/.debug/same"));
	CHECK_EQ(shell("rm bin/.debug/same"), 0);
	CHECK_EQ(error_of("bin/same"), -ESTALE);
	fixture_end();
}

TEST(only_files_of_root_where_that_is_asked)
{
	begin();
	CHECK_EQ(shell("cp keep d/%s && chmod 644 d/%s", id_name, id_name), 0);
	places.root_owned = 1;
	CHECK_EQ(error_of("bin/prog"), getuid() ? -ESTALE : 0);
	if (!getuid()) {
		CHECK_EQ(shell("chmod 664 d/%s", id_name), 0);
		CHECK_EQ(error_of("bin/prog"), -ESTALE);
		CHECK_EQ(shell("chmod 644 d/%s && chown 12345 d/%s", id_name, id_name), 0);
		CHECK_EQ(error_of("bin/prog"), -ESTALE);
	}
	fixture_end();
}

/* In the target's root, and never out of it. */
TEST(looks_in_the_root_of_the_target)
{
	char path[PATH_MAX], want[256];
	pid_t pid;

	begin();
	CHECK_EQ(shell("mkdir -p root/app/.debug root/usr/lib/debug/%.12s root/%s/d && cp keep "
		       "root/app/prog.debug",
		       id_name, fixture_dir),
		 0);
	pid = fixture_process_in_root();
	if (!pid) {
		fixture_end();
		return;
	}
	CHECK_EQ(search("bin/prog", "/app", path), -ENOENT);
	places.target = pid;
	CHECK_EQ(search("bin/prog", "/app", path), 0);
	CHECK_STR(path, fixture_path("root/app/prog.debug"));
	/* An absolute link is one in that root. */
	CHECK_EQ(shell("mv root/app/prog.debug root/x && ln -s /x root/app/prog.debug"), 0);
	CHECK_EQ(search("bin/prog", "/app", path), 0);
	CHECK_STR(path, fixture_path("root/x"));
	CHECK_EQ(shell("mv root/x x && ln -s %s/x root/x", fixture_dir), 0);
	CHECK_EQ(search("bin/prog", "/app", path), -ENOENT);
	CHECK_EQ(shell("ln -sf ../../../../../../../..%s/x root/app/prog.debug", fixture_dir), 0);
	CHECK_EQ(search("bin/prog", "/app", path), -ENOENT);
	CHECK_EQ(shell("rm root/app/prog.debug && mkfifo root/app/prog.debug"), 0);
	CHECK_EQ(search("bin/prog", "/app", path), -ESTALE);
	CHECK_EQ(shell("cp keep root/usr/lib/debug/%s", id_name), 0);
	CHECK_EQ(search("bin/prog", "/app", path), 0);
	snprintf(want, sizeof(want), "root/usr/lib/debug/%s", id_name);
	CHECK_STR(path, fixture_path(want));
	/* Ours before the target's. */
	CHECK_EQ(shell("cp keep d/%s", id_name), 0);
	snprintf(want, sizeof(want), "d/%s", id_name);
	CHECK_EQ(search("bin/prog", "/app", path), 0);
	CHECK_STR(path, fixture_path(want));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	fixture_end();
}

/* The path of what the link of dwz leads to, "" where it leads nowhere. */
static int search_alt(const char *file, char path[PATH_MAX])
{
	struct fixture_file f = fixture_open(file);
	struct elf_file *alt = NULL;
	char link[64];
	ssize_t n = 0;
	int fd = f.elf ? debug_file_open_alt(&places, f.elf, f.fd, &alt) : -EINVAL;

	CHECK((fd >= 0) == (alt != NULL));
	if (fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, PATH_MAX - 1);
		elf_file_free(alt);
		close(fd);
	}
	path[n > 0 ? n : 0] = '\0';
	fixture_close(&f);
	return fd < 0 ? fd : 0;
}

TEST(follows_the_link_of_dwz)
{
	char path[PATH_MAX];

	begin();
	CHECK_EQ(search_alt("keep", path), -ENOENT);
	CHECK_EQ(shell("cc -c -g prog.c -o shared.o && cc -g -Wl,--build-id=0xabcdef01 -o shared "
		       "prog.c && mkdir d/.dwz bin/sub"
		       " && { printf '../../d/.dwz/shared\\0'; printf '\\253\\315\\357\\1'; } "
		       ">link &&"
		       " objcopy --add-section .gnu_debugaltlink=link keep bin/sub/relative &&"
		       " { printf '%%s/d/.dwz/shared\\0' $PWD; printf '\\253\\315\\357\\1'; } "
		       ">link &&"
		       " objcopy --add-section .gnu_debugaltlink=link keep absolute"),
		 0);
	CHECK_EQ(search_alt("bin/sub/relative", path), -ENOENT);
	CHECK_EQ(shell("cp shared d/.dwz/shared"), 0);
	CHECK_EQ(search_alt("bin/sub/relative", path), 0);
	CHECK_STR(path, fixture_path("d/.dwz/shared"));
	CHECK_EQ(search_alt("absolute", path), 0);
	CHECK_STR(path, fixture_path("d/.dwz/shared"));
	CHECK_EQ(shell("cp prog d/.dwz/shared"), 0);
	CHECK_EQ(search_alt("absolute", path), -ESTALE);
	CHECK_EQ(shell("mkdir -p d/.build-id/ab && cp shared d/.build-id/ab/cdef01.debug"), 0);
	CHECK_EQ(search_alt("absolute", path), 0);
	CHECK_STR(path, fixture_path("d/.build-id/ab/cdef01.debug"));
	fixture_end();
}

/* What a link may say. */
TEST(links_are_checked)
{
	/* The name as printf(1) takes it, and what follows. */
	static const struct {
		const char *bytes;
		int err, alt;
	} cases[] = {
		{ "a.debug\\0\\1\\2\\3\\4", 0, 0 },
		{ "abc\\0\\1\\2\\3\\4", 0, 0 },
		{ "abcd\\0\\0\\0\\0\\1\\2\\3\\4", 0, 0 },
		{ "abcd\\0\\0\\0\\0\\1\\2\\3", -EBADMSG, 0 },
		{ "abc\\0\\1\\2\\3", -EBADMSG, 0 },
		{ "abc\\0", -EBADMSG, -EBADMSG },
		{ "abc", -EBADMSG, -EBADMSG },
		{ "\\0abc\\1\\2\\3\\4", -EBADMSG, -EBADMSG },
		{ "../x\\0\\0\\0\\0\\1\\2\\3\\4", -EBADMSG, 0 },
		{ "..\\0\\0\\1\\2\\3\\4", -EBADMSG, 0 },
		{ ".\\0\\0\\0\\1\\2\\3\\4", -EBADMSG, 0 },
		{ "/\\0\\0\\0\\1\\2\\3\\4", -EBADMSG, 0 },
		{ "$(head -c 256 /dev/zero | tr '\\0' x)\\0\\0\\0\\0\\1\\2\\3\\4", -EBADMSG, 0 },
		{ "$(head -c 4096 /dev/zero | tr '\\0' x)\\0\\0\\0\\0\\1\\2\\3\\4", -EBADMSG,
		  -EBADMSG },
		{ "ab\\0$(head -c 21 /dev/zero | tr '\\0' x)", 0, -EBADMSG },
	};

	begin();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct debug_alt_link alt;
		struct debug_link link;
		struct fixture_file f;

		CHECK_EQ(shell("printf \"%s\" >link && objcopy --add-section .gnu_debugaltlink=link"
			       " --add-section .gnu_debuglink=link keep linked",
			       cases[i].bytes),
			 0);
		f = fixture_open("linked");
		CHECK_EQ(debug_link_read(f.elf, &link), cases[i].err);
		CHECK_EQ(debug_alt_link_read(f.elf, &alt), cases[i].alt);
		if (!cases[i].err && i < 3)
			CHECK_EQ(link.crc, 0x04030201);
		if (!i) {
			CHECK_STR(link.name, "a.debug");
			CHECK_STR(alt.name, "a.debug");
			CHECK_EQ(alt.build_id_size, 4);
			CHECK(!memcmp(alt.build_id, "\1\2\3\4", 4));
		}
		fixture_close(&f);
	}
	fixture_end();
}

/* Where this machine has debug files: one is found by its own build id, and by no other file's. */
TEST(finds_debug_files_by_build_id)
{
	static const struct debug_places roots = { .root_owned = 1 };
	struct elf_file *own = NULL, *debug = NULL;
	struct fake f;
	int fd;

	fake_begin(&f, 64u << 20);
	for (uint32_t i = 0; i < images_count(f.images); i++) {
		const struct image *img = images_at(f.images, i);
		uint8_t id[ELF_BUILD_ID_MAX];

		own = img->fd >= 0 ? elf_file_open(img->fd) : NULL;
		if (!own)
			continue;
		fd = debug_file_open(&roots, own, NULL, &debug);
		CHECK(fd >= 0 ? debug != NULL : debug == NULL);
		if (fd >= 0) {
			CHECK_EQ(elf_file_build_id(debug, id), img->build_id_size);
			CHECK(!memcmp(id, img->build_id, img->build_id_size));
			elf_file_free(debug);
			debug = NULL;
			close(fd);
		}
		elf_file_free(own);
	}
	fake_end(&f);
}

int main(void)
{
	RUN(finds_in_order);
	RUN(a_crc_serves_where_there_is_no_build_id);
	RUN(crcs_have_a_budget);
	RUN(other_files_are_refused);
	RUN(only_regular_files_are_opened);
	RUN(a_file_is_not_its_own_debug_file);
	RUN(only_files_of_root_where_that_is_asked);
	RUN(looks_in_the_root_of_the_target);
	RUN(follows_the_link_of_dwz);
	RUN(links_are_checked);
	RUN(finds_debug_files_by_build_id);
	return TEST_END();
}
