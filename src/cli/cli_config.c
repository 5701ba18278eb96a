/* SPDX-License-Identifier: MIT */
#include "cli/cli_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/io.h"
#include "base/near.h"
#include "base/xalloc.h"

#define WHERE_SIZE 256		/* of a file's name with a line and an option */

int cli_config(const char *option, const char *text, void *field, struct error *e)
{
	return cli_string(option, text, &((struct cli_config *)field)->path, e);
}

/* The line without the blanks around it. */
static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t\r");
	end = s + strlen(s);
	while (end > s && strchr(" \t\r", end[-1]))
		end--;
	*end = '\0';
	return s;
}

/* Not those that are answered, or that name a file like this one. */
static int may_stand(const struct cli_command *c, const struct cli_option *r)
{
	return cli_has(c, r) && r->name && r->store != cli_answer && r->store != cli_config;
}

/* 1 where @w has reached the option @name. */
static int find(const struct cli_command *c, const char *name, struct cli_walk *w)
{
	*w = (struct cli_walk)CLI_WALK(c);
	while (cli_next(w))
		if (may_stand(c, w->row) && !strcmp(w->row->name, name))
			return 1;
	return 0;
}

static int unknown(const struct cli_command *c, const char *where, const char *name,
		   struct error *e)
{
	struct near n = NEAR(name);

	for (struct cli_walk w = CLI_WALK(c); cli_next(&w);)
		if (w.row->help && may_stand(c, w.row))
			near_consider(&n, w.row->name);
	if (*n.best)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "%s: unknown option '%.64s'; did you mean '%s'?", where, name,
				 n.best);
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "%s: unknown option '%.64s'; see ebprof %s --help", where, name, c->name);
}

static int take_line(const struct cli_command *c, void *options, const char *where, char *line,
		     const struct cli_given *before, struct cli_given *given, struct error *e)
{
	char *value = strchr(line, '='), option[WHERE_SIZE];
	struct cli_walk w;
	int err;

	if (value)
		*value++ = '\0';
	line = trim(line);
	if (!find(c, line, &w))
		return unknown(c, where, line, e);
	if (!w.row->arg != !value)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 value ? "%s: %s has no value; write its name alone"
				       : "%s: %s needs a value: NAME = VALUE",
				 where, line);
	if (cli_given_has(before, w.row->name))
		return 0;
	snprintf(option, sizeof(option), "%s: %s", where, w.row->name);
	err = w.row->store(option, value ? trim(value) : NULL, (char *)options + w.offset, e);
	if (!err)
		cli_given_add(given, w.row->name);
	return err;
}

/* The whole file, terminated. NULL with @e filled. */
static char *read_text(const char *path, struct error *e)
{
	char *text = xmalloc(CLI_CONFIG_MOST + 1);
	int fd = file_open_regular(path);
	ssize_t n = fd < 0 ? 0 : io_read_full(fd, text, CLI_CONFIG_MOST);
	const char *why = NULL;

	if (fd < 0)
		why = fd == -ENOENT ? "no such file" : strerror(-fd);
	else if (n < 0)
		why = strerror((int)-n);
	else if (n == CLI_CONFIG_MOST)
		why = "too long: 64 KiB at most";
	else if (memchr(text, '\0', (size_t)n))
		why = "not a text";
	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	if (!why)
		return text;
	error_set(e, STATUS_USAGE, -EINVAL, "--config '%.200s': %s", path, why);
	free(text);
	return NULL;
}

int cli_config_parse(const struct cli_command *c, void *options, const char *name, char *text,
		     struct cli_given *given, struct error *e)
{
	const struct cli_given before = *given;
	char where[WHERE_SIZE / 2];
	int err = 0;

	for (size_t i = 1; text && !err; i++) {
		char *line = trim(strsep(&text, "\n"));

		snprintf(where, sizeof(where), "%.100s:%zu", name, i);
		if (*line && *line != '#')
			err = take_line(c, options, where, line, &before, given, e);
	}
	return err;
}

int cli_config_read(const struct cli_command *c, void *options, struct cli_config *config,
		    struct cli_given *given, struct error *e)
{
	if (!config->path && config->fallback && !cli_given_has(given, config->unless) &&
	    !access(config->fallback, F_OK))
		config->path = config->fallback;
	if (!config->path)
		return 0;
	config->text = read_text(config->path, e);
	if (!config->text)
		return -EINVAL;
	return cli_config_parse(c, options, config->path, config->text, given, e);
}

void cli_config_free(struct cli_config *config)
{
	free(config->text);
	config->text = NULL;
}
