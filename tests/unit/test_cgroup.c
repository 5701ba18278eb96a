/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "proc/cgroup_internal.h"

#define A64 "aaaaaa1111111111111111111111111111111111111111111111111111111111"
#define B64 "bbbbbb2222222222222222222222222222222222222222222222222222222222"
#define C64 "cccccc3333333333333333333333333333333333333333333333333333333333"
#define E64 "e5e5e55555555555555555555555555555555555555555555555555555555555"
#define D64 "cccccc4444444444444444444444444444444444444444444444444444444444"

#define F64 "f6f6f66666666666666666666666666666666666666666666666666666666666"

static char top[] = "/tmp/ebprof-test-XXXXXX";
static char mountinfo[64];

static void make(const char *dir)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", top, dir);
	for (char *p = path + strlen(top) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	mkdir(path, 0700);
}

static unsigned long long inode(const char *dir)
{
	char path[512];
	struct stat st = { 0 };

	snprintf(path, sizeof(path), "%s/%s", top, dir);
	CHECK_EQ(stat(path, &st), 0);
	return st.st_ino;
}

/* A made-up machine: v2 at "v 2" (a blank in its name), and v1 as older systems have it. */
static void build(void)
{
	static const char *const dirs[] = {
		"v 2/system.slice/web.service",
		"v 2/system.slice/docker-" A64 ".scope/init",
		"v 2/both",
		"v 2/machine.slice/libpod-conmon-" B64 ".scope",
		"v 2/machine.slice/libpod-" B64 ".scope/container",
		"memory/docker/" C64,
		"memory/docker/" D64,
		"memory/both",
		"memory/only",
		"memory/docker/" E64 "/" E64,
		"v 2/a.slice/docker-" F64 ".scope",
		"v 2/system.slice/docker-" F64 ".scope",
		"v 2/z.slice/docker-" F64 ".scope/" F64,
		"v 2/z.slice/docker-" F64 ".scopes",
		"cpu/docker/" A64,
		"cpu/only",
		"cpu/cpuonly",
		"systemd/unfiltered",
		"part/below",
		"v 2/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/docker-eeeeee.scope",
		"v 2/docker-ffffff.scope",
	};
	struct stat st;
	unsigned int ma, mi;
	FILE *f;

	CHECK(mkdtemp(top) != NULL);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		make(dirs[i]);
	stat(top, &st);
	ma = major(st.st_dev);
	mi = minor(st.st_dev);
	snprintf(mountinfo, sizeof(mountinfo), "%s/mountinfo", top);
	f = fopen(mountinfo, "w");
	fprintf(f, "1 0 8:1 / / rw - ext4 /dev/sda rw\nrubbish\n\n22 1 0:5 / /proc\n");
	fprintf(f, "5 1 %u:%u / %s/cpu rw shared:5 - cgroup cgroup rw,cpu,cpuacct\n", ma, mi, top);
	fprintf(f, "6 1 %u:%u / %s/memory rw shared:7 master:2 - cgroup cgroup rw,memory\n", ma, mi,
		top);
	fprintf(f, "7 1 %u:%u / %s/systemd rw - cgroup cgroup rw,xattr,name=systemd\n", ma, mi,
		top);
	fprintf(f, "8 1 %u:%u /outer/cg %s/part rw - cgroup cgroup rw,pids\n", ma, mi, top);
	fprintf(f, "9 1 %u:%u / %s/v\\0402 rw - cgroup2 cgroup2 rw\n", ma, mi, top);
	/* not that device */
	fprintf(f, "10 1 %u:%u / %s/cpu rw - cgroup cgroup rw,hugetlb\n", ma, mi + 1, top);
	fprintf(f, "11 1 %u:%u / %s/systemd rw - cgroup2 cgroup2 rw\n", ma, mi + 1, top);
	fclose(f);
}

static struct cgroup found;
static struct error e;

static int find(const char *name)
{
	memset(&found, 0, sizeof(found));
	memset(&e, 0, sizeof(e));
	return cgroup_find_in(mountinfo, name, &found, &e);
}

static void check_found(const char *name, const char *dir, const char *controller)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", top, dir);
	if (find(name))
		printf("%s: %s\n", name, e.text);
	CHECK_STR(found.path, path);
	CHECK_STR(found.controller, controller);
	CHECK(found.id == inode(dir));
}

TEST(paths)
{
	char path[512];

	check_found("system.slice/web.service", "v 2/system.slice/web.service", "");
	check_found("/system.slice/web.service", "v 2/system.slice/web.service", "");
	check_found("both", "v 2/both", "");
	check_found("only", "memory/only", "memory");
	check_found("cpuonly", "cpu/cpuonly", "cpu");
	check_found("/outer/cg/below", "part/below", "pids");
	snprintf(path, sizeof(path), "%s/cpu/only", top);
	check_found(path, "cpu/only", "cpu");
	snprintf(path, sizeof(path), "%s/memory/../cpu/only/", top);
	check_found(path, "cpu/only", "cpu");
}

TEST(containers)
{
	/* v2 wins over cpu/docker */
	check_found("aaaaaa", "v 2/system.slice/docker-" A64 ".scope", "");
	check_found(A64, "v 2/system.slice/docker-" A64 ".scope", "");
	/* not its monitor */
	check_found("bbbbbb2", "v 2/machine.slice/libpod-" B64 ".scope", "");
	check_found("cccccc3", "memory/docker/" C64, "memory");
	check_found("e5e5e5", "memory/docker/" E64, "memory");	/* not the one inside */
	check_found("ffffff", "v 2/docker-ffffff.scope", "");
}

TEST(what_is_not_there)
{
	CHECK_EQ(find("cccccc"), -EEXIST);
	CHECK(strstr(e.text, C64) && strstr(e.text, D64) && strstr(e.text, "ambiguous"));
	CHECK_EQ(e.status, STATUS_NO_TARGET);
	CHECK_EQ(find("aaaaa"), -ENOENT);
	CHECK(strstr(e.text, "at least 6") != NULL);
	CHECK_EQ(find("dddddd"), -ENOENT);
	CHECK_EQ(e.status, STATUS_NO_TARGET);
	CHECK_EQ(find("eeeeee"), -ENOENT);	/* deeper than we look */
	CHECK_EQ(find("nothing/of/it"), -ENOENT);
	CHECK_EQ(find("unfiltered"), -ENOENT);
	CHECK_EQ(find(""), -ENOENT);
	CHECK_EQ(find("/tmp"), -ENOENT);
	CHECK_EQ(find("/dev/null"), -ENOENT);
	CHECK_EQ(find("/outer/cgx/below"), -ENOENT);
	CHECK_EQ(find("a\nb\033"), -ENOENT);
	CHECK(!strchr(e.text, '\n') && !strchr(e.text, '\033'));
}

/* Whoever has a cgroup of his own may call one below it as a container of another's is called. */
TEST(the_same_id_in_two_places)
{
	CHECK_EQ(find(F64), -EEXIST);
	CHECK_EQ(e.status, STATUS_NO_TARGET);
	CHECK(strstr(e.text, "ambiguous") != NULL);
	CHECK((strstr(e.text, "/a.slice/") != NULL) + (strstr(e.text, "/system.slice/") != NULL) +
	      (strstr(e.text, "/z.slice/") != NULL) == 2);
	check_found("z.slice/docker-" F64 ".scope", "v 2/z.slice/docker-" F64 ".scope", "");
}

TEST(long_names)
{
	char *name = malloc(10001);

	memset(name, 'a', 10000);
	name[10000] = '\0';
	CHECK_EQ(find(name), -ENOENT);
	name[4095] = '\0';
	CHECK_EQ(find(name), -ENOENT);
	name[0] = '/';
	CHECK_EQ(find(name), -ENOENT);
	free(name);
}

TEST(no_hierarchies)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/none", top);
	f = fopen(path, "w");
	fprintf(f, "1 0 8:1 / / rw - ext4 /dev/sda rw\n");
	fclose(f);
	CHECK_EQ(cgroup_find_in(path, "x", &found, &e), -ENOENT);
	CHECK(strstr(e.text, "mounted") != NULL);
	CHECK_EQ(cgroup_find_in("/nonexistent/mountinfo", "x", &found, &e), -ENOENT);
	CHECK_EQ(e.status, STATUS_ERROR);
}

/* The machine's own; as root a real one is made and removed again. */
TEST(the_real_ones)
{
	struct cgroup root, made;
	char path[4200], name[64];
	struct stat st;

	if (cgroup_find("/", &root, &e))
		return;
	CHECK_EQ(stat(root.path, &st), 0);
	CHECK(root.id == st.st_ino);
	snprintf(name, sizeof(name), "ebprof-test-%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/%s", root.path, name);
	if (mkdir(path, 0755))
		return;
	CHECK_EQ(cgroup_find(name, &made, &e), 0);
	CHECK_EQ(stat(path, &st), 0);
	CHECK(made.id == st.st_ino && made.id != root.id);
	CHECK_STR(made.controller, root.controller);
	CHECK_EQ(cgroup_find(path, &made, &e), 0);
	CHECK(made.id == st.st_ino);
	rmdir(path);
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

int main(void)
{
	build();
	RUN(paths);
	RUN(containers);
	RUN(what_is_not_there);
	RUN(the_same_id_in_two_places);
	RUN(long_names);
	RUN(no_hierarchies);
	RUN(the_real_ones);
	nftw(top, remove_one, 32, FTW_DEPTH | FTW_PHYS);
	return TEST_END();
}
