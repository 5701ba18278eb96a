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

enum svg_group { SVG_THREAD, SVG_USER, SVG_INLINED, SVG_JIT, SVG_KERNEL, SVG_MARK, SVG_GROUPS };

struct svg_class {
	char letter;
	const char *legend;	/* what the group is called */
};
extern const struct svg_class svg_classes[SVG_GROUPS];

unsigned int svg_shade(const char *name, const char *module);
/* The <style> element. */
void svg_style_write(struct outfile *f);

#endif
