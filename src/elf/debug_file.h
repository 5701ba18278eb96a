/* SPDX-License-Identifier: MIT */
/*
 * Finds the file that holds the debug information of an ELF file: by build id
 * or by its .gnu_debuglink (GDB manual, "Separate Debug Files").
 *
 * Names and contents may be the target's: only regular files are opened, after
 * a look (O_PATH), no path leaves the target's root, and a file counts only if
 * it has the same build id or, where one of the two has none, the CRC of the
 * link, and is for the same machine and class.
 */
#ifndef EBPROF_DEBUG_FILE_H
#define EBPROF_DEBUG_FILE_H

#include <sys/types.h>

#include "elf/elf_file.h"

/* All zero: /usr/lib/debug in our own root. */
struct debug_places {
	const char *const *dirs;	/* to be looked in before /usr/lib/debug; from the user */
	size_t n_dirs;
	pid_t target;			/* after our own root, in this process's; 0: not */
	int root_owned;			/* only files that none but root may write */
	/* bytes of files that all searches with this may yet read for a CRC; NULL: any number */
	uint64_t *crc_left;
};

/*
 * Opens the debug file of @elf, in this order:
 *	DIR/.build-id/XX/REST.debug				for each DIR of @places
 *	@dir_of_file/LINK, @dir_of_file/.debug/LINK
 *	DIR/@dir_of_file/LINK					for each DIR
 * each in our own root, then all again in the target's. @dir_of_file is the
 * absolute path of the directory of @elf; NULL: the link is not looked at.
 * Returns the descriptor, with the file opened over it in *@out, both for the
 * caller to free and then to close; -ESTALE: only other files, or what is no
 * debug file, have those names; -ENOENT: nothing has; or, where nothing else was
 * found, why one could not be opened, such as -EACCES. Thread safe.
 */
int debug_file_open(const struct debug_places *places, const struct elf_file *elf,
		    const char *dir_of_file, struct elf_file **out);

/*
 * The same for the file that the .gnu_debugaltlink of @elf (dwz) leads to: by the
 * build id in it, then by the name in it, which may be relative to the file that
 * @fd is. It counts only with that build id. @fd may be -1: only absolute names.
 */
int debug_file_open_alt(const struct debug_places *places, const struct elf_file *elf, int fd,
			struct elf_file **out);

/*
 * The same for the package of split DWARF (.dwp) of @elf, which is at the absolute @path, or NULL,
 * and whose debug information is in the file @fd:
 *	@path.dwp, and the same beside @fd: NAME.dwp; of NAME.debug also as NAME.dwp without .debug
 *	DIR/@path.dwp, DIR/.build-id/XX/REST.dwp		for each DIR
 * Packages have no build id: what is in one is known by the ids of its units alone.
 */
int debug_file_open_package(const struct debug_places *places, const struct elf_file *elf,
			    const char *path, int fd, struct elf_file **out);

/* Whether @debug has the build id of @elf, its machine and class, and sections at all. */
int debug_file_matches(const struct elf_file *elf, const struct elf_file *debug);

#endif
