/* SPDX-License-Identifier: MIT */
/*
 * How the boxes of the static flame graph look: which colour a frame has, and the
 * style sheet of the picture, for light and for dark readers.
 *
 * A box's class is a group's letter and a shade. The group tells the kind of code; the
 * shade comes from the names of function and module, so it is the same in each picture.
 */
#ifndef EBPROF_SVG_STYLE_H
#define EBPROF_SVG_STYLE_H

#include "base/outfile.h"
#include "profile/frame_kind.h"

/* Those of the palette (palette.h) from threads on. */
enum svg_group { SVG_THREAD, SVG_FAMILY, SVG_GROUPS = SVG_FAMILY + FAMILIES };

static inline enum svg_group svg_group(enum frame_family family)
{
	return (enum svg_group)(SVG_FAMILY + family);
}

struct svg_class {
	char letter;
	const char *legend;	/* what the group is called */
};
extern const struct svg_class svg_classes[SVG_GROUPS];

unsigned int svg_shade(const char *name, const char *module);
/* The <style> element; code of interpreters has its colours in it only where it is @used. */
void svg_style_write(struct outfile *f, const int used[SVG_GROUPS]);

#endif
