/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/listen.h"
#include "serve/judge.h"
#include "serve/store.h"
#include "serve/watchers.h"

/* --- Who is let in. --------------------------------------------------------------- */

static struct judge judge;

static void begin(const char *address, uint16_t port)
{
	CHECK_EQ(judge_init(&judge, address, port), 0);
	memset(judge.token, 'a', JUDGE_TOKEN);
}

#define TOKEN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static enum judge_status get(const char *path, const char *host, const char *origin)
{
	const struct judge_request r = {
		.method = "GET", .path = path, .host = host, .hosts = host != NULL,
		.origin = origin, .origins = origin != NULL,
	};
	const char *rest = NULL;

	return judge_request(&judge, &r, &rest);
}

TEST(tokens_differ_and_are_hexadecimal)
{
	struct judge a, b;

	CHECK_EQ(judge_init(&a, "127.0.0.1:1", 1), 0);
	CHECK_EQ(judge_init(&b, "127.0.0.1:1", 1), 0);
	CHECK_EQ(strspn(a.token, "0123456789abcdef"), JUDGE_TOKEN);
	CHECK(strcmp(a.token, b.token));
}

TEST(the_token_opens)
{
	const struct judge_request r = { .method = "GET", .path = "/" TOKEN "/data",
					 .host = "127.0.0.1:4000", .hosts = 1 };
	const char *rest = NULL;

	begin("127.0.0.1:4000", 4000);
	CHECK_EQ(judge_request(&judge, &r, &rest), JUDGE_OK);
	CHECK_STR(rest, "data");
	CHECK_EQ(get("/" TOKEN "/", "127.0.0.1:4000", NULL), JUDGE_OK);
	CHECK_EQ(get("/" TOKEN "/", "LOCALHOST:4000", NULL), JUDGE_OK);
	CHECK_EQ(get("/" TOKEN "/", "127.0.0.1:4000", "http://127.0.0.1:4000"), JUDGE_OK);
}

TEST(no_other_token_does)
{
	char path[JUDGE_TOKEN + 3] = "/" TOKEN "/";

	begin("127.0.0.1:4000", 4000);
	for (size_t i = 1; i <= JUDGE_TOKEN; i++) {
		path[i] = 'b';
		CHECK_EQ(get(path, "127.0.0.1:4000", NULL), JUDGE_REFUSED);
		path[i] = 'a';
	}
	CHECK_EQ(get(path, "127.0.0.1:4000", NULL), JUDGE_OK);
	CHECK_EQ(get("/" TOKEN, "127.0.0.1:4000", NULL), JUDGE_REFUSED);
	CHECK_EQ(get("/" TOKEN "a/", "127.0.0.1:4000", NULL), JUDGE_REFUSED);
	CHECK_EQ(get("/a/", "127.0.0.1:4000", NULL), JUDGE_REFUSED);
	CHECK_EQ(get("/data", "127.0.0.1:4000", NULL), JUDGE_REFUSED);
	CHECK_EQ(get("/", "127.0.0.1:4000", NULL), JUDGE_NO_TOKEN);
	CHECK_EQ(get("", "127.0.0.1:4000", NULL), JUDGE_NO_TOKEN);
	CHECK_EQ(get("//" TOKEN "/", "127.0.0.1:4000", NULL), JUDGE_NO_TOKEN);
}

/* A name that somebody else has made to mean 127.0.0.1, another port, none, two. */
TEST(other_hosts_are_refused)
{
	static const char *const others[] = {
		"evil.example:4000", "127.0.0.1", "127.0.0.1:4001", "127.0.0.1:40000", "localhost",
		"localhost.evil.example:4000", "127.0.0.1:4000.evil.example", "", "[::1]:4000",
	};
	struct judge_request two = { .method = "GET", .path = "/" TOKEN "/",
				     .host = "127.0.0.1:4000", .hosts = 2 };
	const char *rest;

	begin("127.0.0.1:4000", 4000);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK_EQ(get("/" TOKEN "/", others[i], NULL), JUDGE_REFUSED);
	CHECK_EQ(get("/" TOKEN "/", NULL, NULL), JUDGE_REFUSED);
	CHECK_EQ(judge_request(&judge, &two, &rest), JUDGE_REFUSED);
	two.hosts = two.origins = 1;
	two.origin = "http://127.0.0.1:4000";
	CHECK_EQ(judge_request(&judge, &two, &rest), JUDGE_OK);
	two.origins = 2;
	CHECK_EQ(judge_request(&judge, &two, &rest), JUDGE_REFUSED);
}

TEST(other_origins_are_refused)
{
	static const char *const others[] = {
		"http://evil.example", "null", "", "http://127.0.0.1:4001", "http://127.0.0.1",
		"https://127.0.0.1:4000", "http://127.0.0.1:4000/", "127.0.0.1:4000",
	};

	begin("127.0.0.1:4000", 4000);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK_EQ(get("/" TOKEN "/", "127.0.0.1:4000", others[i]), JUDGE_REFUSED);
}

TEST(only_get_and_head)
{
	static const char *const methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "get", "" };
	const char *rest;

	begin("[::1]:80", 80);
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		CHECK_EQ(judge_request(&judge,
				       &(struct judge_request){ .method = methods[i],
								.path = "/" TOKEN "/",
								.host = "[::1]:80", .hosts = 1 },
				       &rest),
			 JUDGE_BAD_METHOD);
	/* Browsers leave out the port that they take by themselves. */
	CHECK_EQ(get("/" TOKEN "/", "[::1]", "http://localhost"), JUDGE_OK);
}

/* --- Addresses. -------------------------------------------------------------------- */

TEST(addresses_are_of_this_machine_or_not)
{
	static const struct { const char *host; int ok, loopback; } rows[] = {
		{ "127.0.0.1", 1, 1 }, { "127.8.9.10", 1, 1 }, { "::1", 1, 1 },
		{ "[::1]", 1, 1 }, { "0.0.0.0", 1, 0 }, { "192.168.0.1", 1, 0 }, { "::", 1, 0 },
		{ "128.0.0.1", 1, 0 }, { "::ffff:127.0.0.1", 1, 0 }, { "localhost", 0, 0 },
		{ "", 0, 0 }, { "127.1", 0, 0 }, { "[::1", 0, 0 }, { "[127.0.0.1]", 0, 0 },
		{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb", 0, 0 },
	};
	union listen_address a;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK_EQ(!listen_host(rows[i].host, 1, &a), rows[i].ok);
		if (rows[i].ok)
			CHECK_EQ(listen_is_loopback(&a), rows[i].loopback);
	}
}

TEST(addresses_have_ports)
{
	static const struct { const char *text, *as; } rows[] = {
		{ "9464", "127.0.0.1:9464" }, { ":80", "127.0.0.1:80" },
		{ "10.0.0.1:1", "10.0.0.1:1" }, { "[::1]:9464", "[::1]:9464" },
	};
	static const char *const bad[] = {
		"", "x", "::1", "::1:80", "127.0.0.1", "1.2.3.4:65536", "[]:1",
	};
	char text[LISTEN_TEXT];
	union listen_address a;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK_EQ(listen_parse(rows[i].text, &a), 0);
		listen_text(&a, text);
		CHECK_STR(text, rows[i].as);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(listen_parse(bad[i], &a));
}

/* --- What they get. ----------------------------------------------------------------- */

static void add(struct store *s, enum store_kind kind, uint64_t sequence)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "%c%llu ", kind == STORE_WHOLE ? 'w' : 'u',
			 (unsigned long long)sequence);

	store_add(s, kind, sequence, (struct store_text){ strdup(text), (size_t)n });
}

static int gives(const struct store *s, uint64_t since, const char *expected)
{
	struct store_text t = store_since(s, since);
	int same = t.n == strlen(expected) && !memcmp(t.v, expected, t.n);

	if (!same)
		printf("since %llu: %.*s, not %s\n", (unsigned long long)since, (int)t.n, t.v,
		       expected);
	free(t.v);
	return same;
}

TEST(watchers_get_what_they_lack)
{
	struct store *s = store_new();

	CHECK(gives(s, 0, ""));
	CHECK(gives(s, 7, ""));
	for (uint64_t i = 1; i <= 3; i++)
		add(s, STORE_UPDATE, i);
	CHECK(gives(s, 0, "u1 u2 u3 "));
	CHECK(gives(s, 1, "u2 u3 "));
	CHECK(gives(s, 3, ""));
	/* Of another recording: from the beginning. */
	CHECK(gives(s, 9, "u1 u2 u3 "));
	add(s, STORE_WHOLE, 3);
	add(s, STORE_UPDATE, 4);
	CHECK(gives(s, 0, "w3 u4 "));
	CHECK(gives(s, 9, "w3 u4 "));
	CHECK(gives(s, 1, "u2 u3 u4 "));
	CHECK(gives(s, 4, ""));
	CHECK_EQ(store_sequence(s), 4);
	CHECK(!store_has_ended(s));
	store_add(s, STORE_END, 0, (struct store_text){ 0 });
	CHECK(store_has_ended(s));
	CHECK(gives(s, 4, "{\"end\":true}\n"));
	CHECK(gives(s, 3, "u4 {\"end\":true}\n"));
	store_free(s);
}

TEST(who_is_too_late_gets_the_whole)
{
	struct store *s = store_new();
	uint64_t last = STORE_LATE + 10;
	struct store_text late;
	char text[32];

	for (uint64_t i = 1; i <= last; i++)
		add(s, STORE_UPDATE, i);
	add(s, STORE_WHOLE, last);
	/* 11 is the first that is kept. */
	snprintf(text, sizeof(text), "w%llu ", (unsigned long long)last);
	CHECK(gives(s, 9, text));
	late = store_since(s, 10);
	CHECK(late.n > 4 && !memcmp(late.v, "u11 ", 4));
	free(late.v);
	CHECK(gives(s, last, ""));
	store_free(s);
}

TEST(a_page_takes_the_place_of_another)
{
	struct store *s = store_new();

	CHECK(!store_page(s).v);
	store_add(s, STORE_PAGE, 0, (struct store_text){ strdup("a"), 1 });
	store_add(s, STORE_PAGE, 0, (struct store_text){ strdup("bc"), 2 });
	CHECK_EQ(store_page(s).n, 2);
	CHECK_STR(store_page(s).v, "bc");
	store_free(s);
}

/* --- Who watches. -------------------------------------------------------------------- */

TEST(those_who_still_ask_are_waited_for)
{
	static struct watchers w;
	uint64_t now = 1;

	CHECK(!watchers_wait(&w, now));
	watchers_ask(&w, 7, now);
	CHECK(watchers_wait(&w, now));
	CHECK(!watchers_wait(&w, now + WATCHERS_TIME));
	watchers_ask(&w, 7, now + WATCHERS_TIME)->told = 1;
	CHECK(!watchers_wait(&w, now + WATCHERS_TIME));
	watchers_ask(&w, 8, now + WATCHERS_TIME);
	CHECK(watchers_wait(&w, now + WATCHERS_TIME));
}

TEST(watchers_are_bounded)
{
	static struct watchers w;

	for (uint64_t i = 1; i <= 3 * WATCHERS_MOST; i++)
		watchers_ask(&w, i, i);
	for (uint64_t i = 0; i < WATCHERS_MOST; i++)
		watchers_ask(&w, 3 * WATCHERS_MOST - i, 10000)->told = 1;
	CHECK(!watchers_wait(&w, 10000));
}

int main(void)
{
	RUN(tokens_differ_and_are_hexadecimal);
	RUN(the_token_opens);
	RUN(no_other_token_does);
	RUN(other_hosts_are_refused);
	RUN(other_origins_are_refused);
	RUN(only_get_and_head);
	RUN(addresses_are_of_this_machine_or_not);
	RUN(addresses_have_ports);
	RUN(watchers_get_what_they_lack);
	RUN(who_is_too_late_gets_the_whole);
	RUN(a_page_takes_the_place_of_another);
	RUN(those_who_still_ask_are_waited_for);
	RUN(watchers_are_bounded);
	return TEST_END();
}
