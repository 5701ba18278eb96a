/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "commands/hints.h"
#include "commands/packages.h"
#include "elf/elf_file.h"

static char lists[] = "/tmp/ebprof-test-XXXXXX";
static char build_id[2 * ELF_BUILD_ID_MAX + 1];	/* of FILE_HERE */

#define FILE_HERE "/usr/bin/env"
#define UNKNOWN_ID "00112233445566778899"

/* A frame of @module at @address: named @name, or without a name for the reason @why. */
static uint32_t frame(struct profile *p, uint32_t parent, uint32_t module, const char *name,
		      const char *why)
{
	uint64_t address = profile_view(p).nlocations;
	uint32_t location = profile_location(p, module, FRAME_USER, address);
	uint32_t text = profile_view(p).modules[module].name;

	profile_name_location(
		p, location,
		&(struct line){ .function = profile_function(p, profile_string(p, name), text,
							     FRAME_USER) },
		1, why);
	return profile_node(p, parent, location);
}

/* What is said of @p, which is freed; valid until the next call. */
static const char *said(struct profile *p, int debuginfod, int urls)
{
	const struct hints_options o = { lists, debuginfod, urls };
	static char *text;
	size_t size;
	FILE *to;

	free(text);
	to = open_memstream(&text, &size);
	hints_show(p, &o, to);
	fclose(to);
	profile_free(p);
	return text;
}

/* @made frames of code made at run time for each 100 of @file, in process 42. */
static const char *runtime(const char *file, int made, const char *why, const char *name)
{
	struct profile *p = profile_new();
	uint32_t comm = profile_string(p, "comm"), node = 0;
	uint32_t thread = profile_thread(p, profile_process(p, 42, 1, comm), 42, comm);
	uint32_t module = profile_module(p, file, "/opt/x", "");

	for (int i = 0; i < 100; i++)
		node = frame(p, node, module, name, "");
	for (int i = 0; i < made; i++)
		node = frame(p, node, 0, "[unknown]", why);
	profile_add(p, thread, node, 7);
	return said(p, 0, 0);
}

TEST(runtimes)
{
	CHECK_STR(runtime("node", 25, "made at run time", "main"),
		  "ebprof: 20% of the frames are code that node made, without names; for these "
		  "start it "
		  "with --perf-basic-prof (or NODE_OPTIONS=--perf-basic-prof)\n");
	CHECK_STR(runtime("libjvm.so", 100, "made at run time", "main"),
		  "ebprof: 50% of the frames are code that the JVM made, without names; for these "
		  "while "
		  "ebprof records, run: jcmd 42 Compiler.perfmap (JDK 17 or newer)\n");
	CHECK(strstr(runtime("libcoreclr.so", 25, "made at run time", "main"),
		     "DOTNET_PerfMapEnabled=1"));
	CHECK(strstr(runtime("libnode.so.108", 25, "made at run time", "main"), "that node made"));
	/* Too little, or another program. */
	CHECK_STR(runtime("node", 5, "made at run time", "main"), "");
	CHECK_STR(runtime("nodejunk", 25, "made at run time", "main"), "");
	CHECK_STR(runtime("prog", 25, "made at run time", "main"), "");
	/* A map is there: the JVM's is of the time it was asked for. */
	CHECK_STR(runtime("node", 25, "not in the perf map", "main"), "");
	CHECK(strstr(runtime("libjvm.so", 25, "not in the perf map", "main"), "jcmd 42"));
}

/* Stacks that are cut before they reach the runtime's own code. */
TEST(by_the_name_of_the_process)
{
	const char *comms[] = { "java", "javac" };

	for (int i = 0; i < 2; i++) {
		struct profile *p = profile_new();
		uint32_t comm = profile_string(p, comms[i]);
		uint32_t thread = profile_thread(p, profile_process(p, 42, 1, comm), 42, comm);

		profile_add(p, thread, frame(p, 0, 0, "[unknown]", "made at run time"), 7);
		CHECK_EQ(strstr(said(p, 0, 0), "jcmd 42") != NULL, i == 0);
	}
}

TEST(python)
{
	const char *eval = "_PyEval_EvalFrameDefault";

	CHECK_STR(runtime("python3.11", 0, "", eval),
		  "ebprof: 100% of the samples are in Python's interpreter; its functions have "
		  "names from "
		  "Python 3.12 on, started with -X perf; this is 3.11\n");
	CHECK_STR(runtime("libpython3.12.so.1.0", 0, "", eval),
		  "ebprof: 100% of the samples are in Python's interpreter; its functions have "
		  "names where "
		  "it is started with -X perf (Python 3.12 or newer)\n");
	CHECK(strstr(runtime("python", 0, "", eval), "(Python 3.12 or newer)"));
	CHECK_STR(runtime("python3.12", 0, "", "main"), "");
}

TEST(python_that_has_names)
{
	struct profile *p = profile_new();
	uint32_t comm = profile_string(p, "comm");
	uint32_t thread = profile_thread(p, profile_process(p, 42, 1, comm), 42, comm);
	uint32_t module = profile_module(p, "python3.12", "/opt/x", "");
	uint32_t node = frame(p, 0, module, "_PyEval_EvalFrameDefault", "");

	profile_add(p, thread, node, 5);
	node = frame(p, node, profile_module(p, "[jit]", "", ""), "py::f:/x.py", "");
	profile_add(p, thread, node, 1);
	CHECK_STR(said(p, 0, 0), "");
}

/* A profile with @named of 100 frames in a file that has names, the others in the file @path. */
static struct profile *stripped(const char *path, const char *id, int named, const char *why)
{
	const char *slash = strrchr(path, '/');
	struct profile *p = profile_new();
	uint32_t comm = profile_string(p, "comm"), node = 0;
	uint32_t thread = profile_thread(p, profile_process(p, 42, 1, comm), 42, comm);
	uint32_t module = profile_module(p, slash + 1, path, id),
		 other = profile_module(p, "x", "/x", "");

	for (int i = 0; i < 100; i++)
		node = i < named ? frame(p, node, other, "f", "")
				 : frame(p, node, module, "[x]", why);
	profile_add(p, thread, node, 1);
	return p;
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", lists, name);
	f = fopen(path, "we");
	CHECK(f != NULL);
	fputs(text, f);
	fclose(f);
}

static void drop(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", lists, name);
	unlink(path);
}

static void find_build_id(void)
{
	int fd = file_open_regular(FILE_HERE);
	struct elf_file *f = elf_file_open(fd);
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = f ? elf_file_build_id(f, id) : 0;

	for (size_t i = 0; i < n; i++)
		snprintf(build_id + 2 * i, 3, "%02x", id[i]);
	elf_file_free(f);
	close(fd);
}

/* What is found at FILE_HERE, whose debug file may be installed on this machine. */
static int debug_of(const char *path, const char *id, char name[PACKAGE_NAME_MAX])
{
	*name = '\0';
	return packages_debug(lists, path, id, name);
}

TEST(packages)
{
	char name[PACKAGE_NAME_MAX], with_nul[] = "/x\n/usr/bin/env";

	put("readme", FILE_HERE "\n");
	put("other.list", "/usr/bin/envy\n/x/usr/bin/env\n");
	put("UPPER.list", FILE_HERE "\n");
	CHECK_EQ(debug_of(FILE_HERE, build_id, name), -ENOENT);
	drop("UPPER.list");
	put("evil;sh.list", FILE_HERE "\n");
	CHECK_EQ(debug_of(FILE_HERE, build_id, name), -ENOENT);
	drop("evil;sh.list");
	put("coreutils.list", with_nul);
	CHECK_EQ(debug_of(FILE_HERE, build_id, name), 0);
	CHECK_STR(name, "coreutils-dbgsym");
	drop("coreutils.list");
	/* Before /bin was made a link to /usr/bin; and a machine's own package. */
	put("libfoo1:amd64.list", "/.\n/bin/env\n");
	CHECK_EQ(debug_of(FILE_HERE, build_id, name), 0);
	CHECK_STR(name, "libfoo1-dbgsym");
	drop("libfoo1:amd64.list");
	put("libc6:amd64.list", "/.\n" FILE_HERE "\n");
	CHECK_EQ(debug_of(FILE_HERE, build_id, name), 0);
	CHECK_STR(name, "libc6-dbg");
	CHECK_EQ(debug_of(FILE_HERE, UNKNOWN_ID, name), -ESTALE);
	CHECK_EQ(debug_of("/usr/bin/none", build_id, name), -ESTALE);
	CHECK_EQ(debug_of("/usr/local/bin/env", build_id, name), -ENOENT);
	CHECK_EQ(debug_of("/usr/bin/../bin/env", build_id, name), -ENOENT);
	CHECK_EQ(debug_of("/net/host/env", build_id, name), -ENOENT);
	CHECK_EQ(debug_of(FILE_HERE, "", name), -ENOENT);
	CHECK_EQ(debug_of(FILE_HERE, "../../x", name), -ENOENT);
	drop("libc6:amd64.list");
	drop("other.list");
	drop("readme");
}

TEST(stripped_files)
{
	put("coreutils.list", FILE_HERE "\n");
	CHECK_STR(said(stripped(FILE_HERE, build_id, 50, "stripped"), 0, 0),
		  "ebprof: 50% of the frames are in env, without names; for these install from the "
		  "debug "
		  "archive: apt install coreutils-dbgsym; or --debuginfod with "
		  "DEBUGINFOD_URLS=https://debuginfod.elfutils.org/\n");
	CHECK_STR(said(stripped(FILE_HERE, build_id, 50, "no symbol there"), 1, 1),
		  "ebprof: 50% of the frames are in env, without names; for these install from the "
		  "debug "
		  "archive: apt install coreutils-dbgsym\n");
	/* In a container, which has another file there. */
	CHECK_STR(said(stripped(FILE_HERE, UNKNOWN_ID, 50, "stripped"), 0, 1),
		  "ebprof: 50% of the frames are in env, without names; for these use "
		  "--debuginfod\n");
	CHECK_STR(said(stripped(FILE_HERE, UNKNOWN_ID, 50, "stripped"), 1, 1), "");
	/* Too little, for another reason, and what no package has. */
	CHECK_STR(said(stripped(FILE_HERE, build_id, 96, "stripped"), 0, 0), "");
	CHECK_STR(said(stripped(FILE_HERE, build_id, 50, "file replaced"), 0, 0), "");
	CHECK_STR(said(stripped("/home/me/env", build_id, 50, "stripped"), 0, 0), "");
	CHECK_STR(said(profile_new(), 0, 0), "");
	drop("coreutils.list");
}

int main(void)
{
	char debug[256];

	if (!mkdtemp(lists))
		return 1;
	find_build_id();
	RUN(runtimes);
	RUN(by_the_name_of_the_process);
	RUN(python);
	RUN(python_that_has_names);
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id,
		 build_id + 2);
	/* Else nothing is to be installed here. */
	if (*build_id && access(debug, F_OK)) {
		RUN(packages);
		RUN(stripped_files);
	}
	rmdir(lists);
	return TEST_END();
}
