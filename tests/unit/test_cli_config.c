/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/cli_config.h"

struct options {
	string_vec to;
	uint64_t every;
	const char *title;
	int all;
	struct cli_config config;
};

static const struct cli_option rows[] = {
	{ 0, 0, "to", "PLACE", cli_strings, offsetof(struct options, to), "where", 0 },
	{ 0, 0, "every", "TIME", cli_duration, offsetof(struct options, every), "how often", 0 },
	{ 0, 0, "title", "TEXT", cli_string, offsetof(struct options, title), "a title", 2 },
	{ 'a', 0, "all", NULL, cli_flag, offsetof(struct options, all), "all", 0 },
	{ 0, 0, "config", "FILE", cli_config, offsetof(struct options, config), "a file", 0 },
	CLI_END
};
static const struct cli_command command = { .name = "push", .rows = rows, .bit = 1 };

/* The options of @text, where @given were on the command line. The error's text, "" for none. */
static const char *parse(const char *text, const char *given, struct options *o)
{
	static char copy[1024];
	static struct error e;
	struct cli_given g = { 0 };

	*o = (struct options){ 0 };
	e = (struct error){ 0 };
	if (given)
		cli_given_add(&g, given);
	snprintf(copy, sizeof(copy), "%s", text);
	cli_config_parse(&command, o, "f", copy, &g, &e);
	return e.text;
}

TEST(takes_lines)
{
	struct options o;

	CHECK_STR(parse("# a comment\n\n to = dir:/a b \nto=x\r\nevery\t=\t2s\nall", NULL, &o), "");
	CHECK_EQ(o.to.n, 2);
	CHECK_STR(o.to.v[0], "dir:/a b");
	CHECK_STR(o.to.v[1], "x");
	CHECK(o.every == 2000000000u && o.all);
	vec_free(&o.to);
	CHECK_STR(parse("", NULL, &o), "");
}

TEST(names_the_line)
{
	struct options o;

	CHECK_STR(parse("\nevry = 2s", NULL, &o),
		  "f:2: unknown option 'evry'; did you mean 'every'?");
	CHECK_STR(parse("every = x", NULL, &o),
		  "f:1: every 'x': expected a time above 0 like 10, 500ms or 2m");
	CHECK_STR(parse("every", NULL, &o), "f:1: every needs a value: NAME = VALUE");
	CHECK_STR(parse("all = 1", NULL, &o), "f:1: all has no value; write its name alone");
	CHECK_STR(parse("to =", NULL, &o), "f:1: to '': must not be empty");
	/* What another command has, what is answered, and a file in a file. */
	CHECK(strstr(parse("title = x", NULL, &o), "unknown option"));
	CHECK(strstr(parse("help", NULL, &o), "unknown option"));
	CHECK(strstr(parse("config = x", NULL, &o), "unknown option"));
	CHECK(strstr(parse("= x", NULL, &o), "unknown option"));
	vec_free(&o.to);
}

TEST(the_command_line_counts)
{
	struct options o;

	CHECK_STR(parse("every = 2s\nto = x\nto = y", "to", &o), "");
	CHECK(!o.to.n && o.every == 2000000000u);
	vec_free(&o.to);
}

static void write_file(const char *path, const char *text, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, text, n) == (ssize_t)n);
	close(fd);
}

/* --every and, unless NULL, --config of the command line. */
static int parse_with(struct options *o, const char *config, struct error *e)
{
	char *argv[] = { "push", "--every", "3s", "--config", (char *)config, NULL };
	int rest;

	*e = (struct error){ 0 };
	return cli_parse(&command, o, config ? 5 : 3, argv, &rest, e);
}

TEST(reads_a_file)
{
	static char many[CLI_CONFIG_MOST + 1];
	char path[] = "/tmp/ebprof-config-XXXXXX";
	struct options o = { .config = { .fallback = path, .unless = "to" } };
	struct error e;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	write_file(path, "every = 2s\nall\n", 15);
	CHECK(!parse_with(&o, path, &e) && o.all && o.every == 3000000000u);
	cli_config_free(&o.config);
	o.all = 0;
	o.config.path = NULL;
	CHECK(!parse_with(&o, NULL, &e) && o.all);
	CHECK_STR(o.config.path, path);
	cli_config_free(&o.config);
	write_file(path, "all\0", 4);
	CHECK(parse_with(&o, path, &e) && strstr(e.text, "not a text"));
	memset(many, '#', sizeof(many));
	write_file(path, many, sizeof(many));
	CHECK(parse_with(&o, path, &e) && strstr(e.text, "too long"));
	CHECK(parse_with(&o, "/nonexistent", &e) && strstr(e.text, "no such file"));
	CHECK(parse_with(&o, "/dev/zero", &e) && strstr(e.text, "no such file"));
	unlink(path);
}

int main(void)
{
	RUN(takes_lines);
	RUN(names_the_line);
	RUN(the_command_line_counts);
	RUN(reads_a_file);
	return TEST_END();
}
