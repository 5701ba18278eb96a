/* SPDX-License-Identifier: MIT */
#include "symbols/demangle_rust.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "symbols/name_out.h"
#include "symbols/punycode.h"

#define MAX_DEPTH	512	/* of paths and types in one another */
#define MAX_STEPS	65536	/* paths, types and constants read in all */
#define MAX_LIFETIMES	256	/* bound by one "for<...>" */
#define MAX_PUNYCODE	128	/* characters of an identifier that is not ASCII */

/*
 * One name on its way. After an error nothing is read or printed any more, so
 * that only loops need to look at out.failed. Back references can make the work
 * exponential; MAX_STEPS bounds it.
 */
struct state {
	const char *s;
	size_t n, pos;
	struct name_out out;
	unsigned int depth, steps;
	uint64_t lifetimes;		/* bound by the binders around */
};

static void print_number(struct state *st, const char *fmt, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), fmt, value);
	name_out_text(&st->out, text);
}

static int peek(const struct state *st)
{
	return !st->out.failed && st->pos < st->n ? (unsigned char)st->s[st->pos] : -1;
}

static int eat(struct state *st, char c)
{
	if (peek(st) != c)
		return 0;
	st->pos++;
	return 1;
}

/* The next character; 0, and failed, at the end. */
static int next(struct state *st)
{
	int c = peek(st);

	if (c < 0) {
		st->out.failed = 1;
		return 0;
	}
	st->pos++;
	return c;
}

static int is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static int is_upper(int c)
{
	return c >= 'A' && c <= 'Z';
}

static size_t parse_decimal(struct state *st)
{
	int c = next(st);
	size_t value = (size_t)(c - '0');

	if (!is_digit(c)) {
		st->out.failed = 1;
		return 0;
	}
	while (c != '0' && is_digit(peek(st))) {
		value = value * 10 + (size_t)(next(st) - '0');
		if (value > st->n)
			st->out.failed = 1;
	}
	return value;
}

/* base-62-number: "_" is 0, "0_" is 1. */
static uint64_t parse_base62(struct state *st)
{
	uint64_t value = 0;

	if (eat(st, '_'))
		return 0;
	while (!st->out.failed && !eat(st, '_')) {
		int c = next(st);
		int digit = is_digit(c) ? c - '0' : is_upper(c) ? c - 'A' + 36 :
			    c >= 'a' && c <= 'z' ? c - 'a' + 10 : -1;

		if (digit < 0 || value > (UINT64_MAX - 64) / 62)
			st->out.failed = 1;
		else
			value = value * 62 + (uint64_t)digit;
	}
	return value + 1;
}

/* An optional number behind @tag: 0 where it is not there. */
static uint64_t parse_optional(struct state *st, char tag)
{
	return eat(st, tag) ? parse_base62(st) + 1 : 0;
}

struct identifier {
	const char *text;
	size_t n;
	int punycode;
};

static struct identifier parse_identifier(struct state *st)
{
	struct identifier id = { "", 0, eat(st, 'u') };
	size_t n = parse_decimal(st);

	eat(st, '_');	/* parts the length from a name that begins with a digit or "_" */
	if (st->out.failed || n > st->n - st->pos) {
		st->out.failed = 1;
		return id;
	}
	id.text = st->s + st->pos;
	id.n = n;
	st->pos += n;
	return id;
}

static void print_identifier(struct state *st, const struct identifier *id)
{
	uint32_t chars[MAX_PUNYCODE];
	size_t n;

	if (!id->punycode || st->out.failed || st->out.silent) {
		name_out_bytes(&st->out, id->text, id->n);
		return;
	}
	n = punycode_decode(id->text, id->n, chars, MAX_PUNYCODE);
	st->out.failed |= !n;
	for (size_t i = 0; i < n; i++)
		name_out_char(&st->out, chars[i]);
}

static void print_lifetime(struct state *st, uint64_t index)
{
	char letter[2] = "_";

	name_out_text(&st->out, "'");
	if (index > st->lifetimes) {
		st->out.failed = 1;
		return;
	}
	/* Counted from the innermost binder; named from the outermost, 'a 'b ... 'z '_26. */
	if (index && st->lifetimes - index < 26)
		letter[0] = (char)('a' + (st->lifetimes - index));
	name_out_text(&st->out, letter);
	if (index && st->lifetimes - index >= 26)
		print_number(st, "%" PRIu64, st->lifetimes - index);
}

static void path(struct state *st, int in_value);
static void type(struct state *st);
static void constant(struct state *st);

static void enter(struct state *st)
{
	if (++st->depth > MAX_DEPTH || ++st->steps > MAX_STEPS)
		st->out.failed = 1;
}

/* A back reference: @what is read at an earlier place; @at is where the reference itself stands. */
static void back_reference(struct state *st, size_t at, void (*what)(struct state *, int), int arg)
{
	uint64_t target = parse_base62(st);
	size_t back = st->pos;

	/* Only backwards, so that no cycle is possible. */
	if (target >= at)
		st->out.failed = 1;
	if (st->out.failed || st->out.silent)
		return;
	st->pos = (size_t)target;
	what(st, arg);
	st->pos = back;
}

static void generic_arg(struct state *st)
{
	if (eat(st, 'L'))
		print_lifetime(st, parse_base62(st));
	else if (eat(st, 'K'))
		constant(st);
	else
		type(st);
}

/* Items up to "E", with @separator between them; their number. */
static size_t list(struct state *st, void (*item)(struct state *), const char *separator)
{
	size_t n;

	for (n = 0; !st->out.failed && !eat(st, 'E'); n++) {
		if (n)
			name_out_text(&st->out, separator);
		item(st);
	}
	return n;
}

static void impl_path(struct state *st)
{
	/* Where the impl stands is of no interest, only for what it is. */
	st->out.silent++;
	parse_optional(st, 's');
	path(st, 0);
	st->out.silent--;
}

static void nested_path(struct state *st, int in_value)
{
	int ns = next(st);
	struct identifier id;
	uint64_t number;

	if (!is_upper(ns) && !(ns >= 'a' && ns <= 'z'))
		st->out.failed = 1;
	path(st, in_value);
	number = parse_optional(st, 's');
	id = parse_identifier(st);
	if (!is_upper(ns)) {
		if (id.n)
			name_out_text(&st->out, "::");
		print_identifier(st, &id);
		return;
	}
	name_out_text(&st->out, ns == 'C' ? "::{closure" : ns == 'S' ? "::{shim" : "::{");
	if (ns != 'C' && ns != 'S')
		name_out_bytes(&st->out, (char[]){ (char)ns }, 1);
	if (id.n)
		name_out_text(&st->out, ":");
	print_identifier(st, &id);
	print_number(st, "#%" PRIu64 "}", number);
}

static void path(struct state *st, int in_value)
{
	size_t at = st->pos;
	struct identifier id;
	int tag = next(st);

	enter(st);
	switch (tag) {
	case 'C':
		parse_optional(st, 's');
		id = parse_identifier(st);
		print_identifier(st, &id);
		break;
	case 'N':
		nested_path(st, in_value);
		break;
	case 'M':
	case 'X':
		impl_path(st);
		__attribute__((fallthrough));
	case 'Y':
		name_out_text(&st->out, "<");
		type(st);
		if (tag != 'M') {
			name_out_text(&st->out, " as ");
			path(st, 0);
		}
		name_out_text(&st->out, ">");
		break;
	case 'I':
		path(st, in_value);
		name_out_text(&st->out, in_value ? "::<" : "<");
		list(st, generic_arg, ", ");
		name_out_text(&st->out, ">");
		break;
	case 'B':
		back_reference(st, at, path, in_value);
		break;
	default:
		st->out.failed = 1;
	}
	st->depth--;
}

/* A path of which the "<...>" stays open, for the associated types of a dyn trait. */
static int path_left_open(struct state *st)
{
	size_t at = st->pos;
	int open = 0;

	enter(st);
	if (eat(st, 'B')) {
		uint64_t target = parse_base62(st);
		size_t back = st->pos;

		st->out.failed |= target >= at;
		if (!st->out.failed && !st->out.silent) {
			st->pos = (size_t)target;
			open = path_left_open(st);
			st->pos = back;
		}
	} else if (eat(st, 'I')) {
		path(st, 0);
		name_out_text(&st->out, "<");
		list(st, generic_arg, ", ");
		open = 1;
	} else {
		path(st, 0);
	}
	st->depth--;
	return open;
}

static void dyn_trait(struct state *st)
{
	int open = path_left_open(st);

	while (eat(st, 'p')) {
		struct identifier id = parse_identifier(st);

		name_out_text(&st->out, open ? ", " : "<");
		open = 1;
		print_identifier(st, &id);
		name_out_text(&st->out, " = ");
		type(st);
	}
	if (open)
		name_out_text(&st->out, ">");
}

/* for<'a, 'b>; the caller takes the lifetimes back. */
static void binder(struct state *st)
{
	uint64_t n = parse_optional(st, 'G');

	if (n > MAX_LIFETIMES)
		st->out.failed = 1;
	if (!n || st->out.failed)
		return;
	name_out_text(&st->out, "for<");
	for (uint64_t i = 0; i < n; i++) {
		if (i)
			name_out_text(&st->out, ", ");
		st->lifetimes++;
		print_lifetime(st, 1);
	}
	name_out_text(&st->out, "> ");
}

static void function_type(struct state *st)
{
	binder(st);
	if (eat(st, 'U'))
		name_out_text(&st->out, "unsafe ");
	if (eat(st, 'K')) {
		struct identifier abi = { "C", 1, 0 };

		if (!eat(st, 'C'))
			abi = parse_identifier(st);
		name_out_text(&st->out, "extern \"");
		/* "_" stands for the "-" of the ABI's name. */
		for (size_t i = 0; i < abi.n; i++)
			name_out_bytes(&st->out, abi.text[i] == '_' ? "-" : abi.text + i, 1);
		name_out_text(&st->out, "\" ");
	}
	name_out_text(&st->out, "fn(");
	list(st, type, ", ");
	name_out_text(&st->out, ")");
	if (!eat(st, 'u')) {	/* () */
		name_out_text(&st->out, " -> ");
		type(st);
	}
}

static void dyn_type(struct state *st)
{
	uint64_t outside = st->lifetimes, lifetime;

	name_out_text(&st->out, "dyn ");
	binder(st);
	list(st, dyn_trait, " + ");
	st->lifetimes = outside;
	if (!eat(st, 'L'))
		st->out.failed = 1;
	lifetime = parse_base62(st);
	if (lifetime) {
		name_out_text(&st->out, " + ");
		print_lifetime(st, lifetime);
	}
}

static void reference_type(struct state *st, int mutable)
{
	name_out_text(&st->out, "&");
	if (eat(st, 'L')) {
		uint64_t lifetime = parse_base62(st);

		if (lifetime) {
			print_lifetime(st, lifetime);
			name_out_text(&st->out, " ");
		}
	}
	if (mutable)
		name_out_text(&st->out, "mut ");
	type(st);
}

static const char *basic_type(int tag)
{
	static const char *const names['z' - 'a' + 1] = {
		['a' - 'a'] = "i8",   ['b' - 'a'] = "bool",  ['c' - 'a'] = "char",
		['d' - 'a'] = "f64",  ['e' - 'a'] = "str",   ['f' - 'a'] = "f32",
		['h' - 'a'] = "u8",   ['i' - 'a'] = "isize", ['j' - 'a'] = "usize",
		['l' - 'a'] = "i32",  ['m' - 'a'] = "u32",   ['n' - 'a'] = "i128",
		['o' - 'a'] = "u128", ['p' - 'a'] = "_",     ['s' - 'a'] = "i16",
		['t' - 'a'] = "u16",  ['u' - 'a'] = "()",    ['v' - 'a'] = "...",
		['x' - 'a'] = "i64",  ['y' - 'a'] = "u64",   ['z' - 'a'] = "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

static void type_again(struct state *st, int unused)
{
	(void)unused;
	type(st);
}

static void type(struct state *st)
{
	size_t at = st->pos;
	int tag = next(st);
	const char *basic = basic_type(tag);
	uint64_t outside = st->lifetimes;

	if (basic) {
		name_out_text(&st->out, basic);
		return;
	}
	enter(st);
	switch (st->out.failed ? 0 : tag) {
	case 'R':
	case 'Q':
		reference_type(st, tag == 'Q');
		break;
	case 'P':
	case 'O':
		name_out_text(&st->out, tag == 'P' ? "*const " : "*mut ");
		type(st);
		break;
	case 'A':
	case 'S':
		name_out_text(&st->out, "[");
		type(st);
		if (tag == 'A') {
			name_out_text(&st->out, "; ");
			constant(st);
		}
		name_out_text(&st->out, "]");
		break;
	case 'T':
		name_out_text(&st->out, "(");
		if (list(st, type, ", ") == 1)
			name_out_text(&st->out, ",");
		name_out_text(&st->out, ")");
		break;
	case 'F':
		function_type(st);
		st->lifetimes = outside;
		break;
	case 'D':
		dyn_type(st);
		break;
	case 'B':
		back_reference(st, at, type_again, 0);
		break;
	default:
		st->pos = at;
		path(st, 0);
	}
	st->depth--;
}

/* The digits of a constant, up to "_"; more than 64 bits are shown as they stand. */
static uint64_t hex_constant(struct state *st, const char **digits, size_t *n)
{
	uint64_t value = 0;

	*digits = st->s + st->pos;
	for (*n = 0; !st->out.failed && !eat(st, '_'); ++*n) {
		int digit = rust_hex_digit(next(st));

		if (digit < 0)
			st->out.failed = 1;
		value = value << 4 | (unsigned int)digit;
	}
	return value;
}

static void print_char(struct state *st, uint64_t c)
{
	name_out_text(&st->out, "'");
	if (c == '\t' || c == '\r' || c == '\n')
		name_out_text(&st->out, c == '\t' ? "\\t" : c == '\r' ? "\\r" : "\\n");
	else if (c >= ' ' && c < 0x7f)
		name_out_bytes(&st->out, (char[]){ (char)c }, 1);
	else
		print_number(st, "\\u{%" PRIx64 "}", c);
	name_out_text(&st->out, "'");
}

static void constant_again(struct state *st, int unused)
{
	(void)unused;
	constant(st);
}

static void constant(struct state *st)
{
	size_t at = st->pos, n;
	int tag = next(st);
	const char *digits;
	uint64_t value;

	enter(st);
	if (tag == 'p') {
		name_out_text(&st->out, "_");
		goto out;
	}
	if (tag == 'B') {
		back_reference(st, at, constant_again, 0);
		goto out;
	}
	if (!tag || !strchr("htmyojaslxnibc", tag)) {
		st->out.failed = 1;
		goto out;
	}
	if (strchr("aslxni", tag) && eat(st, 'n'))
		name_out_text(&st->out, "-");
	value = hex_constant(st, &digits, &n);
	if (tag == 'b' && value <= 1) {
		name_out_text(&st->out, value ? "true" : "false");
	} else if (tag == 'c' && n <= 8) {
		print_char(st, value);
	} else if (tag == 'b' || tag == 'c') {
		st->out.failed = 1;
	} else if (n > 16) {
		name_out_text(&st->out, "0x");
		name_out_bytes(&st->out, digits, n);
	} else {
		print_number(st, "%" PRIu64, value);
	}
out:
	st->depth--;
}

size_t demangle_rust_v0(const char *s, size_t n, char *dst, size_t size)
{
	struct state st = { .s = s + 2, .n = n - 2, .out = { .dst = dst, .size = size } };

	/* A digit here would be a later version of the mangling. */
	if (n < 3 || s[0] != '_' || s[1] != 'R' || !is_upper(s[2]))
		return 0;
	path(&st, 1);
	if (!st.out.failed && st.pos < st.n) {
		st.out.silent = 1;		/* the crate that asked for the instance */
		path(&st, 0);
	}
	if (st.pos < st.n)
		return 0;
	return name_out_end(&st.out);
}
