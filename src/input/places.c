/* SPDX-License-Identifier: MIT */
#include "input/places.h"

#include <string.h>

#define MARK "[truncated: "

static const char unknown[] = "[unknown]";

/* "[libfoo.so]", and "[kernel]" whose module is called so. */
static int is_module(const char *name, const char *module)
{
	size_t n = strlen(module);

	return n && (!strcmp(name, module) ||
		     (!strncmp(name + 1, module, n) && !strcmp(name + 1 + n, "]")));
}

/* "[unknown]", "[libfoo.so]" and "[libfoo.so+0x1234]" only stand for a name. */
static const char *why(const struct profile *p, const struct line *line)
{
	const struct function *f = &profile_view(p).functions[line->function];
	const char *name = profile_text(p, f->name), *plus = strrchr(name, '+');

	if (*name != '[' || !frame_is_code(f->kind))
		return "";
	return !strcmp(name, unknown) || (plus && !strncmp(plus, "+0x", 3)) ||
			       is_module(name, profile_text(p, f->module))
		       ? "no name in the file"
		       : "";
}

uint32_t places_add(struct places *p, uint32_t module, enum frame_kind kind, uint64_t address,
		    const struct line *lines, size_t n)
{
	struct profile *profile = p->room.profile;
	size_t known = profile_view(profile).nlocations;
	uint32_t location = 0;

	if (address)
		location = profile_location(profile, module, kind, address);
	/*
	 * None, or one that has been named before; a made-up address may be one of the file's, too.
	 */
	while (profile_view(profile).nlocations == known)
		location = profile_location(profile, module, kind, ++p->made_up);
	room_take(&p->room, 1 + n);
	profile_name_location(profile, location, lines, n, why(profile, &lines[n - 1]));
	return location;
}

struct line places_line(struct places *p, struct slice name, const char *module,
			enum frame_kind kind)
{
	struct profile *profile = p->room.profile;
	uint32_t string = name.n ? slice_string(profile, name) : profile_string(profile, unknown);

	return (struct line){ .function = profile_function(profile, string,
							   profile_string(profile, module), kind) };
}

int places_is_mark(struct slice frame)
{
	return slice_begins(frame, MARK) && slice_ends(frame, "]");
}

void places_count_mark(struct profile *p, struct slice frame, uint64_t count)
{
	const size_t prefix = strlen(MARK);
	struct profile_account *a = profile_account(p);
	const char *name;
	size_t i = 0;

	if (!places_is_mark(frame))
		return;
	name = profile_text(
		p, slice_string(p, (struct slice){ frame.s + prefix, frame.n - prefix - 1 }));
	while (i < a->ntruncated && a->truncated[i].name != name)
		i++;
	/* The last one stands for all that have no room. */
	if (i == PROFILE_REASONS_MAX)
		i--;
	else if (i == a->ntruncated)
		a->truncated[a->ntruncated++] = (struct profile_reason){ .name = name };
	a->truncated[i].count += count;
}

void places_free(struct places *p)
{
	slice_memo_free(&p->memo);
}
