/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_read.h"
#include "proc/cgroup_owner.h"
#include "proc/containers.h"

#define ID "3f2a91c07b5d3f2a91c07b5d3f2a91c07b5d3f2a91c07b5d3f2a91c07b5d3f2a"
#define OTHER "00000000000000000000000000000000000000000000000000000000000000ab"

TEST(reads_names_of_logs)
{
	static const char *const wrong[] = {
		"", "web_shop_nginx.log", "web_shop_nginx-" ID, "web_shop-" ID ".log",
		"_shop_nginx-" ID ".log", "web__nginx-" ID ".log", "web_shop_-" ID ".log",
		"web_shop_nginx-" ID "a.log", ID ".log",
	};
	struct container c = { 0 };

	CHECK(!container_of_log("web-7d_shop_nginx-1-" ID ".log", &c));
	CHECK_STR(c.id, ID);
	CHECK_STR(c.pod, "web-7d");
	CHECK_STR(c.namespace, "shop");
	CHECK_STR(c.name, "nginx-1");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		c = (struct container){ 0 };
		CHECK(container_of_log(wrong[i], &c) && !*c.pod && !*c.id);
	}
}

static struct container of_json(const char *json)
{
	struct container c = { 0 };
	char text[1024];

	snprintf(text, sizeof(text), "%s", json);
	container_of_json(text, strlen(text), &c);
	return c;
}

TEST(reads_what_runtimes_keep)
{
	struct container c = of_json("{\"Name\":\"/web\",\"Config\":{\"Image\":\"nginx:1.25\","
				     "\"Labels\":{\"Name\":\"x\"},\"n\":[1,true,null]}}");

	CHECK_STR(c.name, "web");
	CHECK_STR(c.image, "nginx:1.25");
	c = of_json("{\"Name\":\"/k8s_x\",\"Config\":{\"Labels\":{"
		    "\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"p\","
		    "\"io.kubernetes.pod.namespace\":\"n\"}}}");
	CHECK_STR(c.name, "app");
	CHECK_STR(c.pod, "p");
	CHECK_STR(c.namespace, "n");
	c = of_json("{\"annotations\":{\"io.kubernetes.cri.container-name\":\"a\\u00e9 b\","
		    "\"io.kubernetes.cri.sandbox-name\":\"p\",\"io.kubernetes.cri.image-name\":"
		    "\"docker.io/library/x@sha256:1\"}}");
	CHECK_STR(c.name, "a__b");
	CHECK_STR(c.pod, "p");
	CHECK_STR(c.image, "docker.io/library/x@sha256:1");
	/* What is no JSON says what came before. */
	CHECK_STR(of_json("{\"Name\":\"/web\",").name, "web");
	CHECK_STR(of_json("[[[[[[[[[[[[[[[[[[[[[[\"x\"").name, "");
	CHECK_STR(of_json("").name, "");
	CHECK_STR(of_json("{\"Name\":\"/web").name, "");
}

static void write_file(const char *root, const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *c = whole + strlen(root) + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			mkdir(whole, 0700);
			*c = '/';
		}
	f = fopen(whole, "w");
	CHECK(f && fputs(text, f) >= 0);
	if (f)
		fclose(f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

TEST(looks_where_runtimes_keep_it)
{
	char root[] = "/tmp/ebprof-container-XXXXXX", link[256];
	struct container c;

	CHECK(mkdtemp(root) != NULL);
	CHECK(container_look(root, ID, &c) && !strcmp(c.id, ID));
	CHECK(container_look(root, "../x", &c));
	write_file(root, "/var/lib/docker/containers/" ID "/config.v2.json",
		   "{\"Name\":\"/web\",\"Config\":{\"Image\":\"nginx\"}}");
	write_file(root, "/var/lib/containers/storage/overlay-containers/containers.json",
		   "[{\"id\":\"" ID "\",\"names\":[\"no\"]},{\"id\":\"" OTHER "\",\"names\":"
		   "[\"db\",\"x\"],\"metadata\":\"{\\\"image-name\\\":\\\"postgres:16\\\"}\"}]");
	CHECK(!container_look(root, ID, &c));
	CHECK_STR(c.name, "web");
	CHECK_STR(c.image, "nginx");
	CHECK(!container_look(root, OTHER, &c));
	CHECK_STR(c.name, "db");
	CHECK_STR(c.image, "postgres:16");
	/* What the kubelet says comes first. */
	write_file(root, "/var/log/containers/p_n_app-" ID ".log", "");
	CHECK(!container_look(root, ID, &c));
	CHECK_STR(c.name, "app");
	CHECK_STR(c.pod, "p");
	CHECK_STR(c.namespace, "n");
	CHECK_STR(c.image, "nginx");
	/* No link is followed, and no device is opened. */
	snprintf(link, sizeof(link), "%s/var/lib/docker/containers/" ID "/config.v2.json", root);
	CHECK(!unlink(link) && !symlink("/dev/zero", link));
	CHECK(!container_look(root, ID, &c) && !*c.image);
	CHECK(!unlink(link) && !mkfifo(link, 0600));
	CHECK(!container_look(root, ID, &c) && !*c.image);
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The nearest one of the kinds that are asked for. */
TEST(finds_owners_by_cgroup)
{
	static const struct { unsigned int kinds; const char *cgroup, *name; } cases[] = {
		{ CGROUP_SERVICE | CGROUP_SCOPE, "0::/user.slice/user-1.slice/session-3.scope\n",
		  "session-3.scope" },
		{ CGROUP_SERVICE | CGROUP_SCOPE, "0::/system.slice/nginx.service/worker\n",
		  "nginx.service" },
		{ CGROUP_SERVICE | CGROUP_SCOPE, "0::/system.slice/docker-" ID ".scope\n",
		  "docker-" ID ".scope" },
		{ CGROUP_SERVICE | CGROUP_SCOPE, "0::/docker/" ID "/system.slice/ssh.service\n",
		  "ssh.service" },
		{ CGROUP_SERVICE | CGROUP_SCOPE,
		  "0::/user.slice/user-1000.slice/user@1000.service/app.slice\n", NULL },
		{ CGROUP_CONTAINER, "0::/docker/" ID "/system.slice/ssh.service\n", ID },
		{ CGROUP_CONTAINER, "0::/system.slice/nginx.service\n", NULL },
		{ CGROUP_CONTAINER, "0::/x/" ID "0\n", NULL },
		{ CGROUP_CONTAINER, "4:pids:/\n3:cpu:/kubepods/pod1:cri-containerd:" ID "\n", ID },
		{ CGROUP_CONTAINER, "", NULL },
	};
	struct cgroup_owner owner;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int found = cgroup_owner(cases[i].cgroup, cases[i].kinds, &owner);

		CHECK_EQ(found, cases[i].name != NULL);
		if (found && cases[i].name)
			CHECK_STR(owner.name, cases[i].name);
	}
	CHECK(cgroup_owner_of(0x7fff0001, CGROUP_CONTAINER, &owner) < 0);
}

/* Each is looked for once, and the oldest gives its place up. */
TEST(keeps_what_is_known_of_containers)
{
	struct containers *c = containers_new();
	char id[CONTAINER_ID];

	CHECK_EQ(containers_number(c, ID), 1);
	CHECK_EQ(containers_number(c, OTHER), 2);
	CHECK_EQ(containers_number(c, ID), 1);
	CHECK_STR(containers_at(c, 1)->id, ID);
	CHECK(!containers_at(c, 0));
	/* One of them is OTHER. */
	for (unsigned int i = 1; i <= CONTAINERS_KEPT; i++) {
		snprintf(id, sizeof(id), "%064x", i);
		containers_number(c, id);
	}
	CHECK(!containers_at(c, 1));
	CHECK_STR(containers_at(c, 2)->id, OTHER);
	containers_free(c);
}

int main(void)
{
	RUN(finds_owners_by_cgroup);
	RUN(keeps_what_is_known_of_containers);
	RUN(reads_names_of_logs);
	RUN(reads_what_runtimes_keep);
	RUN(looks_where_runtimes_keep_it);
	return TEST_END();
}
