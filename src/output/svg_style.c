/* SPDX-License-Identifier: MIT */
#include "output/svg_style.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "output/palette.h"

#define SHADES 8

const struct svg_class svg_classes[SVG_GROUPS] = {
	[SVG_THREAD] = { 't', "thread" },
	[SVG_FAMILY + FAMILY_USER] = { 'u', "user code" },
	[SVG_FAMILY + FAMILY_INLINED] = { 'i', "inlined" },
	[SVG_FAMILY + FAMILY_JIT] = { 'j', "made at run time" },
	[SVG_FAMILY + FAMILY_KERNEL] = { 'k', "kernel" },
	[SVG_FAMILY + FAMILY_MARK] = { 'm', "not known" },
	[SVG_FAMILY + FAMILY_SCRIPT] = { 's', "interpreted" },
};

static const char base[] =
	".b{fill:#fff}rect{stroke:#fff;stroke-width:.6}.b,.l{stroke:none}\n"
	"text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans "
	"Mono\",\"Liberation Mono\",monospace;"
	"fill:#1c1e21}\n"
	".h{font:600 18px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif}\n"
	".d{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu "
	"Sans\",sans-serif;fill:#57606a}\n"
	".c{font-size:12px;fill:#57606a}.w{fill:#b42318}.e{text-anchor:end}\n"
	"g:hover>rect{stroke:#1c1e21;stroke-width:1.2}\n";
static const char base_dark[] = ".b{fill:#16181d}rect{stroke:#16181d}text{fill:#f0f2f5}.d,.c{fill:#"
				"a3acb8}.w{fill:#ff9b8f}\n"
				"g:hover>rect{stroke:#f0f2f5}\n";

/* FNV-1a: equal in every run and on every machine, which hash_bytes() is not. */
unsigned int svg_shade(const char *name, const char *module)
{
	uint32_t hash = 2166136261u;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	for (const char *c = module; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619u;
	/* The last byte has not reached all bits yet. */
	hash = (hash ^ hash >> 16) * 0x85ebca6bu;
	return (hash ^ hash >> 13) % SHADES;
}

/* Where of the range of names a shade is, from -1 to 1. */
static double spread(int shade)
{
	return 2.0 * shade / (SHADES - 1) - 1;
}

static void write_tints(struct outfile *f, const int *used, enum palette_theme theme)
{
	for (size_t g = 0; g < SVG_GROUPS; g++) {
		const enum palette_group group = (enum palette_group)(PALETTE_THREAD + g);

		if (g == SVG_FAMILY + FAMILY_SCRIPT && !used[g])
			continue;
		for (int s = 0; s < SHADES; s++)
			outfile_printf(f, ".%c%d{fill:#%06" PRIx32 "}", svg_classes[g].letter, s,
				       palette_rgb(group, theme, spread(s),
						   spread(s * 3 % SHADES)));
		outfile_write(f, "\n", 1);
	}
}

void svg_style_write(struct outfile *f, const int used[SVG_GROUPS])
{
	outfile_printf(f, "<style>\n%s", base);
	write_tints(f, used, PALETTE_LIGHT);
	outfile_printf(f, "@media (prefers-color-scheme:dark){\n%s", base_dark);
	write_tints(f, used, PALETTE_DARK);
	outfile_printf(f, "}\n</style>\n");
}
