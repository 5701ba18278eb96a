/* SPDX-License-Identifier: MIT */
#include "profile/mark.h"

uint32_t profile_mark(struct profile *p, uint32_t parent, const char *text)
{
	uint32_t string = profile_string(p, text);
	uint32_t location = profile_location(p, 0, FRAME_MARK, string);

	if (!profile_view(p).locations[location].nlines) {
		const struct line line = { .function = profile_function(p, string, 0,
									FRAME_MARK) };

		profile_name_location(p, location, &line, 1, "");
	}
	return profile_node(p, parent, location);
}
