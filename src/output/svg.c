/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as a picture (SVG 1.1) for documents and tickets: no script, and all that is
 * told can be read without one; a pointer that rests on a box shows its numbers.
 *
 * Boxes too narrow to be seen are left out, and so are levels beyond a number that a page can
 * hold; the picture says what is missing. Siblings stand by name: equal profiles give equal
 * files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/label.h"
#include "base/text.h"
#include "base/vec.h"
#include "output/calltree.h"
#include "output/caption.h"
#include "output/formats.h"
#include "output/rollup.h"
#include "output/svg_frames.h"
#include "output/svg_style.h"

#define PARTS 1000		/* what is less than one of so many parts of all is not drawn */
#define LEVELS 80		/* that are drawn, besides the root */

/* In pixels, where nothing scales the picture. */
#define WIDTH 1200
#define MARGIN 16
#define GRAPH (WIDTH - 2 * MARGIN)
#define ROW 17
#define CHAR 6.65		/* of the boxes' font */
#define LINE 19			/* of the header */
#define HEADER 123		/* with all lines but the command's */
#define HEADER_COLUMNS 160

struct svg {
	const struct profile *p;
	struct profile_view v;
	struct outfile *f;
	struct calltree *tree;
	struct svg_frames frames;
	/* by level from 1: the samples to the left of the next box there */
	VEC(uint64_t) left;
	size_t level;			/* of the box that is walked through */
	/* What the first walk finds out. */
	size_t levels, hidden, deepest;
	int used[SVG_GROUPS];
	int bottom;			/* y of the graph's lower edge */
};

/* --- XML. ------------------------------------------------------------------ */
static void put(const struct svg *s, const char *text)
{
	outfile_write(s->f, text, strlen(text));
}

/* @text, at most @columns of it, as character data. */
static void put_escaped(const struct svg *s, const char *text, size_t columns)
{
	static const char special[] = "&<>\"'";
	static const char *const escapes[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
	char fitted[1024];

	text_fit(fitted, sizeof(fitted), text, columns);
	for (const char *c = fitted; *c;) {
		size_t n = strcspn(c, special);

		outfile_write(s->f, c, n);
		c += n;
		if (*c)
			put(s, escapes[strchr(special, *c++) - special]);
	}
}

/* --- Boxes. ---------------------------------------------------------------- */
/* "12 samples", "4096 bytes" */
static void put_value(const struct svg *s, uint64_t value)
{
	const struct profile_type *t = &s->v.types[s->v.shown];
	const char *unit = profile_text(s->p, t->unit);

	outfile_printf(s->f, "%" PRIu64 " ", value);
	if (!*unit || t->measured_in == PROFILE_COUNT)
		unit = profile_text(s->p, t->name);
	put_escaped(s, unit, 60);
}

static double percent(const struct svg *s, uint64_t value)
{
	return 100.0 * (double)value / (double)s->v.total;
}

/* Rounded as it is written, so that neighbours meet. */
static double x_of(const struct svg *s, uint64_t value)
{
	return MARGIN +
	       (double)(long)(100.0 * GRAPH * (double)value / (double)s->v.total + 0.5) / 100;
}

static void draw_box(const struct svg *s, const struct svg_frame *frame, uint64_t left,
		     const struct calltree_node *n)
{
	double x = x_of(s, left), width = x_of(s, left + n->total) - x,
	       columns = (width - 6) / CHAR;
	int y = s->bottom - (int)(s->level + 1) * ROW;
	char label[512];

	outfile_printf(s->f, "<g class=\"%c%u\"><title>", svg_classes[frame->group].letter,
		       svg_shade(frame->name, frame->module));
	put_escaped(s, frame->name, 400);
	if (*frame->module) {
		put(s, " (");
		put_escaped(s, frame->module, 100);
		put(s, frame->group == svg_group(FAMILY_INLINED) ? ", inlined)" : ")");
	}
	put(s, ": ");
	put_value(s, n->total);
	outfile_printf(s->f, ", %.2f %%", percent(s, n->total));
	if (n->self && n->self < n->total)
		outfile_printf(s->f, "; %.2f %% in itself", percent(s, n->self));
	outfile_printf(s->f,
		       "</title><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>",
		       x, y, width, ROW);
	if (columns >= 3) {
		/* A picture in the picture clips what a reader's font makes too wide. */
		outfile_printf(s->f,
			       "<svg x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"><text "
			       "x=\"4\" y=\"12\">",
			       x, y, width - 2, ROW);
		label_fit(label, sizeof(label), frame->name, (size_t)columns);
		put_escaped(s, label, sizeof(label));
		put(s, "</text></svg>");
	}
	put(s, "</g>\n");
}

static int is_wide(const struct svg *s, const struct calltree_node *n)
{
	return (double)n->total * PARTS >= (double)s->v.total;
}

static void measure_enter(void *ctx, const struct calltree_node *n)
{
	struct svg *s = ctx;

	s->level++;
	if (!is_wide(s, n)) {
		s->hidden++;
		return;
	}
	if (s->level > s->deepest)
		s->deepest = s->level;
	if (s->level <= LEVELS)
		s->used[s->frames.by_label[n->label]->group] = 1;
}

static void measure_leave(void *ctx, const struct calltree_node *n)
{
	struct svg *s = ctx;

	(void)n;
	s->level--;
}

static void draw_enter(void *ctx, const struct calltree_node *n)
{
	struct svg *s = ctx;

	/* What ends in the box below leaves room to the right. */
	vec_push(&s->left, s->left.v[s->level]);
	s->level++;
	if (is_wide(s, n) && s->level <= LEVELS)
		draw_box(s, s->frames.by_label[n->label], s->left.v[s->level], n);
}

static void draw_leave(void *ctx, const struct calltree_node *n)
{
	struct svg *s = ctx;

	s->left.n--;
	s->level--;
	s->left.v[s->level] += n->total;
}

/* --- What stands above them. ----------------------------------------------- */
static uint64_t sum(const struct profile_reason *r, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += r[i].count;
	return total;
}

/* ", 3 lost (2 ring buffer full, 1 ...)" */
static void put_reasons(const struct svg *s, const char *what, const struct profile_reason *r,
			size_t n)
{
	const char *separator = " (";

	outfile_printf(s->f, ", %" PRIu64 " %s", sum(r, n), what);
	for (size_t i = 0; i < n; i++) {
		if (!r[i].count)
			continue;
		outfile_printf(s->f, "%s%" PRIu64 " ", separator, r[i].count);
		put_escaped(s, r[i].name, 40);
		separator = ", ";
	}
	if (*separator == ',')
		put(s, ")");
}

static void begin_text(const struct svg *s, const char *class, int x, int y)
{
	outfile_printf(s->f, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
}

/* @text on its own. */
static void put_line(const struct svg *s, const char *class, int y, const char *text)
{
	begin_text(s, class, MARGIN, y);
	put_escaped(s, text, *class == 'h' ? HEADER_COLUMNS / 2 : HEADER_COLUMNS);
	put(s, "</text>\n");
}

/* "cpu-clock at 99 Hz, 10.0 s, 4 CPUs, host" */
static void put_measured(const struct svg *s, int y)
{
	const struct profile_meta *m = s->v.meta;
	const char *host = profile_text(s->p, m->host);

	begin_text(s, "d", MARGIN, y);
	put_escaped(s, *m->event ? m->event : profile_text(s->p, s->v.types[s->v.shown].name), 60);
	if (m->frequency)
		outfile_printf(s->f, " at %" PRIu64 " Hz", m->frequency);
	else if (m->period)
		outfile_printf(s->f, ", one sample every %" PRIu64, m->period);
	if (m->duration)
		outfile_printf(s->f, ", %.1f s", (double)m->duration / 1e9);
	if (m->cpus)
		outfile_printf(s->f, ", %" PRIu32 " CPU%s", m->cpus, m->cpus == 1 ? "" : "s");
	if (*host) {
		put(s, ", ");
		put_escaped(s, host, 80);
	}
	put(s, "</text>\n");
}

/* "117 samples: 109 complete, 5 truncated (5 depth), 3 lost (3 ring buffer full)" */
static void put_account(const struct svg *s, int y)
{
	const struct profile_account *a = s->v.account;
	uint64_t truncated = sum(a->truncated, a->ntruncated);
	uint64_t complete = a->kept > truncated ? a->kept - truncated : 0;

	begin_text(s, sum(a->lost, a->nlost) ? "d w" : "d", MARGIN, y);
	if (a->taken) {
		outfile_printf(s->f, "%" PRIu64 " samples: %" PRIu64 " complete", a->taken,
			       complete);
		put_reasons(s, "truncated", a->truncated, a->ntruncated);
		put_reasons(s, "lost", a->lost, a->nlost);
	} else {
		put_value(s, s->v.total);
	}
	put(s, "</text>\n");
}

/* What the colours mean, and what is not there. */
static void put_legend(const struct svg *s, int y)
{
	int x = MARGIN;

	for (size_t g = 0; g < SVG_GROUPS; g++) {
		if (!s->used[g])
			continue;
		outfile_printf(s->f,
			       "<rect class=\"l %c%d\" x=\"%d\" y=\"%d\" width=\"12\" "
			       "height=\"12\" rx=\"2\"/>",
			       svg_classes[g].letter, 3, x, y - 10);
		begin_text(s, "d", x + 17, y);
		outfile_printf(s->f, "%s</text>\n", svg_classes[g].legend);
		x += 44 + (int)strlen(svg_classes[g].legend) * 6;
	}
	if (!s->hidden && s->deepest <= LEVELS)
		return;
	begin_text(s, "d e", WIDTH - MARGIN, y);
	if (s->hidden)
		outfile_printf(s->f, "%zu box%s under %.1f %% not drawn", s->hidden,
			       s->hidden == 1 ? "" : "es", 100.0 / PARTS);
	if (s->deepest > LEVELS)
		outfile_printf(s->f, "%s%zu deeper levels not drawn", s->hidden ? ", " : "",
			       s->deepest - LEVELS);
	put(s, "</text>\n");
}

static void put_header(const struct svg *s)
{
	const struct profile_meta *m = s->v.meta;
	const char *title = profile_text(s->p, m->title);
	char target[128];
	int y = 34;

	caption_target(s->p, target, sizeof(target));
	if (!*title)
		title = *target ? target : "Flame graph";

	put(s, "<title>");
	put_escaped(s, title, HEADER_COLUMNS);
	put(s, "</title>\n");
	svg_style_write(s->f, s->used);
	outfile_printf(s->f, "<rect class=\"b\" width=\"100%%\" height=\"100%%\"/>\n");
	put_line(s, "h", y, title);
	y += 4;
	if (*profile_text(s->p, m->command))
		put_line(s, "c", y += LINE, profile_text(s->p, m->command));
	put_measured(s, y += LINE);
	put_account(s, y += LINE);
	put_legend(s, y + 26);
}

void svg_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct svg s = { .p = p, .v = profile_view(p), .f = f };
	struct calltree_node all;
	int height;

	(void)o;
	svg_frames_init(&s.frames, p);
	s.tree = calltree_new(p, &(struct calltree_labels){ .functions = s.frames.functions,
							    .inlined = s.frames.inlined,
							    .threads = s.frames.threads });
	calltree_walk(s.tree, &(struct calltree_walker){
				      .enter = measure_enter, .leave = measure_leave, .ctx = &s });
	s.levels = s.deepest < LEVELS ? s.deepest : LEVELS;
	s.bottom = HEADER + (*profile_text(p, s.v.meta->command) ? LINE : 0) +
		   (int)(s.levels + 1) * ROW;
	height = s.bottom + MARGIN;
	outfile_printf(f,
		       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		       "viewBox=\"0 0 %d %d\" "
		       "style=\"max-width:100%%;height:auto\" role=\"img\">\n",
		       WIDTH, height, WIDTH, height);
	put_header(&s);
	if (s.v.total) {
		all = (struct calltree_node){ .self = s.tree->nodes[0].self, .total = s.v.total };
		draw_box(&s, &(struct svg_frame){ "all", "", SVG_THREAD, 0 }, 0, &all);
		vec_push(&s.left, 0);
		calltree_walk(s.tree, &(struct calltree_walker){ .enter = draw_enter,
								 .leave = draw_leave,
								 .ctx = &s });
	} else {
		begin_text(&s, "d", MARGIN, s.bottom - 4);
		put(&s, "no samples</text>\n");
	}
	put(&s, "</svg>\n");
	vec_free(&s.left);
	calltree_free(s.tree);
	svg_frames_free(&s.frames);
}
