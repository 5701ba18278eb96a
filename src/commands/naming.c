/* SPDX-License-Identifier: MIT */
#include "commands/naming.h"

#include <errno.h>
#include <string.h>

#include "symbols/kernel_dwarf.h"

#define WORTH_KEEPING 30000000	/* ns of CPU time that the names of one file took */

static int open_servers(struct debuginfod **servers, struct error *e)
{
	const char *why;

	*servers = debuginfod_new();
	if (*servers)
		return 0;
	why = errno == EDESTADDRREQ ? "DEBUGINFOD_URLS is not set (sudo -E keeps it)"
	      : errno == ELIBACC
		      ? "libdebuginfod.so.1 is not installed; on Debian: apt install libdebuginfod1"
	      : errno == ENOTSUP ? "this is the static ebprof, which can load no library"
				 : strerror(errno);
	return error_set(e, STATUS_ERROR, -errno, "--debuginfod: %s", why);
}

/* The user named it: that it cannot be used is an error at once. */
static int check_vmlinux(const char *path, struct error *e)
{
	const struct kernel_places places = { .vmlinux = path };
	struct kernel_dwarf kernel;
	int err = kernel_dwarf_open(&kernel, &places, NULL, 0, 0);
	const char *why = err == -ESTALE
				  ? "this is not the kernel that runs: its build id is another one"
			  : err == -ENODATA ? "there is no debug information in it"
			  : err == -ENOEXEC ? "this is not an ELF file"
					    : strerror(-err);

	if (err)
		return error_set(e, STATUS_ERROR, err, "--vmlinux %s: %s", path, why);
	kernel_dwarf_close(&kernel);
	return 0;
}

int naming_open(struct debuginfod **servers, const struct name_options *o, struct error *e)
{
	int err = o->debuginfod ? open_servers(servers, e) : 0;

	return err || !o->vmlinux ? err : check_vmlinux(o->vmlinux, e);
}

struct symbolizer_options naming_options(const struct name_options *o,
					 const struct view_options *view,
					 struct debuginfod *servers, const struct beside *b)
{
	return (struct symbolizer_options){
		.debug_dirs = o->debug_dirs.v,
		.n_debug_dirs = o->debug_dirs.n,
		.debuginfod = servers,
		.store = b->store,
		.worth_keeping = WORTH_KEEPING,
		.kernel = { .vmlinux = o->vmlinux },
		.demangler = b->demangler,
		.no_inline = view->no_inline,
		.no_demangle = o->no_demangle,
		.short_templates = view->short_templates,
		.memory = o->memory,
	};
}
