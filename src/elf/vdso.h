/* SPDX-License-Identifier: MIT */
/* The code that the kernel maps into every process: no file holds it, but our own memory does. */
#ifndef EBPROF_VDSO_H
#define EBPROF_VDSO_H

#include <stddef.h>

/* A malloc'd copy of our own vDSO, an ELF file of *@size bytes. NULL with errno. */
void *vdso_copy(size_t *size);

#endif
