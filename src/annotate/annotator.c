/* SPDX-License-Identifier: MIT */
#include "annotate/annotator.h"

#include <stdlib.h>
#include <unistd.h>

#include "annotate/internal.h"
#include "base/xalloc.h"

struct annotator *annotator_new(const struct annotator_options *o)
{
	struct annotator *a = xcalloc(1, sizeof(*a));

	a->o = *o;
	a->core_fd = -1;
	a->disassembler = disassembler_new();
	return a;
}

void annotator_free(struct annotator *a)
{
	if (!a)
		return;
	disassembler_free(a->disassembler);
	if (a->images) {
		symbolizer_free(a->symbolizer);
		images_free(a->images);
	}
	elf_file_free(a->core);
	kallsyms_free(a->kallsyms);
	if (a->core_fd >= 0)
		close(a->core_fd);
	free(a);
}

static void begin(struct annotator *a)
{
	if (a->images)
		return;
	a->images = images_new();
	a->symbolizer = symbolizer_new(
		&(struct symbolizer_options){ .debuginfod = a->o.debuginfod });
}

struct annotation *annotator_make(struct annotator *by, const struct profile *p,
				  const struct annotated_sums *sums, const char *name,
				  const char *module)
{
	struct annotated *f = annotated_new(sums, name, module);
	struct annotating a = { .by = by, .p = p, .v = profile_view(p), .f = f };

	if (!f)
		return NULL;
	begin(by);
	a.targets = annotate_targets_of(p, f->processes, by->o.live);
	a.out = xcalloc(1, sizeof(*a.out));
	*a.out = (struct annotation){ .name = xstrdup(f->name),
				      .module = xstrdup(f->module),
				      .self = f->self,
				      .total = f->total,
				      .all = a.v.total };
	annotate_sources(&a);
	annotate_code(&a);
	annotated_free(f);
	return a.out;
}
