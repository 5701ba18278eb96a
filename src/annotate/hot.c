/* SPDX-License-Identifier: MIT */
#include "annotate/hot.h"

#include <string.h>

#define FUNCTIONS_MAX 40
#define LEAST 0.5		/* % of all samples: what has less is not read */
#define AROUND 5		/* rows before and after one that was sampled */
#define ROWS_MAX 300		/* of a function's source, and of its code */
#define BYTES_MAX (512u << 10)	/* of text, in all */

static size_t bytes_of(const struct annotation *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->rows.n; i++)
		n += strlen(a->rows.v[i].text) +
		     (a->rows.v[i].arrows ? strlen(a->rows.v[i].arrows) : 0);
	return n;
}

/* What an interpreter runs has few samples of its own: those are in the interpreter's code. */
static uint64_t weight(const struct rollup_function *f)
{
	return frame_kinds[f->kind].family == FAMILY_SCRIPT ? f->total : f->self;
}

/* By weight, the most first. */
static int compare(const void *a, const void *b)
{
	uint64_t x = weight(a), y = weight(b);

	return (x < y) - (x > y);
}

annotation_vec annotate_hot(struct annotator *a, const struct profile *p)
{
	struct annotated_sums *sums = annotated_sums_new(p);
	annotation_vec made = { 0 };
	size_t n, left = BYTES_MAX;
	struct rollup_function *all = rollup_functions(p, &n);
	double least = LEAST / 100 * (double)profile_view(p).total;

	if (n)
		qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n && made.n < FUNCTIONS_MAX; i++) {
		struct annotation *one =
			(double)weight(&all[i]) >= least &&
			frame_is_code(all[i].kind)
				? annotator_make(a, p, sums, all[i].name, all[i].module)
				: NULL;
		size_t bytes;

		if (!one)
			continue;
		annotation_thin(one, AROUND, ROWS_MAX);
		bytes = bytes_of(one);
		if (bytes > left) {
			annotation_free(one);
			break;
		}
		left -= bytes;
		vec_push(&made, one);
	}
	free(all);
	annotated_sums_free(sums);
	return made;
}

void annotate_hot_free(annotation_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		annotation_free(v->v[i]);
	vec_free(v);
}
