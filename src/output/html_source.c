/* SPDX-License-Identifier: MIT */
#include "output/html_source.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

static void write_row(struct json *j, const struct annotation_row *r)
{
	char address[20];

	json_array(j, NULL);
	json_uint(j, NULL, r->kind);
	if (r->kind == ANNOTATION_INSTRUCTION) {
		snprintf(address, sizeof(address), "%" PRIx64, r->number);
		json_string(j, NULL, address);
	} else {
		json_uint(j, NULL, r->number);
	}
	json_uint(j, NULL, r->self);
	json_uint(j, NULL, r->total);
	json_uint(j, NULL, r->target);
	json_string(j, NULL, r->text);
	if (r->arrows)
		json_string(j, NULL, r->arrows);
	json_end(j);
}

void html_source_write(struct outfile *f, struct annotation *const *all, size_t n)
{
	struct json j = { .f = f };

	if (!n)
		return;
	outfile_printf(f, "<script type=\"application/json\" id=\"source-data\">");
	json_object(&j, NULL);
	json_uint(&j, "all", all[0]->all);
	json_array(&j, "functions");
	for (size_t i = 0; i < n; i++) {
		json_object(&j, NULL);
		json_string(&j, "name", all[i]->name);
		json_string(&j, "module", all[i]->module);
		json_uint(&j, "self", all[i]->self);
		json_uint(&j, "total", all[i]->total);
		json_array(&j, "rows");
		for (size_t k = 0; k < all[i]->rows.n; k++)
			write_row(&j, &all[i]->rows.v[k]);
		json_end(&j);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	outfile_printf(f, "</script>\n");
}
