/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/internal.h"
#include "base/file.h"

#define KCORE "/proc/kcore"

static const char *why_no_core(int err)
{
	if (err == -ENOENT)
		return "instructions of the kernel are not shown: there is no /proc/kcore";
	if (err == -EACCES || err == -EPERM)
		return "instructions of the kernel are not shown: /proc/kcore takes CAP_SYS_RAWIO, "
		       "which ebprof annotate has as root";
	return "instructions of the kernel are not shown: /proc/kcore cannot be read";
}

static void open_kernel(struct annotator *a)
{
	if (a->kernel_sought)
		return;
	a->kernel_sought = 1;
	a->core_fd = file_open_regular(a->o.kcore ? a->o.kcore : KCORE);
	if (a->core_fd < 0) {
		a->why_no_kernel = why_no_core(a->core_fd);
		return;
	}
	a->kallsyms = kallsyms_new("/proc/kallsyms");
	if (!a->kallsyms) {
		a->why_no_kernel = "instructions of the kernel are not shown: its addresses are "
				   "hidden (kernel.kptr_restrict)";
		return;
	}
	a->core = elf_file_open(a->core_fd);
	if (!a->core)
		a->why_no_kernel = why_no_core(-EIO);
}

int annotate_kernel(struct annotating *a, struct disassembly *d, uint64_t address, const char *name,
		    const char **why)
{
	static const char *const moved =
		"instructions of the kernel are not shown: it was booted anew since then, or "
		"is another machine's";
	struct annotator *by = a->by;
	struct kallsyms_symbol symbol;
	int err;

	open_kernel(by);
	*why = by->why_no_kernel;
	if (!by->core)
		return -ENOENT;
	*why = moved;
	/* Where it is moved to at boot is another place each time. */
	if (!by->o.live && !annotate_since_boot(a->p))
		return -ENOENT;
	if (kallsyms_find(by->kallsyms, address, &symbol) || strcmp(symbol.name, name) != 0)
		return -ENOENT;
	err = disassembly_of_kernel(d, by->disassembler, by->core, by->kallsyms, address);
	*why = why_no_core(err);
	return err;
}
