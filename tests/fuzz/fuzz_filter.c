/* SPDX-License-Identifier: MIT */
/*
 * Filters, and formats of tracepoints: whatever the text, tests lead forward to an end, or there is
 * an error that can be shown. The first line is a filter, the rest a format.
 */
#include <errno.h>

#include "collect/trace_format.h"
#include "fuzz/fuzz.h"
#include "probes/filter.h"

static int find(void *ctx, const char *name, struct filter_field *out)
{
	const struct trace_field *f = trace_format_find(ctx, name);

	*out = (struct filter_field){ .offset = 8, .size = 8, .operand = EBP_NUMBER };
	if (!strcmp(name, "n"))
		return 0;
	if (!strcmp(name, "s"))
		out->operand = EBP_TEXT_ARRAY;
	else if (!f)
		return -ENOENT;
	else if (f->kind == TRACE_NUMBER)
		*out = (struct filter_field){ .offset = (uint16_t)f->offset,
					      .size = (uint16_t)f->size, .operand = EBP_NUMBER,
					      .is_signed = f->is_signed };
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t record[EBP_RECORD];
	trace_field_vec fields = { 0 };
	filter_tests tests = { 0 };
	struct error e = { 0 };
	char *rest, *text = fuzz_text(data, size, &rest);
	int err;

	if (!text)
		return 0;
	trace_format_parse(rest, &fields);
	for (size_t i = 0; i < fields.n; i++)
		require(*fields.v[i].name && fields.v[i].offset <= 65536);
	err = filter_compile(text, find, &fields, &tests, &e);
	require(err ? err == -EINVAL && *e.text && !strpbrk(e.text, "\n\033") && !tests.n
		    : tests.n > 0 && tests.n <= EBP_TESTS);
	for (size_t i = 0; i < tests.n; i++) {
		const struct ebp_test *t = &tests.v[i];

		require((t->yes > i && t->yes < tests.n) || t->yes >= EBP_TEST_FAIL);
		require((t->no > i && t->no < tests.n) || t->no >= EBP_TEST_FAIL);
		if (t->compare == EBP_LIKE)
			probe_like(t->text, t->pattern, (const char *)record, EBP_TEXT);
		else
			probe_compare(t, probe_field(record, t->offset, t->size, t->is_signed));
	}
	vec_free(&tests);
	vec_free(&fields);
	free(text);
	return 0;
}
