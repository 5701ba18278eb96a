/* SPDX-License-Identifier: MIT */
#include "tui/plain.h"

#include <errno.h>
#include <time.h>

#include "output/views.h"
#include "sinks/sink.h"
#include "tui/heading.h"

int plain_write(struct window *w, const struct viewer_options *o)
{
	const struct output_options output = { .rows = o->rows,
					       .columns = o->columns,
					       .color = o->color };
	struct window_show show = window_show(w, o->since_start, &(struct part_choice){ 0 });
	struct sink *s = sink_open_stdout(NULL);
	char clock[16] = "", text[512];
	time_t now = time(NULL);
	struct tm tm;
	int err = -EIO;

	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%S ", &tm);
	if (s) {
		struct outfile *f = sink_file(s);

		heading_text(text, sizeof(text), &show, o->target, o->since_start, 1);
		outfile_printf(f, "%s%s\n", clock, text);
		views_top(show.profile, VIEWS_FUNCTION, 0, &output, f);
		outfile_write(f, "\n", 1);
		err = sink_commit(s, NULL);
	}
	profile_free(show.profile);
	return err;
}
