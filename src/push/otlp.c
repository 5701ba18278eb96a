/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry's profiles: an ExportProfilesServiceRequest by the numbers of opentelemetry-proto
 * 1.10 (profiles/v1development/profiles.proto). A service is a ResourceProfiles with a Profile for
 * each type of values; what all of them refer to is in one dictionary, each thing once, where
 * element 0 of each table is the zero value.
 *
 * Addresses are offsets in files, so mappings begin at 0.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/pprof.h"
#include "push/body.h"

#define SECOND 1000000000u
#define PROFILE_ID 16		/* bytes */

enum request_field { REQUEST_RESOURCE = 1, REQUEST_DICTIONARY = 2 };
enum resource_profiles_field { RESOURCE_RESOURCE = 1, RESOURCE_SCOPES = 2 };
enum scope_profiles_field { SCOPE_SCOPE = 1, SCOPE_PROFILES = 2 };
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum profile_field {
	PROFILE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_START = 3, PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5, PROFILE_PERIOD = 6, PROFILE_BYTES_ID = 7,
};
enum sample_field { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_VALUES = 4 };
enum type_field { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum key_value_field { KEY = 1, VALUE = 2, UNIT = 3 };
enum any_value_field { ANY_TEXT = 1, ANY_NUMBER = 3 };
enum mapping_field { MAPPING_FILE = 4, MAPPING_ATTRIBUTES = 5 };
enum location_field {
	LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINES = 3, LOCATION_ATTRIBUTES = 4,
};
enum line_field { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum function_field { FUNCTION_NAME = 1, FUNCTION_FILE = 3 };
#define RESOURCE_ATTRIBUTE 1
#define STACK_LOCATIONS 1

/* The tables of the dictionary; strings, which have one of their own, are the fifth. */
enum { MAPPINGS = 1, LOCATIONS, FUNCTIONS, LINKS, STRINGS, ATTRIBUTES, STACKS, TABLES };

/* Messages, each once: where the one of an index ends in the bytes of all. */
struct table {
	struct protobuf bytes;
	VEC(size_t) ends;
	struct interned ids;
};

struct otlp {
	struct protobuf resources;
	struct protobuf row;		/* the message that is looked for in a table */
	struct table tables[TABLES];
	struct strtab *strings;
	size_t text;			/* bytes of them */
};

/* --- The dictionary. ------------------------------------------------------------- */

static int same_row(const void *all, uint32_t id, const void *row)
{
	const struct table *t = all;
	const struct protobuf *r = row;
	size_t begin = id ? t->ends.v[id - 1] : 0;

	return t->ends.v[id] - begin == r->n && (!r->n || !memcmp(t->bytes.v + begin, r->v, r->n));
}

/* The index of @row in the table. */
static uint32_t add_row(struct otlp *o, int table, struct protobuf *row)
{
	struct table *t = &o->tables[table];
	uint32_t next = (uint32_t)t->ends.n;
	uint32_t id = intern(&t->ids, hash_bytes(row->v, row->n), next, same_row, t, row);

	if (id == next) {
		protobuf_raw(&t->bytes, row->v, row->n);
		vec_push(&t->ends, t->bytes.n);
	}
	row->n = 0;
	return id;
}

static uint32_t add_text(struct otlp *o, const char *text)
{
	uint32_t n = strtab_count(o->strings), id = strtab_add(o->strings, text);

	if (id == n)
		o->text += strlen(text) + 2;
	return id;
}

static void text_value(struct protobuf *b, uint32_t field, const char *text)
{
	size_t value = protobuf_open(b, field);

	protobuf_bytes(b, ANY_TEXT, text, strlen(text));
	protobuf_close(b, value);
}

static uint32_t text_attribute(struct otlp *o, const char *key, const char *text)
{
	protobuf_uint(&o->row, KEY, add_text(o, key));
	text_value(&o->row, VALUE, text);
	return add_row(o, ATTRIBUTES, &o->row);
}

static uint32_t number_attribute(struct otlp *o, const char *key, int64_t number, const char *unit)
{
	size_t value;

	protobuf_uint(&o->row, KEY, add_text(o, key));
	value = protobuf_open(&o->row, VALUE);
	protobuf_uint(&o->row, ANY_NUMBER, (uint64_t)number);
	protobuf_close(&o->row, value);
	if (*unit)
		protobuf_uint(&o->row, UNIT, add_text(o, unit));
	return add_row(o, ATTRIBUTES, &o->row);
}

static void add_indexes(struct protobuf *b, uint32_t field, const uint32_t *indexes, size_t n)
{
	size_t packed;

	if (!n)
		return;
	packed = protobuf_open(b, field);
	for (size_t i = 0; i < n; i++)
		protobuf_varint(b, indexes[i]);
	protobuf_close(b, packed);
}

/* --- What a profile has: its indexes to those of the dictionary. ------------------- */

struct part {
	struct otlp *o;
	const struct profile *p;
	struct profile_view v;
	uint32_t *mappings, *locations;	/* by module, by location of the profile */
	uint32_t no_stack;		/* location that stands for none */
	struct protobuf row;
};

static void add_mappings(struct part *part)
{
	const struct profile_view *v = &part->v;

	for (uint32_t i = 1; i < v->nmodules; i++) {
		const struct module *m = &v->modules[i];
		const char *id = profile_text(part->p, m->build_id);
		uint32_t attribute;

		attribute = *id ? text_attribute(part->o, "process.executable.build_id.gnu", id)
				: 0;
		protobuf_uint(&part->row, MAPPING_FILE,
			      add_text(part->o, profile_text(part->p, m->path ? m->path
									     : m->name)));
		add_indexes(&part->row, MAPPING_ATTRIBUTES, &attribute, *id != '\0');
		part->mappings[i] = add_row(part->o, MAPPINGS, &part->row);
	}
}

static uint32_t add_function(struct part *part, const char *name, const char *file)
{
	protobuf_uint(&part->o->row, FUNCTION_NAME, add_text(part->o, name));
	if (*file)
		protobuf_uint(&part->o->row, FUNCTION_FILE, add_text(part->o, file));
	return add_row(part->o, FUNCTIONS, &part->o->row);
}

static void add_line(struct part *part, uint32_t function, uint32_t number)
{
	size_t line = protobuf_open(&part->row, LOCATION_LINES);

	protobuf_uint(&part->row, LINE_FUNCTION, function);
	if (number)
		protobuf_uint(&part->row, LINE_LINE, number);
	protobuf_close(&part->row, line);
}

static void add_locations(struct part *part)
{
	const struct profile_view *v = &part->v;

	for (size_t i = 0; i < v->nlocations; i++) {
		const struct location *l = &v->locations[i];
		const char *type = frame_kinds[l->kind].otel;
		uint32_t attribute = 0;

		if (type)
			attribute = text_attribute(part->o, "profile.frame.type", type);
		if (l->module)
			protobuf_uint(&part->row, LOCATION_MAPPING, part->mappings[l->module]);
		protobuf_uint(&part->row, LOCATION_ADDRESS, l->address);
		for (uint32_t k = 0; k < l->nlines; k++) {
			const struct line *line = &v->lines[l->first_line + k];
			const struct function *f = &v->functions[line->function];

			add_line(part, add_function(part, profile_text(part->p, f->name),
						    profile_text(part->p, line->file)),
				 line->line);
		}
		add_indexes(&part->row, LOCATION_ATTRIBUTES, &attribute, type != NULL);
		part->locations[i] = add_row(part->o, LOCATIONS, &part->row);
	}
	add_line(part, add_function(part, PPROF_NO_STACK, ""), 0);
	part->no_stack = add_row(part->o, LOCATIONS, &part->row);
}

static uint32_t add_stack(struct part *part, uint32_t node)
{
	size_t packed = protobuf_open(&part->row, STACK_LOCATIONS);

	if (!node)
		protobuf_varint(&part->row, part->no_stack);
	for (; node; node = part->v.nodes[node].parent)
		protobuf_varint(&part->row, part->locations[part->v.nodes[node].location]);
	protobuf_close(&part->row, packed);
	return add_row(part->o, STACKS, &part->row);
}

/* --- Samples. ---------------------------------------------------------------------- */

static void add_attributes(struct part *part, struct protobuf *b, const struct sample *s)
{
	const struct thread *t = &part->v.threads[s->thread];
	const struct process *process = &part->v.processes[t->process];
	const struct label_set *set = &part->v.label_sets[s->labels];
	const struct profile *p = part->p;
	VEC(uint32_t) a = { 0 };

	if (t->comm)
		vec_push(&a, text_attribute(part->o, "thread.name", profile_text(p, t->comm)));
	if (t->tid)
		vec_push(&a, number_attribute(part->o, "thread.id", t->tid, ""));
	if (process->comm)
		vec_push(&a, text_attribute(part->o, "process.executable.name",
					    profile_text(p, process->comm)));
	if (process->pid)
		vec_push(&a, number_attribute(part->o, "process.pid", process->pid, ""));
	for (uint32_t i = 0; i < set->n; i++) {
		const struct label *l = &part->v.labels[set->first + i];
		const char *key = profile_text(p, l->key);

		vec_push(&a, l->text ? text_attribute(part->o, key, profile_text(p, l->text))
				     : number_attribute(part->o, key, l->number,
							profile_text(p, l->unit)));
	}
	add_indexes(b, SAMPLE_ATTRIBUTES, a.v, a.n);
	vec_free(&a);
}

/* A value a sample, as there is one type: what is 0 is left out. */
static void add_samples(struct part *part, struct protobuf *b, uint32_t type)
{
	const uint64_t *values = profile_values(part->p, type);

	for (size_t i = 0; i < part->v.nsamples; i++) {
		const struct sample *s = &part->v.samples[i];
		size_t sample, packed;

		if (!values[i])
			continue;
		sample = protobuf_open(b, PROFILE_SAMPLE);
		protobuf_uint(b, SAMPLE_STACK, add_stack(part, s->node));
		add_attributes(part, b, s);
		packed = protobuf_open(b, SAMPLE_VALUES);
		protobuf_varint(b, values[i] < INT64_MAX ? values[i] : INT64_MAX);
		protobuf_close(b, packed);
		protobuf_close(b, sample);
	}
}

static void add_type(struct otlp *o, struct protobuf *b, uint32_t field, const char *name,
		     const char *unit)
{
	size_t type = protobuf_open(b, field);

	protobuf_uint(b, TYPE_NAME, add_text(o, name));
	protobuf_uint(b, TYPE_UNIT, add_text(o, unit));
	protobuf_close(b, type);
}

/* CPU time that samples at a rate stand for is their period, and no profile of its own. */
static int is_period(const struct part *part, uint32_t type)
{
	return part->v.meta->frequency && part->v.types[type].words->role == PROFILE_CPU_TIME;
}

/*
 * Readers take a period of 0 for none, and its type for the name. So it is there, but for time off
 * the CPU, which they know by that it has none.
 */
static void add_period(struct part *part, struct protobuf *b, uint32_t type)
{
	const struct profile_meta *m = part->v.meta;
	const struct profile_event_words *words = profile_event_words(m->event);
	const char *event = *m->event ? m->event : "samples";
	uint32_t i = 0;

	if (!strcmp(profile_text(part->p, part->v.types[type].name), "off_cpu"))
		return;
	while (i < part->v.ntypes && part->v.types[i].measured_in != PROFILE_NANOSECONDS)
		i++;
	if (m->frequency && i < part->v.ntypes) {
		const struct profile_type *t = &part->v.types[i];

		add_type(part->o, b, PROFILE_PERIOD_TYPE, profile_text(part->p, t->name),
			 profile_text(part->p, t->unit));
		protobuf_uint(b, PROFILE_PERIOD, SECOND / m->frequency);
		return;
	}
	add_type(part->o, b, PROFILE_PERIOD_TYPE, words->series ? words->series : event,
		 words->period_unit ? words->period_unit : "count");
	protobuf_uint(b, PROFILE_PERIOD, m->period ? m->period : 1);
}

static void add_profile(struct part *part, struct protobuf *b, uint32_t type)
{
	const struct profile_type *t = &part->v.types[type];
	const struct profile_meta *m = part->v.meta;
	unsigned char id[PROFILE_ID] = "";
	size_t profile = protobuf_open(b, SCOPE_PROFILES);

	add_type(part->o, b, PROFILE_TYPE, profile_text(part->p, t->name),
		 profile_text(part->p, t->unit));
	add_samples(part, b, type);
	protobuf_fixed64(b, PROFILE_START, m->start);
	protobuf_uint(b, PROFILE_DURATION, m->duration);
	add_period(part, b, type);
	if (getrandom(id, sizeof(id), 0) == sizeof(id))
		protobuf_bytes(b, PROFILE_BYTES_ID, id, sizeof(id));
	protobuf_close(b, profile);
}

static void add_resource(struct protobuf *b, const struct push_part *part)
{
	size_t resource = protobuf_open(b, RESOURCE_RESOURCE);

	for (size_t i = 0; i < part->nlabels; i++) {
		size_t label = protobuf_open(b, RESOURCE_ATTRIBUTE);

		protobuf_bytes(b, KEY, part->labels[i].key, strlen(part->labels[i].key));
		text_value(b, VALUE, part->labels[i].value);
		protobuf_close(b, label);
	}
	protobuf_close(b, resource);
}

static void add_scope(struct protobuf *b)
{
	size_t scope = protobuf_open(b, SCOPE_SCOPE);

	protobuf_bytes(b, SCOPE_NAME, "ebprof", strlen("ebprof"));
	protobuf_bytes(b, SCOPE_VERSION, EBPROF_VERSION, strlen(EBPROF_VERSION));
	protobuf_close(b, scope);
}

/* --- All of it. --------------------------------------------------------------------- */

static void *begin(void)
{
	struct otlp *o = xcalloc(1, sizeof(*o));

	o->strings = strtab_new();
	for (int i = 1; i < TABLES; i++)
		if (i != STRINGS)
			add_row(o, i, &o->row);
	return o;
}

static void add(void *body, const struct push_part *p)
{
	struct otlp *o = body;
	struct part part = { .o = o, .p = p->profile, .v = profile_view(p->profile) };
	size_t resource, scope;

	part.mappings = xcalloc(part.v.nmodules + 1, sizeof(*part.mappings));
	part.locations = xcalloc(part.v.nlocations + 1, sizeof(*part.locations));
	add_mappings(&part);
	add_locations(&part);
	resource = protobuf_open(&o->resources, REQUEST_RESOURCE);
	add_resource(&o->resources, p);
	scope = protobuf_open(&o->resources, RESOURCE_SCOPES);
	add_scope(&o->resources);
	for (uint32_t i = 0; i < part.v.ntypes; i++)
		if (!is_period(&part, i))
			add_profile(&part, &o->resources, i);
	protobuf_close(&o->resources, scope);
	protobuf_close(&o->resources, resource);
	protobuf_free(&part.row);
	free(part.mappings);
	free(part.locations);
}

static size_t size(const void *body)
{
	const struct otlp *o = body;
	size_t n = o->resources.n + o->text;

	for (int i = 0; i < TABLES; i++)
		n += o->tables[i].bytes.n;
	return n;
}

static void write_table(struct protobuf *b, const struct table *t, uint32_t field)
{
	size_t begin = 0;

	for (size_t i = 0; i < t->ends.n; i++) {
		protobuf_bytes(b, field, t->bytes.v + begin, t->ends.v[i] - begin);
		begin = t->ends.v[i];
	}
}

static void write_request(struct otlp *o, struct outfile *f)
{
	size_t dictionary;

	protobuf_flush(&o->resources, f);
	dictionary = protobuf_open(&o->row, REQUEST_DICTIONARY);
	for (uint32_t i = 1; i < TABLES; i++)
		write_table(&o->row, &o->tables[i], i);
	for (uint32_t i = 0; i < strtab_count(o->strings); i++) {
		const char *text = strtab_get(o->strings, i);

		protobuf_bytes(&o->row, STRINGS, text, strlen(text));
	}
	protobuf_close(&o->row, dictionary);
	protobuf_flush(&o->row, f);
}

static void end(void *body, struct outfile *f)
{
	struct otlp *o = body;

	if (f)
		write_request(o, f);
	for (int i = 0; i < TABLES; i++) {
		protobuf_free(&o->tables[i].bytes);
		vec_free(&o->tables[i].ends);
		interned_free(&o->tables[i].ids);
	}
	protobuf_free(&o->resources);
	protobuf_free(&o->row);
	strtab_free(o->strings);
	free(o);
}

const struct body_ops body_otlp = { "otlp", begin, add, size, end };
