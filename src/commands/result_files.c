/* SPDX-License-Identifier: MIT */
#include "commands/result_files.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands/commands.h"
#include "commands/wrote.h"

#define TABLE_ROWS_LEAST 10
/* of a terminal: headers, the process table, the summary, the prompt */
#define TABLE_OTHER_LINES 16

int result_files_check(const char *name, struct error *e)
{
	char known[256] = "";

	if (!name || output_by_name(name))
		return 0;
	for (const struct output_format *f = output_formats; f->name; f++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", f->name);
	return error_set(e, STATUS_USAGE, -EINVAL, "unknown format '%s'; known: %s", name, known);
}

/* A name that ends in no suffix at all (out, /dev/null) is taken for the plain default. */
static const struct output_format *format_for(const char *path, const char *format)
{
	const char *slash = strrchr(path, '/');

	if (format)
		return output_by_name(format);
	if (!strcmp(path, "-"))
		return output_by_name(isatty(STDOUT_FILENO) ? "table" : "folded");
	if (!strchr(slash ? slash : path, '.'))
		return output_by_name("folded");
	return output_by_path(path);
}

static int open_file(struct result_files *r, const char *path, const char *format,
		     const struct user *u, struct error *e)
{
	struct result_file x = { .format = format_for(path, format), .path = path };

	if (!x.format)
		return error_set(e, STATUS_USAGE, -EINVAL, "-o '%s': its name tells no format; "
				 "name it like out.folded, or add -f folded", path);
	if (!output_fits(x.format, path))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-o '%s' and -f %s: the name is that of another format, %s; "
				 "leave out -f, or name the file like out%s",
				 path, x.format->name, output_by_path(path)->name,
				 x.format->suffix);
	x.file = r->force ? outfile_open_force(path, u, e) : outfile_open(path, u, e);
	if (!x.file)
		return -EIO;	/* @e says what it was */
	if (x.format->gzip && outfile_is_stdout(x.file) && isatty(STDOUT_FILENO)) {
		outfile_abandon(x.file);
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "%s is no text for a terminal; name a file with -o, or use a pipe",
				 x.format->name);
	}
	vec_push(&r->files, x);
	return 0;
}

int result_files_open(struct result_files *r, const string_vec *paths, const char *format,
		      const struct user *u, struct error *e)
{
	int err = 0;

	if (!paths->n)
		return open_file(r, "-", format, u, e);
	for (size_t i = 0; i < paths->n && !err; i++)
		err = open_file(r, paths->v[i], format, u, e);
	return err;
}

void result_files_terminal(const struct outfile *f, struct output_options *o)
{
	struct winsize w;

	if (!outfile_is_stdout(f) || !isatty(STDOUT_FILENO))
		return;
	o->color = command_wants_color();
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
		return;
	o->columns = w.ws_col;
	if (o->rows)
		return;
	o->rows = w.ws_row > TABLE_ROWS_LEAST + TABLE_OTHER_LINES ? w.ws_row - TABLE_OTHER_LINES
								  : TABLE_ROWS_LEAST;
}

int result_files_write(struct result_files *r, const struct profile *p,
		       const struct output_options *o, struct error *e)
{
	int first = 0;

	for (size_t i = 0; i < r->files.n; i++) {
		struct result_file *x = &r->files.v[i];
		struct output_options own = *o;
		int err, named = outfile_is_named(x->file);

		result_files_terminal(x->file, &own);
		output_write(x->format, p, &own, x->file, x->path);
		err = outfile_commit(x->file, first ? NULL : e);
		x->file = NULL;
		x->written = named && !err;
		if (err && err != -EPIPE && !first)
			first = err;
	}
	return first;
}

void result_files_tell(const struct result_files *r)
{
	for (size_t i = 0; i < r->files.n; i++)
		if (r->files.v[i].written)
			wrote_tell(r->files.v[i].path, r->files.v[i].format);
}

int result_files_save(struct result_files *r, const struct profile *p, const string_vec *paths,
		      const char *format, const struct output_options *o, struct error *e)
{
	const struct user user = user_invoking();
	int err = result_files_open(r, paths, format, &user, e);

	if (!err)
		err = result_files_write(r, p, o, e);
	if (!r->quiet)
		result_files_tell(r);
	result_files_free(r);
	return err;
}

int result_files_show(const struct result_files *r)
{
	for (size_t i = 0; i < r->files.n; i++)
		if (!strcmp(r->files.v[i].path, "-") &&
		    !strcmp(r->files.v[i].format->name, "table"))
			return 1;
	return 0;
}

void result_files_free(struct result_files *r)
{
	for (size_t i = 0; i < r->files.n; i++)
		outfile_abandon(r->files.v[i].file);
	vec_free(&r->files);
}

void result_files_help(FILE *to)
{
	fputs("\nFormats:\n", to);
	for (const struct output_format *f = output_formats; f->name; f++)
		fprintf(to, "  %-11s %-16s %s\n", f->name, f->suffix, f->help);
}
