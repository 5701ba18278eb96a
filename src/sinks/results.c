/* SPDX-License-Identifier: MIT */
#include "sinks/results.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define LIST_MAX 256		/* bytes of the formats in a message */
#define PATH_SHOWN 4096		/* bytes of a path as a shell reads it, clean */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@%+=:,-"
#define PLACE "FILE"		/* in an advice stands for the path */

/* --- Opening. ------------------------------------------------------------------ */

int results_check(const struct output_set *set, const char *name, struct error *e)
{
	char known[LIST_MAX] = "";

	if (!name || output_find(set, name))
		return 0;
	for (const struct output_format *f = set->formats; f->name; f++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", f->name);
	return error_set(e, STATUS_USAGE, -EINVAL, "unknown format '%s'; %s is written as %s", name,
			 set->thing, known);
}

/* A name that ends in no suffix at all (out, /dev/null) gets the plain format. */
static const struct output_format *format_for(const struct output_set *set, const char *path,
					      const char *format)
{
	const char *slash = strrchr(path, '/');

	if (format)
		return output_find(set, format);
	if (!strcmp(path, "-"))
		return output_find(set, isatty(STDOUT_FILENO) ? set->terminal : set->plain);
	if (!strchr(slash ? slash : path, '.'))
		return output_find(set, set->plain);
	return output_find_by_path(set, path);
}

static int refuse_name(const struct output_set *set, const char *path, struct error *e)
{
	char known[LIST_MAX] = "";

	for (const struct output_format *f = set->formats; f->name; f++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", f->suffix);
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "-o '%s': the name does not say which format; end it in one of %s, "
			 "or add -f",
			 path, known);
}

static int open_result(struct results *r, const struct result_options *o, const char *path,
		       const struct user *u, struct error *e)
{
	const struct sink_target target = { path, u, o->force };
	struct result x = { .path = path, .format = format_for(r->set, path, o->format) };

	if (!x.format)
		return refuse_name(r->set, path, e);
	if (!output_fits(r->set, x.format, path))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-o '%s' and -f %s: the name is that of another format, %s; "
				 "leave out -f, or name the file like out%s",
				 path, x.format->name, output_find_by_path(r->set, path)->name,
				 x.format->suffix);
	x.sink = sink_open(&target, e);
	if (!x.sink)
		return -EIO;	/* @e says what it was */
	if (x.format->gzip && sink_is_terminal(x.sink)) {
		sink_abandon(x.sink);
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "%s is not text that a terminal can show; name a file with -o, or "
				 "use a pipe",
				 x.format->name);
	}
	vec_push(&r->v, x);
	return 0;
}

int results_open(struct results *r, const struct output_set *set, const struct result_options *o,
		 const struct user *u, struct error *e)
{
	int err = results_check(set, o->format, e);

	r->set = set;
	if (!err && !o->files.n)
		return open_result(r, o, "-", u, e);
	for (size_t i = 0; i < o->files.n && !err; i++)
		err = open_result(r, o, o->files.v[i], u, e);
	return err;
}

/* --- Writing. ------------------------------------------------------------------ */

int results_write(struct results *r, const struct profile *p, const struct output_options *o,
		  struct error *e)
{
	int first = 0;

	for (size_t i = 0; i < r->v.n; i++) {
		struct result *x = &r->v.v[i];
		struct output_options own = *o;
		int err, named = sink_is_named(x->sink);

		sink_fit(x->sink, &own);
		output_write(x->format, p, &own, sink_file(x->sink), x->path);
		err = sink_commit(x->sink, first ? NULL : e);
		x->sink = NULL;
		x->written = named && !err;
		if (err && err != -EPIPE && !first)
			first = err;
	}
	return first;
}

int results_save(const struct profile *p, const struct result_options *where, int quiet,
		 const struct output_options *o, struct error *e)
{
	const struct user user = user_invoking();
	struct results r = { 0 };
	int err = results_open(&r, &output_profiles, where, &user, e);

	if (!err)
		err = results_write(&r, p, o, e);
	if (!quiet)
		results_name(&r);
	results_free(&r);
	return err;
}

int results_show(const struct results *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		if (!strcmp(r->v.v[i].path, "-") &&
		    !strcmp(r->v.v[i].format->name, r->set->terminal))
			return 1;
	return 0;
}

void results_free(struct results *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		sink_abandon(r->v.v[i].sink);
	vec_free(&r->v);
}

/* --- What is said of it. --------------------------------------------------------- */

/* @path as it can be typed: in quotes where a shell needs them. */
static void quote(const char *path, char out[PATH_SHOWN])
{
	char raw[PATH_SHOWN];
	size_t n = 0;

	if (*path && !path[strspn(path, PLAIN)]) {
		snprintf(out, PATH_SHOWN, "%s", path);
		return;
	}
	raw[n++] = '\'';
	for (; *path && n < sizeof(raw) - 6; path++) {
		if (*path == '\'')
			n += (size_t)sprintf(raw + n, "'\\''");
		else
			raw[n++] = *path;
	}
	raw[n++] = '\'';
	raw[n] = '\0';
	text_clean(out, PATH_SHOWN, raw);
}

static void show_advice(const char *advice, const char *path)
{
	const char *place;

	for (; (place = strstr(advice, PLACE)); advice = place + strlen(PLACE))
		fprintf(stderr, "%.*s%s", (int)(place - advice), advice, path);
	fputs(advice, stderr);
}

static void name_file(const char *path, const struct output_format *format)
{
	char shown[PATH_SHOWN];

	quote(path, shown);
	fprintf(stderr, "ebprof: wrote %s", shown);
	if (format->open) {
		fputs("; ", stderr);
		if (!format->opens_packed && output_is_packed(path))
			fputs("unpacked by gunzip, ", stderr);
		show_advice(format->open, shown);
	}
	fputc('\n', stderr);
}

void results_name(const struct results *r)
{
	for (size_t i = 0; i < r->v.n; i++)
		if (r->v.v[i].written)
			name_file(r->v.v[i].path, r->v.v[i].format);
}

void results_help(const struct output_set *set, FILE *to)
{
	fputs("\nFormats:\n", to);
	for (const struct output_format *f = set->formats; f->name; f++)
		fprintf(to, "  %-11s %-16s %s\n", f->name, f->suffix, f->help);
}
