/* SPDX-License-Identifier: MIT */
#include "collect/pmu.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/near.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "collect/pmu_files.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORD 128		/* bytes of a term's name or value */
#define FAMILY_MAX 256		/* PMUs that one name stands for */
#define NAMES 200		/* bytes of names that an error lists */

struct parser {
	const char *devices;
	const char *terms;	/* all that the user wrote */
	struct event *out;
	struct error *e;
	int inside;		/* the terms are those of an event, in which there is no other */
};

/* Kinds whose events are no numbers, or have a syntax that says more. */
static const struct { const char *pmu, *instead; } others[] = {
	{ "tracepoint", "GROUP:NAME, as in sched:sched_switch" },
	{ "kprobe", "kprobe:FUNCTION" },
	{ "uprobe", "uprobe:FILE:FUNCTION" },
	{ "breakpoint", "uprobe:FILE:FUNCTION or a tracepoint; a breakpoint is not taken" },
};

static const char *instead_of(const char *pmu)
{
	for (size_t i = 0; i < COUNT(others); i++)
		if (!strcmp(pmu, others[i].pmu))
			return others[i].instead;
	return NULL;
}

/* --- What there is, where something else was asked for. ------------------------------ */

struct names {
	struct near near;
	char list[NAMES];
	size_t used;
	const char *after;	/* "=" behind the names of terms */
};

static void take_name(void *ctx, const char *name)
{
	struct names *n = ctx;
	size_t len = strlen(name);

	/* The files beside an event are none of them. */
	if (n->after ? strchr(name, '.') != NULL : instead_of(name) != NULL)
		return;
	near_consider(&n->near, name);
	if (n->used + len + 8 < sizeof(n->list))
		n->used += (size_t)snprintf(n->list + n->used, sizeof(n->list) - n->used, "%s%s%s",
					    n->used ? ", " : "", name, n->after ? n->after : "");
	else if (n->used && n->list[n->used - 1] != '.')
		n->used += (size_t)snprintf(n->list + n->used, sizeof(n->list) - n->used, ", ...");
}

static int no_pmu(const char *devices, const char *pmu, struct error *e)
{
	struct names n = { .near = NEAR(pmu) };

	pmu_each(devices, NULL, NULL, take_name, &n);
	if (*n.near.best)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "no PMU '%s' on this machine; did you mean '%s'?", pmu,
				 n.near.best);
	return error_set(e, STATUS_USAGE, -EINVAL, "no PMU '%s' on this machine; there %s %s", pmu,
			 n.used ? "are" : "is", n.used ? n.list : "none");
}

static int no_term(const struct parser *p, const char *key)
{
	struct names n = { .near = NEAR(key), .after = "" };
	const char *pmu = p->out->pmu;

	pmu_each(p->devices, pmu, "events", take_name, &n);
	n.after = "=";
	pmu_each(p->devices, pmu, "format", take_name, &n);
	take_name(&n, "config");
	take_name(&n, "period");
	take_name(&n, "name");
	if (*n.near.best)
		return error_set(p->e, STATUS_USAGE, -EINVAL,
				 "PMU %s has no '%s'; did you mean '%s'?", pmu, key, n.near.best);
	return error_set(p->e, STATUS_USAGE, -EINVAL, "PMU %s has no '%s'; there are %s", pmu, key,
			 n.list);
}

/* --- Terms. Each returns 0, or a negative errno with the error filled. --------------- */

static int no_number(const struct parser *p, const char *key, const char *value)
{
	return error_set(p->e, STATUS_USAGE, -EINVAL,
			 "%s/%s=%s/: expected a number of at most 64 bits, as 17 or 0x11",
			 p->out->pmu, key, value ? value : "");
}

static uint64_t *config_of(struct event *ev, int i)
{
	uint64_t *const configs[PMU_CONFIGS] = { &ev->config, &ev->config1, &ev->config2,
						 &ev->config3 };

	return configs[i];
}

static int set_config(struct parser *p, const char *key, const char *value)
{
	int i = key[6] ? key[6] - '0' : 0;

	return value && !text_u64(value, 0, config_of(p->out, i)) ? 0 : no_number(p, key, value);
}

static int set_period(struct parser *p, const char *key, const char *value)
{
	return value && !text_u64(value, 0, &p->out->period) && p->out->period &&
		       p->out->period <= INT64_MAX
		       ? 0 : no_number(p, key, value);
}

static int set_name(struct parser *p, const char *key, const char *value)
{
	(void)key;
	if (!value || !pmu_is_word(value, strlen(value)))
		return error_set(p->e, STATUS_USAGE, -EINVAL,
				 "%s/name=%s/: a name has letters, digits, '_', '.' and '-'",
				 p->out->pmu, value ? value : "");
	snprintf(p->out->name, sizeof(p->out->name), "%s", value);
	return 0;
}

static const struct fixed {
	const char *key;
	int (*set)(struct parser *p, const char *key, const char *value);
} fixed[] = {
	{ "config", set_config }, { "config1", set_config }, { "config2", set_config },
	{ "config3", set_config }, { "period", set_period }, { "name", set_name },
};

/* "TERM=?" of an event, which the user has to say; 1 where it stands in what he wrote. */
static int is_said(const char *terms, const char *key)
{
	size_t len = strlen(key);

	for (const char *t = terms; (t = strstr(t, key)); t += len)
		if ((t == terms || t[-1] == ',') && t[len] == '=')
			return 1;
	return 0;
}

static int set_format(struct parser *p, const char *key, const char *value, const char *text)
{
	struct pmu_format f;
	uint64_t number = 1, *to;

	if (pmu_format_parse(text, &f))
		return error_set(p->e, STATUS_USAGE, -EINVAL,
				 "PMU %s: where '%s' goes is not understood: '%s'", p->out->pmu,
				 key, text);
	if (p->inside && value && !strcmp(value, "?"))
		return is_said(p->terms, key)
			       ? 0 : error_set(p->e, STATUS_USAGE, -EINVAL,
					       "%s/%s/ needs %s=VALUE, too", p->out->pmu, p->terms,
					       key);
	if (value && text_u64(value, 0, &number))
		return no_number(p, key, value);
	if (number > pmu_format_max(&f))
		return error_set(p->e, STATUS_USAGE, -EINVAL,
				 "%s/%s=%s/: the largest value is 0x%llx", p->out->pmu, key,
				 value ? value : "1", (unsigned long long)pmu_format_max(&f));
	to = config_of(p->out, f.config);
	*to = (*to & ~f.bits) | pmu_format_place(&f, number);
	return 0;
}

static int apply(struct parser *p, const char *terms, size_t len);

/* What counts of an event are to be multiplied with, and the unit of that. */
static void read_scale(struct parser *p, const char *event)
{
	char file[WORD + 16], text[PMU_TEXT];
	double scale;

	snprintf(file, sizeof(file), "events/%s.scale", event);
	if (!pmu_read(p->devices, p->out->pmu, file, text)) {
		scale = strtod(text, NULL);
		p->out->scale = isfinite(scale) && scale > 0 ? scale : 0;
	}
	snprintf(file, sizeof(file), "events/%s.unit", event);
	if (!pmu_read(p->devices, p->out->pmu, file, text) && pmu_is_word(text, strlen(text)))
		snprintf(p->out->unit, sizeof(p->out->unit), "%.*s",
			 (int)sizeof(p->out->unit) - 1, text);
}

/* 1 where @event is one of this PMU, and applied; else 0, or a negative errno. */
static int set_event(struct parser *p, const char *event)
{
	char file[WORD + 16], text[PMU_TEXT];
	int err;

	snprintf(file, sizeof(file), "events/%s", event);
	if (p->inside || strchr(event, '.') || pmu_read(p->devices, p->out->pmu, file, text))
		return 0;
	p->inside = 1;
	err = apply(p, text, strlen(text));
	p->inside = 0;
	read_scale(p, event);
	return err ? err : 1;
}

static int apply_one(struct parser *p, const char *key, const char *value)
{
	char file[WORD + 16], text[PMU_TEXT];
	uint64_t number;
	int done;

	for (size_t i = 0; i < COUNT(fixed); i++)
		if (!strcmp(key, fixed[i].key))
			return fixed[i].set(p, key, value);
	/* As perf takes it: "event=NAME", too. */
	if (value && !strcmp(key, "event") && text_u64(value, 0, &number) &&
	    pmu_is_word(value, strlen(value))) {
		done = set_event(p, value);
		if (done)
			return done < 0 ? done : 0;
	}
	snprintf(file, sizeof(file), "format/%s", key);
	if (!pmu_read(p->devices, p->out->pmu, file, text))
		return set_format(p, key, value, text);
	done = value ? 0 : set_event(p, key);
	return done < 0 ? done : done ? 0 : no_term(p, key);
}

/* The terms in @len bytes. */
static int apply(struct parser *p, const char *terms, size_t len)
{
	int err = 0;

	for (const char *t = terms, *end = terms + len; t < end && !err; t++) {
		size_t n = strcspn(t, ","), k;
		char key[WORD], *value;

		n = n < (size_t)(end - t) ? n : (size_t)(end - t);
		k = strcspn(t, "=");
		k = k < n ? k : n;
		if (n >= sizeof(key) || !pmu_is_word(t, k))
			return error_set(p->e, STATUS_USAGE, -EINVAL,
					 "malformed term '%.*s' of PMU %s; expected EVENT, TERM or "
					 "TERM=VALUE", (int)(n < WORD ? n : WORD), t, p->out->pmu);
		memcpy(key, t, n);
		key[n] = key[k] = '\0';
		value = k < n ? key + k + 1 : NULL;
		err = apply_one(p, key, value);
		t += n;
	}
	return err;
}

/* --- PMUs. --------------------------------------------------------------------------- */

struct family {
	const char *name;
	char members[FAMILY_MAX][sizeof(((struct event *)0)->pmu)];
	size_t n;
};

static void take_member(void *ctx, const char *pmu)
{
	struct family *f = ctx;
	size_t len = pmu_family(pmu);

	if (len && len == strlen(f->name) && !strncmp(pmu, f->name, len) && f->n < FAMILY_MAX &&
	    strlen(pmu) < sizeof(f->members[0]))
		strcpy(f->members[f->n++], pmu);
}

static int by_number(const void *a, const void *b)
{
	size_t x = strlen(a), y = strlen(b);

	return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* The PMUs that are named as @name with a number behind it, by that. To be freed. */
static struct family *family_of(const char *devices, const char *name)
{
	struct family *f = xcalloc(1, sizeof(*f));

	f->name = name;
	pmu_each(devices, NULL, NULL, take_member, f);
	qsort(f->members, f->n, sizeof(f->members[0]), by_number);
	return f;
}

/* @out->pmu is none: those that it stands for, by the first of them. 0 where there is none. */
static int find_family(const char *devices, struct event *out)
{
	struct family *f = family_of(devices, out->pmu);
	int found = f->n > 0;

	if (found) {
		memcpy(out->family, out->pmu, sizeof(out->family));
		memcpy(out->pmu, f->members[0], sizeof(out->pmu));
	}
	free(f);
	return found;
}

static int find_pmu(const char *devices, const char *text, size_t len, struct event *out,
		    struct error *e)
{
	char number[PMU_TEXT];
	uint64_t type;

	if (!pmu_is_word(text, len) || len >= sizeof(out->pmu))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "malformed event '%s'; an event of a PMU is PMU/TERM=VALUE,.../",
				 text);
	memcpy(out->pmu, text, len);
	if (instead_of(out->pmu))
		return error_set(e, STATUS_USAGE, -EINVAL, "%s/.../: write %s", out->pmu,
				 instead_of(out->pmu));
	if (!pmu_exists(devices, out->pmu) && !find_family(devices, out))
		return no_pmu(devices, out->pmu, e);
	if (pmu_read(devices, out->pmu, "type", number) || text_u64(number, 0, &type) ||
	    type > UINT32_MAX)
		return error_set(e, STATUS_ERROR, -EINVAL, "PMU %s: cannot read its type in %s",
				 out->pmu, devices);
	out->type = (uint32_t)type;
	out->uncore = !pmu_read(devices, out->pmu, "cpumask", number);
	return 0;
}

int pmu_parse(const char *text, const char *devices, struct event *out, const char **rest,
	      struct error *e)
{
	struct parser p = { .devices = devices, .out = out, .e = e };
	size_t len = strcspn(text, "/"), n = text[len] ? strcspn(text + len + 1, "/") : 0;
	int err = find_pmu(devices, text, len, out, e);

	if (err)
		return err;
	if (!text[len] || !text[len + 1 + n] || n >= sizeof(out->terms))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "'%s' has no end: an event of a PMU is PMU/TERM=VALUE,.../", text);
	memcpy(out->terms, text + len + 1, n);
	out->terms[n] = '\0';
	p.terms = out->terms;
	*rest = text + len + n + 2;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(len + n + 2), text);
	return apply(&p, out->terms, n);
}

size_t pmu_events(const struct event *ev, const char *devices, struct event **each)
{
	struct family *f = *ev->family ? family_of(devices, ev->family) : NULL;
	size_t n = 0;

	*each = xcalloc(f && f->n ? f->n : 1, sizeof(**each));
	for (size_t i = 0; f && i < f->n; i++) {
		char *text = xasprintf("%s/%s/", f->members[i], ev->terms);
		struct event *to = &(*each)[n], one = { 0 };
		const char *rest;

		if (!pmu_parse(text, devices, &one, &rest, NULL)) {
			*to = one;
			memcpy(to->name, ev->name, sizeof(to->name));
			to->exclude_user = ev->exclude_user;
			to->exclude_kernel = ev->exclude_kernel;
			to->precise = ev->precise;
			n++;
		}
		free(text);
	}
	free(f);
	if (!n)
		(*each)[n++] = *ev;
	return n;
}

int pmu_refuse_uncore(const struct event *ev, const char *what, struct error *e)
{
	if (!ev->uncore)
		return 0;
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "%s%s: PMU %s counts for all CPUs of a socket, and not for who runs "
			 "there: ebprof stat -a -e %s", what, ev->name,
			 *ev->family ? ev->family : ev->pmu, ev->name);
}

int pmu_refuse_samples(const struct event *ev, const char *what, struct error *e)
{
	if (!*ev->family || ev->uncore)
		return pmu_refuse_uncore(ev, what, e);
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "%s%s: samples are of one PMU, as %s; ebprof stat -e counts on all that "
			 "are named %s", what, ev->name, ev->pmu, ev->family);
}

void pmu_cpus(const struct event *ev, const char *devices, int **cpus, size_t *n)
{
	char text[PMU_TEXT];

	*cpus = NULL;
	*n = 0;
	if (!*ev->pmu || (pmu_read(devices, ev->pmu, "cpumask", text) &&
			  pmu_read(devices, ev->pmu, "cpus", text)))
		return;
	if (list_parse(text, cpus, n) || !*n) {
		free(*cpus);
		*cpus = NULL;
		*n = 0;
	}
}

/* --- All. ---------------------------------------------------------------------------- */

struct lister {
	const char *devices, *pmu;
	pmu_show *show;
	void *ctx;
};

static void show_event(void *ctx, const char *name)
{
	const struct lister *l = ctx;
	char shown[sizeof(((struct event *)0)->name)];
	struct event ev = { 0 };
	const char *rest;
	int err;

	if (strchr(name, '.') ||
	    snprintf(shown, sizeof(shown), "%s/%s/", l->pmu, name) >= (int)sizeof(shown))
		return;
	err = pmu_parse(shown, l->devices, &ev, &rest, NULL);
	l->show(l->ctx, shown, err ? "PMU event, with a term" : "PMU event", err ? NULL : &ev);
}

static void show_term(void *ctx, const char *name)
{
	const struct lister *l = ctx;
	char shown[sizeof(((struct event *)0)->name)], file[WORD + 16], text[PMU_TEXT], what[64];
	struct pmu_format f;

	snprintf(file, sizeof(file), "format/%.*s", WORD, name);
	if (snprintf(shown, sizeof(shown), "%s/%s=N/", l->pmu, name) >= (int)sizeof(shown) ||
	    pmu_read(l->devices, l->pmu, file, text) || pmu_format_parse(text, &f))
		return;
	snprintf(what, sizeof(what), "PMU term, at most 0x%llx",
		 (unsigned long long)pmu_format_max(&f));
	l->show(l->ctx, shown, what, NULL);
}

/* The events of a family, of which @first is the first one that has them. */
static void show_family(struct lister *l, const char *first)
{
	char name[sizeof(((struct event *)0)->pmu)];
	size_t len = pmu_family(first);
	struct family *f;

	if (!len || len >= sizeof(name))
		return;
	memcpy(name, first, len);
	name[len] = '\0';
	f = family_of(l->devices, name);
	l->pmu = name;
	if (f->n > 1 && !strcmp(f->members[0], first) && !pmu_exists(l->devices, name))
		pmu_each(l->devices, first, "events", show_event, l);
	free(f);
}

static void show_pmu(void *ctx, const char *name)
{
	struct lister *l = ctx;

	if (instead_of(name))
		return;
	show_family(l, name);
	l->pmu = name;
	pmu_each(l->devices, name, "events", show_event, l);
	pmu_each(l->devices, name, "format", show_term, l);
}

void pmu_list(const char *devices, pmu_show *show, void *ctx)
{
	struct lister l = { .devices = devices, .show = show, .ctx = ctx };

	pmu_each(devices, NULL, NULL, show_pmu, &l);
}
