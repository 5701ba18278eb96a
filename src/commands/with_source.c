/* SPDX-License-Identifier: MIT */
#include "commands/with_source.h"

#include <errno.h>

#include "base/sandbox.h"

int with_source_check(const struct with_source_options *o, const struct result_options *results,
		      struct error *e)
{
	const struct output_format *html = output_by_name("html");
	int found = results->format && output_by_name(results->format) == html;

	for (size_t i = 0; i < results->files.n && !results->format; i++)
		found |= output_by_path(results->files.v[i]) == html;
	if (!o->on || found)
		return 0;
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "--source goes with a flame graph page: -o FILE.html");
}

struct annotator *with_source_reader(const struct with_source_options *o)
{
	return annotator_new(&(struct annotator_options){ .source_dirs = o->dirs.v,
							  .n_source_dirs = o->dirs.n });
}

void with_source_begin(struct with_source *w, const struct with_source_options *o,
		       struct debuginfod *servers)
{
	const struct annotator_options options = { .source_dirs = o->dirs.v,
						   .n_source_dirs = o->dirs.n,
						   .debuginfod = servers,
						   .shared = &w->user };

	w->user = user_invoking();
	if (o->on)
		w->by = annotator_new(&options);
}

void with_source_add(struct with_source *w, const struct profile *p, struct output_options *output)
{
	if (!w->by)
		return;
	/* A recording is in one already. The page is still to be written, as by who looks. */
	if (!sandbox_is_entered())
		sandbox_enter(&(struct sandbox_options){ .becomes_user = w->user.switched,
							 .terminal = 1 });
	w->made = annotate_hot(w->by, p);
	output->annotations = w->made.v;
	output->nannotations = w->made.n;
}

void with_source_end(struct with_source *w)
{
	annotate_hot_free(&w->made);
	annotator_free(w->by);
	w->by = NULL;
}
