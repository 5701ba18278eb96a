/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/strtab.h"
#include "base/xalloc.h"

TEST(zero_is_empty)
{
	struct strtab *t = strtab_new();

	CHECK_EQ(strtab_count(t), 1);
	CHECK_STR(strtab_get(t, 0), "");
	CHECK_EQ(strtab_add(t, ""), 0);
	CHECK_EQ(strtab_count(t), 1);
	strtab_free(t);
	strtab_free(NULL);
}

TEST(keeps_each_once)
{
	struct strtab *t = strtab_new();
	char a[] = "main", b[] = "main";
	uint32_t id = strtab_add(t, a);

	CHECK_EQ(id, 1);
	CHECK_EQ(strtab_add(t, b), id);
	CHECK_EQ(strtab_add(t, "mai"), 2);
	CHECK_EQ(strtab_add(t, "main2"), 3);
	CHECK_EQ(strtab_add(t, strtab_get(t, id)), id);
	a[0] = 'x';
	CHECK_STR(strtab_get(t, id), "main");
	CHECK_EQ(strtab_count(t), 4);
	strtab_free(t);
}

TEST(strings_never_move)
{
	enum { N = 200000 };
	struct strtab *t = strtab_new();
	const char **at = xcalloc(N, sizeof(*at));
	char name[32];

	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		at[i] = strtab_get(t, strtab_add(t, name));
	}
	CHECK_EQ(strtab_count(t), N + 1);
	for (int i = 0; i < N && test_ok; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		CHECK_EQ(strtab_add(t, name), i + 1);
		CHECK(strtab_get(t, (uint32_t)i + 1) == at[i]);
		CHECK_STR(at[i], name);
	}
	strtab_free(t);
	free(at);
}

/* Blocks are 64 KiB: around that edge, and far over it. */
TEST(takes_any_length)
{
	static const size_t lengths[] = {
		65534, 65535, 65536, 1, 65533, 200000, 0, 2, 65535 - 4, 3
	};
	struct strtab *t = strtab_new();
	char *text = xmalloc(200001);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(text, 'a' + (int)i, lengths[i]);
		text[lengths[i]] = '\0';
		CHECK_EQ(strlen(strtab_get(t, strtab_add(t, text))), lengths[i]);
	}
	CHECK_EQ(strtab_count(t), 10);
	CHECK_STR(strtab_get(t, 4), "d");
	CHECK_STR(strtab_get(t, 7), "hh");
	CHECK_STR(strtab_get(t, 9), "jjj");
	free(text);
	strtab_free(t);
}

int main(void)
{
	RUN(zero_is_empty);
	RUN(keeps_each_once);
	RUN(strings_never_move);
	RUN(takes_any_length);
	return TEST_END();
}
