/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"

/* What @write makes; the caller frees it. */
static char *written(void (*write)(struct json *j))
{
	char dir[] = "/tmp/ebprof-test-XXXXXX", path[64];
	const struct user me = { 0 };
	struct error e = { 0 };
	struct json j = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *in;

	if (!mkdtemp(dir))
		return NULL;
	snprintf(path, sizeof(path), "%s/out", dir);
	j.f = outfile_open(path, &me, &e);
	write(&j);
	CHECK_EQ(j.depth, 0);
	CHECK_EQ(outfile_commit(j.f, &e), 0);
	in = fopen(path, "re");
	if (in && getdelim(&text, &size, '\0', in) < 0 && text)
		text[0] = '\0';
	if (in)
		fclose(in);
	unlink(path);
	rmdir(dir);
	return text;
}

static void nested(struct json *j)
{
	json_object(j, NULL);
	json_array(j, "a");
	json_end(j);
	json_object(j, "o");
	json_end(j);
	json_array(j, "b");
	json_uint(j, NULL, UINT64_MAX);
	json_int(j, NULL, INT64_MIN);
	json_object(j, NULL);
	json_bool(j, "t", 2);
	json_bool(j, "f", 0);
	json_null(j, "n");
	json_end(j);
	json_string(j, NULL, "x");
	json_end(j);
	json_end(j);
	json_newline(j);
}

TEST(nests_with_commas_between)
{
	char *text = written(nested);

	CHECK_STR(text, "{\"a\":[],\"o\":{},\"b\":[18446744073709551615,-9223372036854775808,"
			"{\"t\":true,\"f\":false,\"n\":null},\"x\"]}\n");
	free(text);
}

static void numbers(struct json *j)
{
	json_array(j, NULL);
	json_double(j, NULL, 0.5);
	json_double(j, NULL, NAN);
	json_double(j, NULL, -INFINITY);
	json_decimal(j, NULL, 1500, 3);
	json_decimal(j, NULL, 7, 6);
	json_decimal(j, NULL, UINT64_MAX, 0);
	json_end(j);
}

TEST(numbers_are_those_of_json)
{
	char *text = written(numbers);

	CHECK_STR(text, "[0.5,null,null,1.500,0.000007,18446744073709551615]");
	free(text);
}

static void texts(struct json *j)
{
	json_object(j, NULL);
	json_string(j, "</script>", "a\"b\\c\nd&\x01");
	json_string(j, "", "\xc3\xa4");
	json_end(j);
}

TEST(texts_are_escaped)
{
	char *text = written(texts);

	CHECK_STR(text, "{\"\\u003c/"
			"script\\u003e\":\"a\\\"b\\\\c\\u000ad\\u0026\\u0001\",\"\":\"\xc3\xa4\"}");
	free(text);
}

int main(void)
{
	RUN(nests_with_commas_between);
	RUN(numbers_are_those_of_json);
	RUN(texts_are_escaped);
	return TEST_END();
}
