/* SPDX-License-Identifier: MIT */
#include "output/svg_frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/xalloc.h"
#include "output/rollup.h"

static enum svg_group group_of(const struct profile *p, size_t function, int inlined)
{
	struct profile_view v = profile_view(p);

	enum frame_kind kind = function < v.nfunctions ? v.functions[function].kind : FRAME_MARK;

	return svg_group(frame_kinds[inlined ? frame_kinds[kind].inlined : kind].family);
}

static int compare(const struct svg_frame *x, const struct svg_frame *y)
{
	int c = strcmp(x->name, y->name);

	if (!c)
		c = strcmp(x->module, y->module);
	return c ? c : (int)x->group - (int)y->group;
}

static int by_name(const void *a, const void *b)
{
	return compare(*(struct svg_frame *const *)a, *(struct svg_frame *const *)b);
}

/* A thread's name with its ids. */
static const char *thread_name(struct svg_frames *fr, const struct profile *p,
			       const struct thread *t)
{
	const char *comm = rollup_comm(p, t->comm);
	char ids[ROLLUP_IDS_MAX], *name;
	size_t size = strlen(comm) + sizeof(ids);
	uint32_t id;

	name = xcalloc(size, 1);
	snprintf(name, size, "%s%s", comm, rollup_thread_ids(p, t, ids));
	id = strtab_add(fr->texts, name);
	free(name);
	return strtab_get(fr->texts, id);
}

void svg_frames_init(struct svg_frames *fr, const struct profile *p)
{
	struct profile_view v = profile_view(p);
	size_t nfunctions = v.nfunctions + 1, n = 2 * nfunctions + v.nthreads;
	uint32_t labels = 0;

	*fr = (struct svg_frames){
		.texts = strtab_new(),
		.all = xcalloc(n, sizeof(*fr->all)),
		.sorted = xcalloc(n, sizeof(*fr->sorted)),
		.by_label = xcalloc(n, sizeof(*fr->by_label)),
		.functions = xcalloc(n, sizeof(*fr->functions)),
	};
	fr->inlined = fr->functions + nfunctions;
	fr->threads = fr->inlined + nfunctions;
	for (size_t i = 0; i < n; i++) {
		size_t function = i % nfunctions;

		if (i >= 2 * nfunctions)
			fr->all[i] = (struct svg_frame){
				thread_name(fr, p, &v.threads[i - 2 * nfunctions]), "", SVG_THREAD,
				0
			};
		else
			fr->all[i] = (struct svg_frame){
				.name = rollup_name(p, function),
				.group = group_of(p, function, i >= nfunctions),
				.module = function < v.nfunctions
						  ? profile_text(p, v.functions[function].module)
						  : ""
			};
		fr->sorted[i] = &fr->all[i];
	}
	qsort(fr->sorted, n, sizeof(*fr->sorted), by_name);
	for (size_t i = 0; i < n; i++) {
		if (!i || compare(fr->sorted[i - 1], fr->sorted[i]))
			fr->by_label[labels++] = fr->sorted[i];
		fr->sorted[i]->label = labels - 1;
	}
	for (size_t i = 0; i < n; i++)
		fr->functions[i] = fr->all[i].label;
}

void svg_frames_free(struct svg_frames *fr)
{
	strtab_free(fr->texts);
	free(fr->all);
	free(fr->sorted);
	free(fr->by_label);
	free(fr->functions);
}
