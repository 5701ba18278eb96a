/* SPDX-License-Identifier: MIT */
#include "sources/probes_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/trace_format.h"
#include "probes/usdt.h"

#if defined(__x86_64__)
/* rdi, rsi, rdx, rcx, r8, r9 and rax by DWARF's numbers (psABI, figures 3.4 and 3.36) */
static const uint8_t argument_registers[] = { 5, 4, 1, 2, 8, 9 };
#else
static const uint8_t argument_registers[] = { 0, 1, 2, 3, 4, 5 };
#endif
#define RESULT_REGISTER 0

#define ARGUMENTS (sizeof(argument_registers) / sizeof(*argument_registers))

/* How a number that a probe finds in a register is read, as perf-probe(1) names it. */
static const struct number_type {
	const char *name;
	uint8_t size, is_signed;
} number_types[] = {
	{ ":s8", 1, 1 },  { ":s16", 2, 1 }, { ":s32", 4, 1 }, { ":s64", 8, 1 },
	{ ":u8", 1, 0 },  { ":u16", 2, 0 }, { ":u32", 4, 0 }, { ":u64", 8, 0 },
	{ ":x8", 1, 0 },  { ":x16", 2, 0 }, { ":x32", 4, 0 }, { ":x64", 8, 0 },
};

/* The type that @text begins with, and bytes of it; NULL, 0: none. */
static const struct number_type *type_at(const char *text, size_t *n)
{
	*n = *text == ':' ? 1 + strcspn(text + 1, ":") : 0;
	for (size_t i = 0; i < sizeof(number_types) / sizeof(*number_types); i++)
		if (strlen(number_types[i].name) == *n && !strncmp(number_types[i].name, text, *n))
			return &number_types[i];
	*n = 0;
	return NULL;
}

static size_t type_length(const char *text)
{
	size_t n;

	type_at(text, &n);
	return n;
}

int probes_weight_parse(struct probes *p, struct error *e)
{
	static const char *const bytes[] = {
		"count", "size", "bytes", "len", "length", "nr_bytes", "bytes_req", "bytes_alloc",
		"skbaddr_len",
	};
	const char *text = p->o->weight;
	size_t n = text ? strcspn(text, ":") : 0;

	if (!text)
		return 0;
	n += type_length(text + n);
	if (!n || n >= sizeof(p->field) || strlen(text + n) > sizeof(p->unit) ||
	    (text[n] && (text[n] != ':' || !text[n + 1])))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--weight '%.100s': expected FIELD or FIELD:UNIT, as count:bytes",
				 text);
	memcpy(p->field, text, n);
	snprintf(p->unit, sizeof(p->unit), "%s", text[n] ? text + n + 1 : "count");
	for (size_t i = 0; !text[n] && i < sizeof(bytes) / sizeof(*bytes); i++)
		if (!strcmp(bytes[i], p->field))
			snprintf(p->unit, sizeof(p->unit), "bytes");
	return 0;
}

/* --- Fields of tracepoints. ------------------------------------------------------------ */

struct record {
	trace_field_vec fields;
	uint32_t bytes;		/* that are needed of it */
};

static int find_field(void *ctx, const char *name, struct filter_field *out)
{
	static const enum ebp_operand operands[] = {
		[TRACE_NUMBER] = EBP_NUMBER, [TRACE_TEXT] = EBP_TEXT_ARRAY,
		[TRACE_DYNAMIC_TEXT] = EBP_TEXT_DYNAMIC,
	};
	struct record *r = ctx;
	const struct trace_field *f = trace_format_find(&r->fields, name);

	/* The first of them are overwritten before a program sees them. */
	if (!f || f->common)
		return -ENOENT;
	if (f->kind == TRACE_OTHER || f->offset + f->size >= EBP_RECORD)
		return -ENOTSUP;
	*out = (struct filter_field){ .offset = (uint16_t)f->offset, .size = (uint16_t)f->size,
				      .operand = operands[f->kind], .is_signed = f->is_signed };
	if (f->offset + f->size > r->bytes)
		r->bytes = f->offset + f->size;
	if (f->kind == TRACE_DYNAMIC_TEXT)
		r->bytes = EBP_RECORD - 1;
	return 0;
}

/* --- Operands of probes. --------------------------------------------------------------- */

struct operands {
	int is_static;
	const char *arguments;	/* of a static probe, or as signatures.h has them */
	int at_return;
	struct ebp_place *place;
	char names[EBP_SLOTS][16];	/* that have slots */
};

/* The number in "arg3", of which @n bytes are the name; -1: it is none. */
static int argument_number(const char *name, size_t n)
{
	char *end;
	long number;

	if (strncmp(name, "arg", 3) || name[3] < '0' || name[3] > '9')
		return -1;
	number = strtol(name + 3, &end, 10);
	return end != name + n || number >= USDT_ARGUMENTS_MAX ? -1 : (int)number;
}

/* As the function was compiled; else it is a long, which is true of what has been extended. */
static void take_signature(const char *signature, int n, struct ebp_slot *s)
{
	long size = 0;
	char *end = (char *)signature;

	for (int i = 0; i <= n && *end; i++)
		size = strtol(end, &end, 10);
	if (!size)
		return;
	s->size = (uint8_t)labs(size);
	s->is_signed = size < 0;
}

/* What stands behind the name. 0 or -ENOENT. */
static int take_type(const char *text, struct ebp_slot *s)
{
	size_t n;
	const struct number_type *type = type_at(text, &n);

	if (type) {
		s->size = type->size;
		s->is_signed = type->is_signed;
	}
	return text[n] ? -ENOENT : 0;
}

/* Of a static probe. */
static int find_static(const struct operands *o, int n, struct ebp_slot *s)
{
	static const uint8_t kinds[] = {
		[USDT_CONSTANT] = EBP_SLOT_CONSTANT, [USDT_REGISTER] = EBP_SLOT_REGISTER,
		[USDT_MEMORY] = EBP_SLOT_MEMORY,
	};
	struct usdt_argument a;
	int err = n < 0 ? -ENOENT : usdt_argument(o->arguments, (unsigned int)n, &a);

	if (!err)
		*s = (struct ebp_slot){ .kind = kinds[a.place], .size = (uint8_t)a.size,
					.is_signed = (uint8_t)a.is_signed, .reg = (uint8_t)a.reg,
					.offset = a.offset };
	return err;
}

static int find_slot(const struct operands *o, const char *name, struct ebp_slot *s)
{
	size_t length = strcspn(name, ":");
	int n = argument_number(name, length), err;

	*s = (struct ebp_slot){ .kind = EBP_SLOT_REGISTER, .size = 8, .is_signed = 1 };
	if (o->is_static) {
		err = find_static(o, n, s);
		return err ? err : take_type(name + length, s);
	}
	if (o->at_return) {
		if (length != strlen("retval") || strncmp(name, "retval", length))
			return -ENOENT;
		s->reg = RESULT_REGISTER;
		n = -1;
	} else {
		if (n < 0 || n >= (int)ARGUMENTS)
			return -ENOENT;
		s->reg = argument_registers[n];
	}
	take_signature(o->arguments, n + 1, s);
	return take_type(name + length, s);
}

static int find_operand(void *ctx, const char *name, struct filter_field *out)
{
	struct operands *o = ctx;
	struct ebp_slot slot;
	uint8_t i = 0;
	int err = find_slot(o, name, &slot);

	if (err)
		return err;
	while (i < o->place->slots && strcmp(o->names[i], name))
		i++;
	if (i == EBP_SLOTS)
		return -ENOTSUP;
	if (i == o->place->slots) {
		snprintf(o->names[i], sizeof(o->names[i]), "%s", name);
		o->place->slot[o->place->slots++] = slot;
	}
	/* A slot is a word of the record, extended to all of it. */
	*out = (struct filter_field){ .offset = (uint16_t)(i * 8), .size = 8,
				      .operand = EBP_NUMBER, .is_signed = slot.is_signed };
	return 0;
}

/* --- Both. -------------------------------------------------------------------------------- */

static int add_values(struct probes *p, struct probes_place *place, filter_find *find, void *ctx,
		      struct error *e)
{
	struct probes_event *ev = &p->events.v[place->event];
	struct ebp_place *to = &place->values;
	struct filter_field f;
	int err = 0;

	to->test = EBP_TEST_PASS;
	if (ev->filter) {
		to->test = (uint16_t)p->tests.n;
		err = filter_compile(ev->filter, find, ctx, &p->tests, e);
	}
	if (!err && *p->field && !find(ctx, p->field, &f) && f.operand == EBP_NUMBER) {
		to->value_offset = f.offset;
		to->value_size = (uint8_t)f.size;
		to->value_signed = f.is_signed != 0;
		ev->weighted = 1;
	}
	if (!err && p->o->by && !find(ctx, p->o->by, &f) && f.operand == EBP_NUMBER) {
		to->by_offset = f.offset;
		to->by_size = f.size;
		to->by_signed = f.is_signed != 0;
	}
	return err;
}

int probes_values_tracepoint(struct probes *p, struct probes_place *place, const char *tracefs,
			     const char *name, struct error *e)
{
	struct record r = { .bytes = 0 };
	int err = 0;

	place->values.test = EBP_TEST_PASS;
	if (!p->events.v[place->event].filter && !*p->field && !p->o->by)
		return 0;
	err = trace_format_read(tracefs, name, &r.fields);
	if (err)
		err = error_set(e, STATUS_DENIED, err, "cannot read the fields of %s: %s", name,
				strerror(-err));
	else
		err = add_values(p, place, find_field, &r, e);
	place->values.record = (uint16_t)r.bytes;
	vec_free(&r.fields);
	return err;
}

int probes_values_user(struct probes *p, struct probes_place *place, int is_static,
		       const char *arguments, struct error *e)
{
	struct operands o = { .is_static = is_static,
			      .arguments = arguments,
			      .at_return = p->events.v[place->event].at_return,
			      .place = &place->values };

	return add_values(p, place, find_operand, &o, e);
}

int probes_values_check(const struct probes *p, struct error *e)
{
	int weighted = 0, told = 0;

	for (size_t i = 0; i < p->events.n; i++) {
		const struct probes_event *ev = &p->events.v[i];

		weighted |= ev->weighted;
		if (ev->filter && ev->kind == EBP_PROBE_KERNEL)
			return error_set(e, STATUS_USAGE, -EOPNOTSUPP,
					 "--filter knows no fields of kprobes");
	}
	if (*p->field && !weighted)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 "--weight %s: no event has such a number; ebprof list EVENT shows "
				 "the fields of a tracepoint, probes have arg0 to arg5 or retval",
				 p->field);
	for (size_t i = 0; i < p->places.n; i++)
		told |= p->places.v[i].values.by_size != 0;
	if (p->o->by && !told)
		return error_set(e, STATUS_USAGE, -ENOENT,
				 "--by %.100s: no event has such a number; ebprof list EVENT shows "
				 "the fields of a tracepoint, probes have arg0 to arg5 or retval",
				 p->o->by);
	return 0;
}

int probes_have_values(const struct probes *p)
{
	return p->tests.n || *p->field || p->o->by;
}
