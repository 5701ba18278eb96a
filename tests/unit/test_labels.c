/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "push/labels.h"

/* One of each, NULL: none. The error's text, "" for none. */
static const char *make(const char *given, const char *from, label_vec *out)
{
	static struct error e;
	string_vec g = { 0 }, f = { 0 };

	e = (struct error){ 0 };
	if (given)
		vec_push(&g, given);
	if (from)
		vec_push(&f, from);
	labels_make(out, &g, &f, &e);
	vec_free(&g);
	vec_free(&f);
	return e.text;
}

TEST(takes_labels)
{
	label_vec l = { 0 };

	setenv("ZONE", "a\nb", 1);
	unsetenv("NONE");
	CHECK_STR(make("team=x=y", "ZONE", &l), "");
	CHECK_STR(make("empty=", "cloud.zone=ZONE", &l), "");
	CHECK_STR(make(NULL, "NONE", &l), "");
	CHECK_EQ(l.n, 4);
	CHECK_STR(l.v[0].key, "team");
	CHECK_STR(l.v[0].value, "x=y");
	CHECK_STR(l.v[1].key, "ZONE");
	CHECK(!strchr(l.v[1].value, '\n'));
	CHECK_STR(l.v[2].value, "");
	CHECK_STR(l.v[3].key, "cloud.zone");
	labels_free(&l);
}

TEST(refuses_others)
{
	char many[32];
	label_vec l = { 0 };

	CHECK(strstr(make("team", NULL, &l), "KEY=VALUE"));
	CHECK(strstr(make("=x", NULL, &l), "letters"));
	CHECK(strstr(make("a b=x", NULL, &l), "letters"));
	CHECK(strstr(make("service.name=x", NULL, &l), "there is a label"));
	CHECK_STR(make("a=1", NULL, &l), "");
	CHECK(strstr(make("a=2", NULL, &l), "there is a label"));
	for (int i = 1; i < LABELS_MOST; i++) {
		snprintf(many, sizeof(many), "k%d=x", i);
		CHECK_STR(make(many, NULL, &l), "");
	}
	CHECK(strstr(make("last=x", NULL, &l), "at most"));
	labels_free(&l);
}

int main(void)
{
	RUN(takes_labels);
	RUN(refuses_others);
	return TEST_END();
}
