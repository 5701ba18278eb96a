/* SPDX-License-Identifier: MIT */
#include "elf/vdso.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/xalloc.h"

#define MAX_VDSO	(64u << 10)	/* bytes; it is one or two pages, four on some machines */

/*
 * Page by page up to the end of its mapping. Through the kernel, so that a page
 * that is not there is an error and not a fault; what may lie behind the vDSO
 * does no harm, its headers do not lead there.
 */
void *vdso_copy(size_t *size)
{
	char *base = (char *)getauxval(AT_SYSINFO_EHDR);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *copy;

	if (!base) {
		errno = ENOENT;
		return NULL;
	}
	copy = xmalloc(MAX_VDSO);
	for (*size = 0; *size + page <= MAX_VDSO; *size += page) {
		struct iovec to = { copy + *size, page }, from = { base + *size, page };

		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)page)
			break;
	}
	if (*size)
		return copy;
	free(copy);
	errno = ENOENT;
	return NULL;
}
