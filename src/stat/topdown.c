/* SPDX-License-Identifier: MIT */
#include "stat/topdown.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "collect/pmu.h"
#include "collect/pmu_files.h"

const char *const topdown_names[TOPDOWN_SHARES] = {
	[TOPDOWN_RETIRING] = "retiring",
	[TOPDOWN_BAD_SPECULATION] = "bad speculation",
	[TOPDOWN_FRONTEND] = "frontend bound",
	[TOPDOWN_BACKEND] = "backend bound",
};

/* --- Slots of each share, from what @n the events counted, in their order. ------------ */

typedef void slots_of(const double *n, double width, double slots[TOPDOWN_SHARES]);

static void of_metrics(const double *n, double width, double slots[TOPDOWN_SHARES])
{
	(void)width;
	slots[TOPDOWN_RETIRING] = n[1];
	slots[TOPDOWN_BAD_SPECULATION] = n[2];
	slots[TOPDOWN_FRONTEND] = n[3];
	slots[TOPDOWN_BACKEND] = n[4];
}

static void of_bubbles(const double *n, double width, double slots[TOPDOWN_SHARES])
{
	const double total = n[0], issued = n[1], retired = n[2], undelivered = n[3],
		     recovering = n[4];

	(void)width;
	slots[TOPDOWN_RETIRING] = retired;
	slots[TOPDOWN_BAD_SPECULATION] = issued - retired + recovering;
	slots[TOPDOWN_FRONTEND] = undelivered;
	slots[TOPDOWN_BACKEND] = total - issued - recovering - undelivered;
}

static void of_stalls(const double *n, double width, double slots[TOPDOWN_SHARES])
{
	const double total = n[0] * width, frontend = n[1], backend = n[2], retired = n[3],
		     speculated = n[4];
	double used = fmax(total - frontend - backend, 0);

	slots[TOPDOWN_RETIRING] = speculated > 0 ? used * fmin(retired / speculated, 1) : 0;
	slots[TOPDOWN_BAD_SPECULATION] = used - slots[TOPDOWN_RETIRING];
	slots[TOPDOWN_FRONTEND] = frontend;
	slots[TOPDOWN_BACKEND] = backend;
}

/* --- Methods. ------------------------------------------------------------------------- */

static const struct topdown_method {
	const char *events[TOPDOWN_EVENTS];
	int group;
	const char *width;	/* a PMU's file with the slots of a cycle */
	slots_of *slots;
} methods[] = {
	/* Intel, Ice Lake and later */
	{ { "slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
	    "topdown-be-bound" }, 1, NULL, of_metrics },
	/* Intel, before */
	{ { "topdown-total-slots", "topdown-slots-issued", "topdown-slots-retired",
	    "topdown-fetch-bubbles", "topdown-recovery-bubbles" }, 0, NULL, of_bubbles },
	/* Arm, v8.4 and later */
	{ { "cpu_cycles", "stall_slot_frontend", "stall_slot_backend", "op_retired", "op_spec" },
	  0, "caps/slots", of_stalls },
};

/* Whether @pmu has all that @m needs: the events of @t and @events, else none. */
static int fits(const struct topdown_method *m, const char *devices, const char *pmu,
		struct topdown *t, struct event *events)
{
	char text[PMU_TEXT], name[sizeof(events->name)];
	const char *rest;

	*t = (struct topdown){ .method = m, .n = TOPDOWN_EVENTS, .group = m->group };
	if (m->width && (pmu_read(devices, pmu, m->width, text) || text_u64(text, 0, &t->width) ||
			 !t->width))
		t->n = 0;
	for (size_t i = 0; i < t->n; i++) {
		events[i] = (struct event){ 0 };
		snprintf(name, sizeof(name), "%s/%s/", pmu, m->events[i]);
		if (pmu_parse(name, devices, &events[i], &rest, NULL))
			t->n = 0;
	}
	return t->n != 0;
}

struct finder {
	const char *devices;
	const struct topdown_method *method;
	struct topdown found;
	struct event *events;
};

static void try_pmu(void *ctx, const char *pmu)
{
	struct finder *f = ctx;

	if (!f->found.n)
		fits(f->method, f->devices, pmu, &f->found, f->events);
}

struct topdown topdown_find(const char *devices, struct event events[TOPDOWN_EVENTS])
{
	struct finder f = { .devices = devices, .method = methods, .events = events };

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods) && !f.found.n; i++) {
		f.method = &methods[i];
		pmu_each(devices, NULL, NULL, try_pmu, &f);
	}
	return f.found;
}

int topdown_shares(const struct topdown *t, const double *counts, double shares[TOPDOWN_SHARES])
{
	double all = 0;

	/* Events that did not count at the same time can give less than nothing. */
	t->method->slots(counts, (double)t->width, shares);
	for (int i = 0; i < TOPDOWN_SHARES; i++)
		all += shares[i] = fmax(shares[i], 0);
	if (!(all > 0))
		return -ENODATA;
	for (int i = 0; i < TOPDOWN_SHARES; i++)
		shares[i] /= all;
	return 0;
}
