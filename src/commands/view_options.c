/* SPDX-License-Identifier: MIT */
#include "commands/view_options.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "profile/simplify.h"
#include "symbols/short_templates.h"

#define TITLE_MAX 1024

int view_options_sort(const char *option, const char *text, void *field, struct error *e)
{
	enum output_sort *sort = field;

	*sort = !strcmp(text, "self") ? OUTPUT_SORT_SELF : OUTPUT_SORT_TOTAL;
	if (*sort == OUTPUT_SORT_TOTAL && strcmp(text, "total"))
		return error_set(e, STATUS_USAGE, -EINVAL, "%s '%s': expected one of self, total",
				 option, text);
	return 0;
}

void view_options_output(const struct view_options *v, struct output_options *o)
{
	o->rows = v->rows < INT32_MAX ? (int)v->rows : INT32_MAX;
	o->sort = v->sort;
}

void view_options_apply(const struct view_options *v, struct profile *p)
{
	char clean[TITLE_MAX];

	if (v->no_inline)
		profile_drop_inlined(p);
	if (v->short_templates)
		profile_shorten_names(p, short_templates);
	if (v->title) {
		text_clean(clean, sizeof(clean), v->title);
		profile_meta(p)->title = profile_string(p, clean);
	}
}
