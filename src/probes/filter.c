/* SPDX-License-Identifier: MIT */
#include "probes/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16		/* of brackets and ! */
#define WORD_MAX 64

struct parser {
	const char *text, *at;
	filter_find *find;
	void *ctx;
	filter_tests *tests;
	size_t first;		/* of @tests */
	int depth;
	struct error *e;
};

/*
 * Targets that are not known yet are written as such numbers, and replaced: that of the part's own
 * success and failure. They are above all indexes, below those of the end.
 */
#define PART_YES 0xfff0
#define PART_NO 0xfff1

static int bad(struct parser *p, const char *why)
{
	return error_set(p->e, STATUS_USAGE, -EINVAL, "--filter '%.200s': %s at '%.40s'", p->text,
			 why, *p->at ? p->at : "its end");
}

static void skip_blanks(struct parser *p)
{
	p->at += strspn(p->at, " \t");
}

static int take(struct parser *p, const char *token)
{
	size_t n = strlen(token);

	skip_blanks(p);
	if (strncmp(p->at, token, n))
		return 0;
	p->at += n;
	return 1;
}

/* In the tests from @from on. */
static void replace(struct parser *p, size_t from, size_t to, uint16_t old, uint16_t new)
{
	for (size_t i = from; i < to; i++) {
		struct ebp_test *t = &p->tests->v[i];

		t->yes = t->yes == old ? new : t->yes;
		t->no = t->no == old ? new : t->no;
	}
}

static void swap_exits(struct parser *p, size_t from)
{
	for (size_t i = from; i < p->tests->n; i++) {
		struct ebp_test *t = &p->tests->v[i];
		uint16_t *ends[] = { &t->yes, &t->no };

		for (int k = 0; k < 2; k++)
			*ends[k] = *ends[k] == PART_YES	 ? PART_NO
				   : *ends[k] == PART_NO ? PART_YES
							 : *ends[k];
	}
}

/* --- A comparison. ------------------------------------------------------------------ */

static const struct operator {
	const char *token;
	enum ebp_compare compare;
	int opposite;		/* what is asked for is that it does not hold */
	int of_text;		/* bit 0: of numbers, bit 1: of texts */
} operators[] = {
	{ "==", EBP_EQUAL, 0, 3 },	{ "!=", EBP_EQUAL, 1, 3 },
	{ "<=", EBP_LESS_EQUAL, 0, 1 }, { ">=", EBP_LESS, 1, 1 },
	{ "<", EBP_LESS, 0, 1 },	{ ">", EBP_LESS_EQUAL, 1, 1 },
	{ "~", EBP_LIKE, 0, 2 },	{ "&", EBP_BITS, 0, 1 },
};

static const struct operator *take_operator(struct parser *p)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (take(p, operators[i].token))
			return &operators[i];
	return NULL;
}

/* A name of a field, with its type where there is one ("arg0:s32"): 0 or -EINVAL. */
static int take_name(struct parser *p, char name[WORD_MAX])
{
	size_t n = 0;

	skip_blanks(p);
	while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_' || (n && p->at[n] == ':'))
		n++;
	if (!n || n >= WORD_MAX)
		return bad(p, "expected a field");
	memcpy(name, p->at, n);
	name[n] = '\0';
	p->at += n;
	return 0;
}

static int take_number(struct parser *p, struct ebp_test *t)
{
	char *end;
	int negative;

	skip_blanks(p);
	negative = *p->at == '-';
	if (!isdigit((unsigned char)p->at[negative]))
		return bad(p, "expected a number");
	errno = 0;
	t->value = negative ? (uint64_t)strtoll(p->at, &end, 0) : strtoull(p->at, &end, 0);
	if (errno || isalnum((unsigned char)*end))
		return bad(p, "no number that 64 bits can hold");
	/* As the field has it: ftrace compares what fits into it. */
	t->value = probe_number(t->value, t->size, t->is_signed);
	p->at = end;
	return 0;
}

/* "text", 'text', or a bare word. */
static int take_text(struct parser *p, struct ebp_test *t, int is_pattern)
{
	const char *begin;
	size_t n;

	skip_blanks(p);
	begin = p->at;
	if (*begin == '"' || *begin == '\'') {
		n = strcspn(begin + 1, *begin == '"' ? "\"" : "'");
		if (!begin[1 + n])
			return bad(p, "a quotation mark without its other");
		p->at = begin + n + 2;
		begin++;
	} else {
		n = strcspn(begin, " \t()&|");
		p->at = begin + n;
	}
	if (n >= EBP_TEXT)
		return bad(p, "a text of more than 63 bytes");
	if (!is_pattern && (memchr(begin, '*', n) || memchr(begin, '?', n)))
		return bad(p, "a pattern goes with ~");
	memcpy(t->text, begin, n);
	t->pattern = (uint16_t)n;
	return 0;
}

static int is_text(enum ebp_operand operand)
{
	return operand == EBP_TEXT_ARRAY || operand == EBP_TEXT_DYNAMIC || operand == EBP_COMM;
}

/* What all events have, whatever their fields. */
static int find_common(const char *name, struct filter_field *f)
{
	static const struct {
		const char *names[2];
		struct filter_field field;
	} common[] = {
		{ { "COMM", "comm" }, { .operand = EBP_COMM, .size = 16 } },
		{ { "CPU", "cpu" }, { .operand = EBP_CPU, .size = 4 } },
		{ { "common_pid", "PID" }, { .operand = EBP_PID, .size = 4, .is_signed = 1 } },
	};

	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
		for (int k = 0; k < 2; k++)
			if (!strcmp(common[i].names[k], name)) {
				*f = common[i].field;
				return 0;
			}
	return -ENOENT;
}

static int parse_comparison(struct parser *p)
{
	struct ebp_test t = { .yes = PART_YES, .no = PART_NO };
	const struct operator *op;
	struct filter_field f;
	char name[WORD_MAX];
	int err = take_name(p, name);

	if (err)
		return err;
	err = p->find(p->ctx, name, &f);
	if (err == -ENOENT)
		err = find_common(name, &f);
	if (err)
		return error_set(p->e, STATUS_USAGE, -EINVAL, "--filter '%.200s': %s field '%s'",
				 p->text, err == -ENOENT ? "no" : "nothing is compared with the",
				 name);
	op = take_operator(p);
	if (!op || !(op->of_text >> is_text(f.operand) & 1))
		return bad(p, is_text(f.operand) ? "expected ==, != or ~ and a text"
						 : "expected ==, !=, <, <=, >, >= or &");
	t.operand = (uint8_t)f.operand;
	t.compare = (uint8_t)op->compare;
	t.size = (uint8_t)(is_text(f.operand) ? 0 : f.size);
	t.is_signed = f.is_signed != 0;
	t.offset = f.offset;
	t.length = f.size;
	if (is_text(f.operand)) {
		t.compare = EBP_LIKE;
		err = take_text(p, &t, op->compare == EBP_LIKE);
	} else {
		err = take_number(p, &t);
	}
	if (op->opposite) {
		t.yes = PART_NO;
		t.no = PART_YES;
	}
	if (!err && p->tests->n - p->first >= EBP_TESTS)
		return bad(p, "more than 64 comparisons");
	if (!err)
		vec_push(p->tests, t);
	return err;
}

/* --- What joins them. ------------------------------------------------------------------ */

static int parse_any(struct parser *p);

static int parse_one(struct parser *p)
{
	size_t from = p->tests->n;
	int negated = 0, err;

	while (take(p, "!"))
		negated = !negated;
	if (++p->depth > DEPTH_MAX)
		return bad(p, "too many brackets");
	if (take(p, "(")) {
		err = parse_any(p);
		if (!err && !take(p, ")"))
			err = bad(p, "expected )");
	} else {
		err = parse_comparison(p);
	}
	p->depth--;
	if (negated)
		swap_exits(p, from);
	return err;
}

/* Parts joined by @token; where one ends so (@goes_on) the next one decides. */
static int parse_joined(struct parser *p, const char *token, int (*part)(struct parser *p),
			uint16_t goes_on)
{
	size_t from = p->tests->n;
	int err = part(p);

	while (!err && take(p, token)) {
		replace(p, from, p->tests->n, goes_on, (uint16_t)(p->tests->n));
		err = part(p);
	}
	return err;
}

static int parse_all(struct parser *p)
{
	return parse_joined(p, "&&", parse_one, PART_YES);
}

static int parse_any(struct parser *p)
{
	return parse_joined(p, "||", parse_all, PART_NO);
}

int filter_compile(const char *text, filter_find *find, void *ctx, filter_tests *tests,
		   struct error *e)
{
	struct parser p = { .text = text, .at = text, .find = find, .ctx = ctx, .tests = tests,
			    .first = tests->n, .e = e };
	int err = parse_any(&p);

	skip_blanks(&p);
	if (!err && *p.at)
		err = bad(&p, "expected && or ||");
	if (!err && tests->n >= PART_YES)
		err = bad(&p, "too many comparisons in all");
	replace(&p, p.first, tests->n, PART_YES, EBP_TEST_PASS);
	replace(&p, p.first, tests->n, PART_NO, EBP_TEST_FAIL);
	if (err)
		tests->n = p.first;
	return err;
}
