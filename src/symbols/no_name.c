/* SPDX-License-Identifier: MIT */
#include "symbols/no_name.h"

#include <errno.h>
#include <stddef.h>

const char *no_name_reason(int err, int has_file)
{
	static const struct {
		int err;
		const char *of_file, *of_symbol;
	} reasons[] = {
		{ -ENODATA, "stripped", "stripped" },
		{ -ENOENT, "no such file", "no symbol there" },
		{ -ESTALE, "file replaced", "file replaced" },
		{ -ENOEXEC, "not an ELF file", "not an ELF file" },
		{ -EBADMSG, "damaged file", "damaged file" },
		{ -EACCES, "no permission", "no permission" },
		{ -EMFILE, "too many open files", "too many open files" },
		{ -EPERM, "no permission", "hidden" },
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].err == err)
			return has_file ? reasons[i].of_symbol : reasons[i].of_file;
	return "unreadable file";
}
