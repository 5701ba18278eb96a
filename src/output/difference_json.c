/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include "output/difference.h"
#include "output/rollup.h"

static void write_row(struct json *j, const struct profile *p, const struct diff_row *r)
{
	struct profile_view v = profile_view(p);
	int named = r->function < v.nfunctions;

	json_object(j, NULL);
	json_string(j, "function",
		    r->function == PROFILE_NONE ? ROLLUP_NO_STACK : rollup_name(p, r->function));
	json_string(j, "image", named ? profile_text(p, v.functions[r->function].module) : "");
	json_double(j, "before", r->rate[DIFF_BEFORE]);
	json_double(j, "after", r->rate[DIFF_AFTER]);
	json_double(j, "change", diff_change(r));
	json_double(j, "low", r->low);
	json_double(j, "high", r->high);
	json_double(j, "p", r->p);
	json_bool(j, "significant", r->significant);
	json_end(j);
}

static void write_list(struct json *j, const char *key, const struct profile *p,
		       const struct diff_list *l, int all)
{
	json_array(j, key);
	for (size_t i = 0; i < (all ? l->n : l->significant); i++)
		write_row(j, p, &l->rows[i]);
	json_end(j);
}

void difference_write_json(const struct diff *d, int all, const struct output_options *o,
			   struct outfile *f)
{
	static const char *const words[] = {
		[DIFF_SAMPLES] = "samples", [DIFF_SECONDS] = "seconds", [DIFF_NONE] = "none"
	};
	const struct profile *p = diff_profile(d);
	struct profile_view v = profile_view(p);
	struct json j = { .f = f };

	(void)o;
	json_object(&j, NULL);
	json_string(&j, "normalize", words[diff_normalized(d)]);
	json_string(&j, "unit", diff_counted(d) ? "samples" : diff_unit(d));
	json_uint(&j, "before", v.types[DIFF_BEFORE].total);
	json_uint(&j, "after", v.types[DIFF_AFTER].total);
	write_list(&j, "self", p, diff_self(d), all);
	write_list(&j, "total", p, diff_total(d), all);
	json_end(&j);
	json_newline(&j);
}
