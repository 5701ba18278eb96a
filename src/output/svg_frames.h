/* SPDX-License-Identifier: MIT */
/*
 * What the boxes of the static flame graph are called and which group of colours they
 * are of: labels for a call tree (output/calltree.h), in the order of names. Texts are the
 * profile's and live as long as it.
 */
#ifndef EBPROF_SVG_FRAMES_H
#define EBPROF_SVG_FRAMES_H

#include <stdint.h>

#include "output/svg_style.h"
#include "profile/profile.h"

/* A frame as it is shown; equal ones have one label. */
struct svg_frame {
	const char *name, *module;
	enum svg_group group;
	uint32_t label;
};

struct svg_frames {
	struct svg_frame **by_label;
	/* labels, as struct calltree_labels wants them */
	uint32_t *functions, *inlined, *threads;
	/* Its own. */
	struct strtab *texts;
	struct svg_frame *all, **sorted;
};

void svg_frames_init(struct svg_frames *fr, const struct profile *p);
void svg_frames_free(struct svg_frames *fr);

#endif
