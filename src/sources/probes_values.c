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

int probes_weight_parse(struct probes *p, struct error *e)
{
	static const char *const bytes[] = {
		"count", "size", "bytes", "len", "length", "retval", "ret", "nr_bytes", "bytes_req",
		"bytes_alloc", "skbaddr_len",
	};
	const char *text = p->o->weight;
	size_t n = text ? strcspn(text, ":") : 0;

	if (!text)
		return 0;
	if (!n || n >= sizeof(p->field) || strlen(text + n) > sizeof(p->unit) ||
	    (text[n] && !text[n + 1]))
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
	const char *arguments;	/* of a static probe; NULL: of a function */
	int at_return;
	struct ebp_place *place;
	char names[EBP_SLOTS][16];	/* that have slots */
};

/* The number in "arg3"; -1: it is none. */
static int argument_number(const char *name)
{
	char *end;
	long n = -1;

	if (strncmp(name, "arg", 3) || name[3] < '0' || name[3] > '9')
		return -1;
	n = strtol(name + 3, &end, 10);
	return *end || n >= USDT_ARGUMENTS_MAX ? -1 : (int)n;
}

static int find_slot(const struct operands *o, const char *name, struct ebp_slot *s)
{
	static const uint8_t kinds[] = {
		[USDT_CONSTANT] = EBP_SLOT_CONSTANT, [USDT_REGISTER] = EBP_SLOT_REGISTER,
		[USDT_MEMORY] = EBP_SLOT_MEMORY,
	};
	int n = argument_number(name), err;
	struct usdt_argument a;

	*s = (struct ebp_slot){ .kind = EBP_SLOT_REGISTER, .size = 8, .is_signed = 1 };
	if (o->arguments && n >= 0) {
		err = usdt_argument(o->arguments, (unsigned int)n, &a);
		*s = (struct ebp_slot){ .kind = kinds[a.place], .size = (uint8_t)a.size,
					.is_signed = (uint8_t)a.is_signed, .reg = (uint8_t)a.reg,
					.offset = a.offset };
		return err;
	}
	if (o->at_return && !strcmp(name, "retval")) {
		s->reg = RESULT_REGISTER;
		return 0;
	}
	if (o->at_return || o->arguments || n < 0 || n >= (int)ARGUMENTS)
		return -ENOENT;
	s->reg = argument_registers[n];
	return 0;
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

int probes_values_user(struct probes *p, struct probes_place *place, const char *arguments,
		       struct error *e)
{
	struct operands o = { .arguments = arguments,
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
