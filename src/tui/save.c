/* SPDX-License-Identifier: MIT */
#include "tui/save.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/output.h"
#include "sinks/sink.h"

void save_profile(const struct profile *p, const char *path, const struct user *u, char *told,
		  size_t size)
{
	const struct output_format *format = output_by_path(path);
	struct error e = { .text = "" };
	char clean[256];
	struct sink *s;

	text_clean(clean, sizeof(clean), path);
	/* Standard output is the screen. */
	if (!format || !strcmp(path, "-") || !strncmp(path, "/dev/", 5)) {
		snprintf(told, size,
			 "the name does not say which format: end it in .folded, .pb.gz, .svg, "
			 ".html, .txt");
		return;
	}
	s = sink_open(&(struct sink_target){ .path = path, .user = u }, &e);
	if (s)
		output_write(format, p, &(struct output_options){ 0 }, sink_file(s), path);
	if (s && !sink_commit(s, &e))
		snprintf(told, size, "saved: %s (%s)", clean, format->name);
	else
		snprintf(told, size, "%s", *e.text ? e.text : "cannot be saved");
}
