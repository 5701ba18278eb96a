/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/live.h"

/* What was put: each update's head is kept, and how much there was. */
struct taken {
	char updates[16][64];
	size_t n, wholes, bytes;
	char whole[64];
	int busy;
};

static void put(void *ctx, enum store_kind kind, uint64_t sequence, struct outfile_bytes *text)
{
	struct taken *t = ctx;
	char *head = kind == STORE_WHOLE ? t->whole : t->updates[t->n];
	char begin[64];

	snprintf(begin, sizeof(begin), "{\"sequence\":%llu,\"whole\":%s,\"profile\":{",
		 (unsigned long long)sequence, kind == STORE_WHOLE ? "true" : "false");
	CHECK(text->n > strlen(begin) && !memcmp(text->v, begin, strlen(begin)));
	CHECK(text->v[text->n - 1] == '\n' && !memchr(text->v, '\n', text->n - 1));
	vec_push(text, '\0');
	/* The account and the total, which are small numbers here. */
	snprintf(head, 64, "taken %d lost %d total %d",
		 atoi(strstr(text->v, "\"taken\":") + strlen("\"taken\":")),
		 strstr(text->v, "\"lost\":[{") ?
			 atoi(strstr(strstr(text->v, "\"lost\":[{"), "\"count\":") +
			      strlen("\"count\":")) : 0,
		 atoi(strstr(text->v, "\"total\":") + strlen("\"total\":")));
	t->bytes += text->n;
	t->wholes += kind == STORE_WHOLE;
	t->n += kind != STORE_WHOLE;
	vec_free(text);
}

static int is_busy(void *ctx)
{
	return ((struct taken *)ctx)->busy;
}

/* @n samples in a function of that name, which is not known yet where it is NULL. */
static void add(struct profile *p, uint64_t address, const char *name, uint64_t n)
{
	uint32_t process = profile_process(p, 1, 1, profile_string(p, "x"));
	uint32_t thread = profile_thread(p, process, 1, profile_string(p, "x"));
	uint32_t location = profile_location(p, 0, FRAME_USER, address);
	struct line l;

	if (name) {
		l = (struct line){ .function = profile_function(p, profile_string(p, name), 0,
								FRAME_USER) };
		profile_name_location(p, location, &l, 1, "");
	}
	profile_add(p, thread, profile_node(p, 0, location), n);
}

static void count(struct profile *p, uint64_t taken, uint64_t lost)
{
	*profile_account(p) = (struct profile_account){
		.taken = taken, .kept = taken - lost, .nlost = 1, .lost = { { "ring", lost } },
	};
}

TEST(updates_are_what_came_between)
{
	struct taken t = { 0 };
	struct live *l = live_new(&(struct live_sink){ put, is_busy, &t }, 0);
	struct profile *p = profile_new();

	CHECK(live_is_free(l));
	t.busy = 1;
	CHECK(!live_is_free(l));
	t.busy = 0;
	add(p, 1, "a", 3);
	count(p, 5, 2);
	live_take(l, p, NULL, 0);
	CHECK(!live_is_free(l));
	CHECK(live_is_due(l, p, 0));
	live_send(l, p);
	CHECK(live_is_free(l));
	add(p, 2, "b", 4);
	count(p, 9, 2);
	live_take(l, p, NULL, 1);
	live_send(l, p);
	/* Nothing came: nothing goes. */
	live_take(l, p, NULL, 2);
	live_send(l, p);
	CHECK_EQ(t.n, 2);
	CHECK_EQ(t.wholes, 0);
	CHECK_STR(t.updates[0], "taken 5 lost 2 total 3");
	CHECK_STR(t.updates[1], "taken 4 lost 0 total 4");
	live_free(l);
	profile_free(p);
}

TEST(names_are_waited_for_but_not_for_ever)
{
	struct taken t = { 0 };
	struct live *l = live_new(&(struct live_sink){ put, is_busy, &t }, 0);
	struct profile *p = profile_new();

	add(p, 1, NULL, 1);
	live_take(l, p, NULL, 0);
	CHECK(!live_is_due(l, p, 1000000000u));
	CHECK(live_is_due(l, p, 60000000000u));
	live_free(l);
	profile_free(p);
}

/* Who comes late gets all at once, and that costs no more than all that came before did. */
TEST(a_whole_one_takes_the_place_of_many)
{
	struct taken t = { 0 };
	struct live *l = live_new(&(struct live_sink){ put, is_busy, &t }, 0);
	struct profile *p = profile_new();
	char name[4096];

	for (uint64_t i = 1; i <= 12; i++) {
		for (uint64_t k = 0; k < 64; k++) {
			memset(name, 'a', sizeof(name) - 1);
			snprintf(name, 32, "%llu.", (unsigned long long)(64 * i + k));
			name[strlen(name)] = 'a';
			name[sizeof(name) - 1] = '\0';
			add(p, 64 * i + k, name, 1);
		}
		count(p, 64 * i, 0);
		live_take(l, p, NULL, i);
		live_send(l, p);
	}
	CHECK_EQ(t.n, 12);
	/* Of 256 KiB each: at 1 MiB; then it has that much, and so at 2 MiB, and not yet again. */
	CHECK(t.wholes == 2 || t.wholes == 3);
	CHECK(t.bytes < 10u << 20);
	CHECK(strstr(t.whole, "taken"));
	CHECK(atoi(strstr(t.whole, "total ") + strlen("total ")) >= 64 * 8);
	live_free(l);
	profile_free(p);
}

int main(void)
{
	RUN(updates_are_what_came_between);
	RUN(names_are_waited_for_but_not_for_ever);
	RUN(a_whole_one_takes_the_place_of_many);
	return TEST_END();
}
