/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_split.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "test.h"
#include "unit/debug_fixture.h"

/* A program of which the .dwo file is at @dir, as its skeleton says. */
static void compile(const char *dir)
{
	CHECK_EQ(shell("cc -g -O1 -gdwarf-5 -gsplit-dwarf -fdebug-prefix-map=$PWD=%s -c prog.c && "
		       "cc -o split prog.o",
		       dir),
		 0);
}

/*
 * What the unit of the fixture's program becomes, where a process is the target: 0, or a negative
 * errno.
 */
static int error_of_split_in(pid_t target)
{
	struct fixture_file f = fixture_open("split");
	struct dwarf_debug debug = { 0 };
	struct dwarf_split split;
	int err = f.elf ? dwarf_file_open(&debug.file, f.elf, 0) : -EINVAL;

	if (!err)
		dwarf_units_read(&debug.file, NULL, &debug.units);
	CHECK_EQ(debug.units.n, 1);
	if (debug.units.n)
		err = dwarf_split_open(&split, NULL, debug.units.v, target);
	if (!err) {
		CHECK(split.fd >= 0 && split.unit && split.unit->dwo_id == debug.units.v->dwo_id);
		dwarf_split_close(&split);
	}
	dwarf_file_close(&debug.file);
	vec_free(&debug.units);
	fixture_close(&f);
	return err;
}

static int error_of_split(void)
{
	return error_of_split_in(0);
}

TEST(finds_its_file)
{
	CHECK_EQ(fixture_begin(), 0);
	compile("$PWD");
	CHECK_EQ(error_of_split(), 0);
	CHECK_EQ(shell("mkdir sub && mv prog.dwo sub/x && ln -s sub/x prog.dwo"), 0);
	CHECK_EQ(error_of_split(), 0);
	CHECK_EQ(shell("cp split sub/x"), 0);
	CHECK_EQ(error_of_split(), -ESTALE);
	CHECK_EQ(shell("rm sub/x"), 0);
	CHECK_EQ(error_of_split(), -ENOENT);
	fixture_end();
}

/* The reader's own folder, as for gdb. */
TEST(relative_ones_are_to_where_we_are)
{
	char here[PATH_MAX];

	CHECK_EQ(fixture_begin(), 0);
	compile(".");
	CHECK_EQ(error_of_split(), -ENOENT);
	CHECK(getcwd(here, sizeof(here)) && !chdir(fixture_dir));
	CHECK_EQ(error_of_split(), 0);
	CHECK_EQ(chdir(here), 0);
	fixture_end();
}

/* After our own root, and never out of it. */
TEST(looks_in_the_root_of_the_target)
{
	pid_t pid;

	CHECK_EQ(fixture_begin(), 0);
	compile("/not/here");
	CHECK_EQ(shell("mkdir -p root/not/here && cp prog.dwo root/not/here/"), 0);
	pid = fixture_process_in_root();
	if (pid) {
		CHECK_EQ(error_of_split(), -ENOENT);
		CHECK_EQ(error_of_split_in(pid), 0);
		CHECK_EQ(shell("cd root/not/here && mv prog.dwo ../x && ln -s /not/x prog.dwo"), 0);
		CHECK_EQ(error_of_split_in(pid), 0);
		CHECK_EQ(shell("ln -sf %s/prog.dwo root/not/here/prog.dwo", fixture_dir), 0);
		CHECK_EQ(error_of_split_in(pid), -ENOENT);
		CHECK_EQ(shell("cp -f --remove-destination split root/not/here/prog.dwo"), 0);
		CHECK_EQ(error_of_split_in(pid), -ESTALE);
		/* Relative ones are to where we are, not to anything of the target's. */
		compile(".");
		CHECK_EQ(shell("cp prog.dwo root/"), 0);
		CHECK_EQ(error_of_split_in(pid), -ENOENT);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		CHECK_EQ(error_of_split_in(pid), -ENOENT);
	}
	fixture_end();
}

/* What is in /proc is nobody's .dwo file, and leads to everybody's. */
TEST(links_of_proc_are_refused)
{
	CHECK_EQ(fixture_begin(), 0);
	compile("/proc/self/root$PWD");
	CHECK_EQ(error_of_split(), -ELOOP);
	fixture_end();
}

TEST(only_regular_files_are_opened)
{
	char event[sizeof(struct inotify_event) + NAME_MAX + 1];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	CHECK_EQ(fixture_begin(), 0);
	compile("$PWD");
	CHECK_EQ(shell("rm prog.dwo && mkfifo prog.dwo"), 0);
	CHECK(inotify_add_watch(watch, fixture_path("prog.dwo"), IN_OPEN) >= 0);
	CHECK_EQ(error_of_split(), -ENOENT);
	CHECK(read(watch, event, sizeof(event)) < 0 && errno == EAGAIN);
	close(watch);
	fixture_end();
}

int main(void)
{
	RUN(finds_its_file);
	RUN(relative_ones_are_to_where_we_are);
	RUN(looks_in_the_root_of_the_target);
	RUN(links_of_proc_are_refused);
	RUN(only_regular_files_are_opened);
	return TEST_END();
}
