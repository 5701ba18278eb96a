/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/cgroup_owner.h"
#include "push/folder.h"
#include "push/service.h"

#define SECOND 1000000000ull
#define START (1700000000 * SECOND)	/* 2023-11-14T22:13:20Z */
#define ID "3f2a91c07b5d3f2a91c07b5d3f2a91c07b5d3f2a91c07b5d3f2a91c07b5d3f2a"

TEST(services_by_cgroup)
{
	static const struct { const char *cgroup, *name; } cases[] = {
		{ "0::/system.slice/nginx.service\n", "nginx" },
		{ "0::/system.slice/system-getty.slice/getty@tty1.service\n", "getty@tty1" },
		{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/pipe.service\n",
		  "pipe" },
		{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope\n",
		  NULL },
		{ "0::/user.slice/user-1000.slice/session-3.scope\n", NULL },
		{ "0::/system.slice/docker-" ID ".scope\n", "container-3f2a91c07b5d" },
		{ "0::/system.slice/docker-" ID ".scope/system.slice/sshd.service\n", "sshd" },
		{ "0::/machine.slice/libpod-" ID ".scope/container\n", "container-3f2a91c07b5d" },
		{ "12:pids:/docker/" ID "\n0::/\n", "container-3f2a91c07b5d" },
		{ "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n",
		  "container-3f2a91c07b5d" },
		{ "1:name=systemd:/kubepods/pod1:cri-containerd:" ID "\n",
		  "container-3f2a91c07b5d" },
		{ "0::/system.slice/a b\x1b.service\n", "a_b_" },
		{ "0::/system.slice/..service\n", "_" },
		{ "0::/system.slice/.service\n", NULL },
		{ "0::/\n", NULL }, { "", NULL }, { "\n\n", NULL }, { "::", NULL }, { "0:", NULL },
	};
	char name[SERVICE_NAME];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int found = service_of_cgroup(cases[i].cgroup, name);

		CHECK_EQ(found, cases[i].name != NULL);
		if (found && cases[i].name)
			CHECK_STR(name, cases[i].name);
	}
}

TEST(paths_of_cgroups)
{
	static const struct { const char *text, *path; } cases[] = {
		{ "0::/system.slice/nginx.service\n", "/system.slice/nginx.service" },
		{ "9:pids:/a\n1:name=systemd:/b\n0::/c:d\n", "/c:d" },
		{ "9:pids:/\n1:name=systemd:/b\n0::/\n", "/b" },
		{ "9:pids:/a\n1:name=systemd:/b\n", "/a" },
		{ "0::/\n", "" }, { "0::\n", "" }, { "", "" }, { "0:\n::/x", "/x" },
		{ "0::/0123456789012345678901234567890123456789\n",
		  "/012345678901234567890123456789" },
	};
	char path[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cgroup_path(cases[i].text, path, sizeof(path));
		CHECK_STR(path, cases[i].path);
	}
}

TEST(service_names_are_file_names)
{
	char name[SERVICE_NAME], text[200];

	service_name("../../etc/passwd", name);
	CHECK_STR(name, "_._.._etc_passwd");
	service_name("", name);
	CHECK_STR(name, "_");
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	service_name(text, name);
	CHECK_EQ(strlen(name), SERVICE_NAME - 1);
}

/* More names than a server should keep. */
TEST(services_are_bounded)
{
	struct services *s = services_new();
	struct profile *p = profile_new();
	char comm[16];

	for (int i = 0; i < 2 * SERVICES_MAX; i++) {
		snprintf(comm, sizeof(comm), "x%d", i);
		/* Numbers that no process has. */
		profile_process(p, 0x7fff0000 + i, 1, profile_string(p, comm));
	}
	services_settle(s, p);
	CHECK_STR(services_text(s, services_of(s)[0]), "x0");
	CHECK_STR(services_text(s, services_of(s)[2 * SERVICES_MAX - 1]), "other");
	CHECK(services_count(s) <= SERVICES_MAX + 2);
	services_free(s);
	profile_free(p);
}

/* By who they are, not by their numbers in a profile. */
TEST(services_stay_where_the_profile_is_another)
{
	struct services *s = services_new();
	struct profile *old = profile_new(), *p = profile_new();
	const unsigned char ran[] = { 1, 1 };

	profile_process(old, 0x7fff0001, 1, profile_string(old, "gone"));
	profile_process(old, 0x7fff0002, 2, profile_string(old, "stays"));
	services_settle(s, old);
	profile_process(p, 0x7fff0002, 2, profile_string(p, "renamed"));
	profile_process(p, 0x7fff0002, 3, profile_string(p, "new"));
	services_renew(s, old, p);
	services_settle(s, p);
	CHECK_STR(services_text(s, services_of(s)[0]), "stays");
	CHECK_STR(services_text(s, services_of(s)[1]), "new");
	CHECK_STR(services_place(s, services_of(s)[0], ran).container.id, "");
	services_free(s);
	profile_free(old);
	profile_free(p);
}

static size_t count_files(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(d)))
		n += *entry->d_name != '.';
	closedir(d);
	return n;
}

static struct folder *open_folder(const char *path, uint64_t bytes)
{
	const struct user as_we_are = { 0 };
	const struct folder_options o = { .keep_for = 3600 * SECOND, .keep_bytes = bytes,
					  .suffix = FOLDER_PROFILES };
	struct error e;

	return folder_open(path, &as_we_are, &o, &e);
}

static void clear(const char *path)
{
	char command[200];

	snprintf(command, sizeof(command), "rm -r %s", path);
	CHECK_EQ(system(command), 0);
}

TEST(a_folder_stays_within_its_size)
{
	char path[] = "/tmp/ebprof-push-XXXXXX", name[200];
	static const char block[20000];
	struct folder *f;
	struct stat st;

	CHECK(mkdtemp(path));
	snprintf(name, sizeof(name), "%s/notes.txt", path);
	CHECK_EQ(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	f = open_folder(path, 10000);
	CHECK(f);
	for (unsigned int i = 0; i < 40; i++)
		CHECK_EQ(folder_write(f, "a", START + i * SECOND, block, 1000), 0);
	CHECK(count_files(path) >= 8);
	CHECK(count_files(path) <= 11);
	/* The newest is there, the first is not, and what is not ours is. */
	CHECK_EQ(stat(name, &st), 0);
	snprintf(name, sizeof(name), "%s/a.20231114T221359.000Z.pb.gz", path);
	CHECK_EQ(stat(name, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	snprintf(name, sizeof(name), "%s/a.20231114T221320.000Z.pb.gz", path);
	CHECK_EQ(stat(name, &st), -1);
	CHECK_EQ(folder_write(f, "a", START, block, sizeof(block)), -EFBIG);
	folder_free(f);
	clear(path);
}

TEST(old_files_go)
{
	const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char path[] = "/tmp/ebprof-push-XXXXXX", name[200];
	struct folder *f;
	struct stat st;

	CHECK(mkdtemp(path));
	snprintf(name, sizeof(name), "%s/b.20230101T000000.000Z.pb.gz", path);
	CHECK_EQ(close(open(name, O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_EQ(utimensat(AT_FDCWD, name, long_ago, 0), 0);
	f = open_folder(path, 10000);
	CHECK_EQ(folder_write(f, "a", START, "x", 1), 0);
	CHECK_EQ(stat(name, &st), -1);
	CHECK_EQ(count_files(path), 1);
	folder_free(f);
	clear(path);
}

TEST(names_that_lead_elsewhere_are_refused)
{
	char path[] = "/tmp/ebprof-push-XXXXXX";
	char order[FOLDER_NAME + 1] = "../x.20231114T221320.000Z.pb.gz";
	struct folder *f;

	CHECK(mkdtemp(path));
	f = open_folder(path, 10000);
	CHECK_EQ(folder_keep(f, order, sizeof(order)), -EINVAL);
	CHECK_EQ(folder_keep(f, order, 3), -EINVAL);
	strcpy(order, "x.20231114T221320.000Z.pb");
	CHECK_EQ(folder_keep(f, order, sizeof(order)), -EINVAL);
	memset(order, 'x', sizeof(order));
	CHECK_EQ(folder_keep(f, order, sizeof(order)), -EINVAL);
	CHECK_EQ(count_files(path), 0);
	CHECK(folder_has_name("x.20231114T221320.000Z.pb.gz", FOLDER_PROFILES));
	CHECK(!folder_has_name(".20231114T221320.000Z.pb.gz", FOLDER_PROFILES));
	CHECK(!folder_has_name("x.20231114T22132a.000Z.pb.gz", FOLDER_PROFILES));
	CHECK(!folder_has_name("x.pb.gz", FOLDER_PROFILES));
	folder_free(f);
	clear(path);
}

TEST(a_folder_must_be_there)
{
	CHECK(!open_folder("/nonexistent/x", 1));
	CHECK(!open_folder("/proc/self/exe", 1));
}

int main(void)
{
	RUN(services_by_cgroup);
	RUN(paths_of_cgroups);
	RUN(service_names_are_file_names);
	RUN(services_are_bounded);
	RUN(services_stay_where_the_profile_is_another);
	RUN(a_folder_stays_within_its_size);
	RUN(old_files_go);
	RUN(names_that_lead_elsewhere_are_refused);
	RUN(a_folder_must_be_there);
	return TEST_END();
}
