/* SPDX-License-Identifier: MIT */
#include "output/palette.h"

#include <math.h>

/*
 * No two kinds meet: hues that all eyes see apart, orange, yellow, blue; user and inlined code
 * differ in lightness, too.
 */
const struct palette_row palette_rows[PALETTE_GROUPS] = {
	[PALETTE_PROCESS] = { 75, 12, 0, 60 },
	[PALETTE_THREAD] = { 75, 22, 0, 30 },
	[PALETTE_FAMILY + FAMILY_USER] = { 46, 125, 11, -15 },
	[PALETTE_FAMILY + FAMILY_INLINED] = { 100, 95, 4, 95 },
	[PALETTE_FAMILY + FAMILY_JIT] = { 165, 100, 12, 0 },
	[PALETTE_FAMILY + FAMILY_KERNEL] = { 255, 85, 16, -10 },
	[PALETTE_FAMILY + FAMILY_MARK] = { 330, 20, 0, 0 },
	[PALETTE_FAMILY + FAMILY_SCRIPT] = { 300, 100, 12, 0 },
};

const int palette_lightness[PALETTE_THEMES] = { [PALETTE_LIGHT] = 820, [PALETTE_DARK] = 485 };

const char *palette_name(enum palette_group group)
{
	static const char *const others[PALETTE_FAMILY] = { [PALETTE_PROCESS] = "process",
							    [PALETTE_THREAD] = "thread" };

	return group < PALETTE_FAMILY ? others[group] : frame_families[group - PALETTE_FAMILY];
}

/* A channel of linear light as one of sRGB; what is out of gamut is clipped. */
static uint32_t channel(double v)
{
	v = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
	return (uint32_t)lround(255 * fmin(1, fmax(0, v)));
}

static uint32_t oklch(double l, double c, double h)
{
	const double a = c * cos(h * M_PI / 180), b = c * sin(h * M_PI / 180);
	const double x = pow(l + 0.3963377774 * a + 0.2158037573 * b, 3);
	const double y = pow(l - 0.1055613458 * a - 0.0638541728 * b, 3);
	const double z = pow(l - 0.0894841775 * a - 1.2914855480 * b, 3);

	return channel(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z) << 16 |
	       channel(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z) << 8 |
	       channel(-0.0041960863 * x - 0.7034186147 * y + 1.7076147010 * z);
}

uint32_t palette_rgb(enum palette_group group, enum palette_theme theme, double hue,
		     double lightness)
{
	const struct palette_row *r = &palette_rows[group];
	const int apart = theme == PALETTE_DARK ? -r->apart : r->apart;

	return oklch((palette_lightness[theme] + apart + lightness * PALETTE_LIGHTER) / 1000,
		     r->chroma / 1000.0, r->hue + hue * r->spread);
}
