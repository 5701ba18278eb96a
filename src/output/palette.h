/* SPDX-License-Identifier: MIT */
/*
 * The colours of boxes by what a frame is: of the page (flamegraph/colors.js, which gets the table
 * with the profile) and of the svg alike. They are in OKLCH, whose lightness is what eyes see, so
 * that one colour of text is readable on all of them (4.5:1 and more, as WCAG 2.1 AA has it):
 * https://bottosson.github.io/posts/oklab/, https://www.w3.org/TR/css-color-4/#ok-lab.
 */
#ifndef EBPROF_PALETTE_H
#define EBPROF_PALETTE_H

#include <stdint.h>

#include "profile/frame_kind.h"

enum palette_group {
	PALETTE_PROCESS,
	PALETTE_THREAD,
	PALETTE_FAMILY,		/* the first of FAMILIES */
	PALETTE_GROUPS = PALETTE_FAMILY + FAMILIES
};

enum palette_theme { PALETTE_LIGHT, PALETTE_DARK, PALETTE_THEMES };

struct palette_row {
	int hue;	/* degrees */
	int chroma;	/* thousandths */
	int spread;	/* degrees: how far a name moves the hue at most, to either side */
	int apart;	/* thousandths: how much farther from the text its lightness is */
};
extern const struct palette_row palette_rows[PALETTE_GROUPS];
/* Thousandths: the lightness of boxes, and how far a name moves it, to either side. */
extern const int palette_lightness[PALETTE_THEMES];
#define PALETTE_LIGHTER 25

/* "process", "user", ... */
const char *palette_name(enum palette_group group);

/* 0xRRGGBB; @hue and @lightness, -1 to 1: where in the range that names have. */
uint32_t palette_rgb(enum palette_group group, enum palette_theme theme, double hue,
		     double lightness);

#endif
