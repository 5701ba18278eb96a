/* SPDX-License-Identifier: MIT */
#include "sinks/sink.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/xalloc.h"

#define TABLE_ROWS_LEAST 10
/* of a terminal: headers, the process table, the summary, the prompt */
#define TABLE_OTHER_LINES 16

struct sink {
	const struct sink_ops *ops;
	struct outfile *file;
};

static int takes_any(const char *path)
{
	(void)path;
	return 1;
}

static struct outfile *open_outfile(const struct sink_target *t, struct error *e)
{
	return t->force ? outfile_open_force(t->path, t->user, e)
			: outfile_open(t->path, t->user, e);
}

const struct sink_ops sink_kinds[] = {
	{ "standard output", outfile_path_is_stdout, open_outfile, outfile_commit, outfile_abandon,
	  1 },
	{ "file", takes_any, open_outfile, outfile_commit, outfile_abandon, 0 },
	{ 0 },
};

struct sink *sink_open(const struct sink_target *t, struct error *e)
{
	const struct sink_ops *ops = sink_kinds;
	struct outfile *file;
	struct sink *s;

	while (!ops->takes(t->path))
		ops++;
	file = ops->open(t, e);
	if (!file)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	*s = (struct sink){ ops, file };
	return s;
}

struct sink *sink_open_stdout(struct error *e)
{
	const struct user as_we_are = { 0 };

	return sink_open(&(struct sink_target){ .path = "-", .user = &as_we_are }, e);
}

struct outfile *sink_file(const struct sink *s)
{
	return s->file;
}

int sink_is_named(const struct sink *s)
{
	return outfile_is_named(s->file);
}

int sink_is_terminal(const struct sink *s)
{
	return s->ops->screen && isatty(STDOUT_FILENO);
}

void sink_fit(const struct sink *s, struct output_options *o)
{
	struct winsize w;

	if (!sink_is_terminal(s))
		return;
	o->color = sink_wants_color();
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w))
		return;
	o->columns = w.ws_col;
	if (o->rows)
		return;
	o->rows = w.ws_row > TABLE_ROWS_LEAST + TABLE_OTHER_LINES ? w.ws_row - TABLE_OTHER_LINES
								  : TABLE_ROWS_LEAST;
}

int sink_commit(struct sink *s, struct error *e)
{
	int err = s->ops->commit(s->file, e);

	free(s);
	return err;
}

void sink_abandon(struct sink *s)
{
	if (!s)
		return;
	s->ops->abandon(s->file);
	free(s);
}

int sink_wants_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}
