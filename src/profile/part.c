/* SPDX-License-Identifier: MIT */
#include "profile/part.h"

#include "profile/copy.h"

uint32_t part_type(const struct profile *p, const struct part_choice *c)
{
	struct profile_view v = profile_view(p);

	return c->type && c->type <= v.ntypes ? c->type - 1 : v.shown;
}

/* A bit for each kind of frame that runs on @side. */
static unsigned int kinds_of(enum frame_side side)
{
	unsigned int bits = 0;

	for (int i = 0; i < FRAME_KINDS; i++)
		bits |= frame_kinds[i].side == side ? 1u << i : 0;
	return bits;
}

/* By @c, which is freed. */
static void add(struct profile *part, struct copy *c, const struct profile *p,
		const uint64_t *values, const struct part_choice *choice)
{
	const unsigned int left_out = (choice->no_kernel ? kinds_of(FRAME_IN_KERNEL) : 0) |
				      (choice->no_user ? kinds_of(FRAME_PROGRAM) : 0);
	struct profile_view v = profile_view(p);

	copy_leave_out(c, left_out);
	if (!values)
		values = profile_values(p, part_type(p, choice));
	for (uint32_t i = 0; i < v.nsamples; i++)
		if (values[i] && (!left_out || copy_node(c, v.samples[i].node)))
			profile_count(part, copy_sample(c, i), 0, values[i]);
	copy_free(c);
}

struct profile *part_new(const struct profile *p, const uint64_t *values,
			 const struct part_choice *choice)
{
	struct profile *part = profile_new();
	struct copy *c = copy_new(part, p, COPY_PLACES);

	copy_type(c, part_type(p, choice), 0);
	*profile_meta(part) = copy_meta(c);
	add(part, c, p, values, choice);
	return part;
}

void part_add(struct profile *part, const struct profile *p, const uint64_t *values,
	      const struct part_choice *choice)
{
	add(part, copy_new(part, p, COPY_PLACES), p, values, choice);
}
