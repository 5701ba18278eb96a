/* SPDX-License-Identifier: MIT */
/*
 * Small profiles, written as text, and outputs read back as text.
 */
#ifndef EBPROF_TEST_STACKS_H
#define EBPROF_TEST_STACKS_H

#include <unistd.h>

#include "base/outfile.h"
#include "output/output.h"
#include "profile/profile.h"

/* A thread of a process whose leader has the same comm. */
static inline uint32_t stacks_thread(struct profile *p, pid_t pid, pid_t tid, const char *comm)
{
	uint32_t name = profile_string(p, comm);

	return profile_thread(p, profile_process(p, pid, 1, name), tid, name);
}

/*
 * Adds @count samples of a stack: frames from the root, `MODULE!NAME` or `NAME`,
 * with `|` between them. MODULE [kernel] is the kernel; a frame that is @ has no
 * function. Each call takes addresses of its own, so equal names must be merged.
 */
static inline void stacks_add(struct profile *p, uint32_t thread, const char *frames,
			      uint64_t count)
{
	uint64_t address = profile_view(p).nlocations;
	uint32_t node = 0;
	char frame[512];

	while (*frames) {
		size_t len = strcspn(frames, "|");
		char *name = frame, *bang;
		uint32_t module = 0, location;
		enum frame_kind kind;

		snprintf(frame, sizeof(frame), "%.*s", (int)len, frames);
		frames += len + (frames[len] == '|');
		bang = strchr(frame, '!');
		if (bang) {
			*bang = '\0';
			module = profile_string(p, frame);
			name = bang + 1;
		}
		kind = bang && !strcmp(frame, "[kernel]") ? FRAME_KERNEL : FRAME_USER;
		location = profile_location(p, profile_module(p, profile_text(p, module), "", ""),
					    kind, address++);
		if (strcmp(name, "@"))
			profile_name_location(
				p, location,
				&(struct line){ .function = profile_function(
							p, profile_string(p, name), module, kind) },
				1, "");
		node = profile_node(p, node, location);
	}
	profile_add(p, thread, node, count);
}

/* What @write writes; the caller frees it. */
static inline char *stacks_written(void (*write)(void *ctx, struct outfile *f), void *ctx)
{
	char dir[] = "/tmp/ebprof-test-XXXXXX", path[64];
	const struct user user = { 0 };
	struct outfile *f;
	struct error e = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *in;

	if (!mkdtemp(dir))
		return NULL;
	snprintf(path, sizeof(path), "%s/out", dir);
	f = outfile_open(path, &user, &e);
	if (f) {
		write(ctx, f);
		outfile_commit(f, &e);
	}
	in = fopen(path, "re");
	if (in && getdelim(&text, &size, '\0', in) < 0 && text)
		text[0] = '\0';
	if (in)
		fclose(in);
	unlink(path);
	rmdir(dir);
	return text;
}

struct stacks_format {
	const struct profile *profile;
	const char *name;
	const struct output_options *options;
};

static inline void stacks_write(void *ctx, struct outfile *f)
{
	const struct output_options none = { 0 };
	const struct stacks_format *x = ctx;

	output_by_name(x->name)->write(x->profile, x->options ? x->options : &none, f);
}

/* What the format makes of the profile; the caller frees it. */
static inline char *stacks_output(const struct profile *p, const char *format,
				  const struct output_options *o)
{
	return stacks_written(stacks_write, &(struct stacks_format){ p, format, o });
}

#define CHECK_OUTPUT(p, format, o, expected) do { \
	char *text_ = stacks_output(p, format, o); \
	CHECK_STR(text_, expected); \
	free(text_); \
} while (0)

#endif
