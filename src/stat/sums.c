/* SPDX-License-Identifier: MIT */
#include "stat/sums.h"

void sums_add(struct sums *s, double value, double enabled, double running)
{
	s->enabled += enabled;
	if (running <= 0)
		return;
	s->value += value * (enabled / running);
	s->counted += enabled;
	s->running += running;
}

struct counted sums_end(const struct sums *s, double scale)
{
	if (s->counted <= 0)
		return (struct counted){ 0 };
	/* Those that never counted are taken to be like the others. */
	return (struct counted){ s->value * (s->enabled / s->counted) * scale,
				 s->running / s->enabled };
}
