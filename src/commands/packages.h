/* SPDX-License-Identifier: MIT */
/* Which package of this system has the debug information of a file: Debian's and its children's. */
#ifndef EBPROF_PACKAGES_H
#define EBPROF_PACKAGES_H

#include <stddef.h>

#define PACKAGE_NAME_MAX 128	/* bytes */

/* Where the lists of what packages have installed are (dpkg-query(1), --admindir). */
#define PACKAGES_LISTS "/var/lib/dpkg/info"

/*
 * The name of the package that has what @path, of build id @build_id (lowercase hex), lacks: it
 * belongs to a package whose list is in the folder @lists, and the file that is there is that very
 * one. 0; -ENOENT: no package has it, or could have; -ESTALE: another file is at that path;
 * -EEXIST: its debug file is installed already.
 */
int packages_debug(const char *lists, const char *path, const char *build_id,
		   char name[PACKAGE_NAME_MAX]);

#endif
