/* SPDX-License-Identifier: MIT */
#include "commands/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/user.h"
#include "commands/last_recording.h"
#include "input/input.h"
#include "profile/merge.h"
#include "profile/rates.h"

#define NAME_SHOWN 512		/* bytes of a file's name */

static int show_type(struct profile *p, const char *path, const char *type, struct error *e)
{
	struct profile_view v = profile_view(p);
	char known[256] = "";

	for (size_t i = 0; i < v.ntypes; i++) {
		const char *name = profile_text(p, v.types[i].name);

		if (!strcmp(name, type)) {
			profile_show(p, (uint32_t)i);
			return 0;
		}
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 *known ? ", " : "", name);
	}
	return error_set(e, STATUS_USAGE, -EINVAL, "--sample-type '%.100s': %.100s has %s", type,
			 path, known);
}

/* What is missing from now on, whatever is made of the profile. */
static void say(const char *path, const struct input_notes *notes)
{
	if (*notes->damage.text)
		fprintf(stderr, "ebprof: %s: %s; what can be read of it is shown\n", path,
			notes->damage.text);
	if (notes->missing)
		fprintf(stderr,
			"ebprof: %s: %" PRIu32 " file%s not here as %s sampled, so %s frames "
			"have no names: %s%s\n",
			path, notes->missing, notes->missing > 1 ? "s are" : " is",
			notes->missing > 1 ? "they were" : "it was",
			notes->missing > 1 ? "their" : "its", notes->first_missing,
			notes->missing > 1 ? ", ..." : "");
	if (notes->copies_left)
		fprintf(stderr,
			"ebprof: %s: the user stacks of %" PRIu64 " of %" PRIu64
			" samples were copied on another kind of machine, and are not unwound\n",
			path, notes->copies_left, notes->copied);
	if (notes->copies_cut)
		fprintf(stderr,
			"ebprof: %s: the user stacks of %" PRIu64 " of %" PRIu64
			" samples do not lead to their ends; --call-graph dwarf,65528 copies more "
			"of them\n",
			path, notes->copies_cut, notes->copied);
	if (notes->cut)
		fprintf(stderr, "ebprof: %s: the last line is cut off, and was left out\n", path);
	else if (notes->lines)
		fprintf(stderr,
			"ebprof: %s: %" PRIu64
			" line%s not understood, and left out; the first is line %" PRIu64 "\n",
			path, notes->lines, notes->lines > 1 ? "s were" : " was", notes->first);
}

/* @p with @type shown, or NULL. */
static struct profile *with_type(struct profile *p, const char *path, const char *type,
				 struct error *e)
{
	if (!type || !show_type(p, path, type, e))
		return p;
	profile_free(p);
	return NULL;
}

struct profile *saved_read(const char *path, const char *type, struct error *e)
{
	struct input_notes notes;
	struct profile *p = input_read(path, &notes, e);

	if (!p)
		return NULL;
	say(path, &notes);
	return with_type(p, path, type, e);
}

struct profile *saved_read_last(const char *type, struct error *e)
{
	const struct user user = user_invoking();
	struct profile *p = last_recording_read(&user, e);

	return p ? with_type(p, "the last recording", type, e) : NULL;
}

/* How the samples of several files count against each other. */
static void say_weight(enum rates_weight weight)
{
	static const char *const texts[] = {
		[RATES_TIME] =
			"the files were sampled at different rates, so stacks are weighted by "
			"time; --sample-type samples counts samples",
		[RATES_EVENTS] = "the files were sampled with different periods, so stacks are "
				 "weighted by events; "
				 "--sample-type samples counts samples",
		[RATES_UNKNOWN] =
			"the files were sampled at different rates, not all of which are known: "
			"a sample counts the same in each",
	};

	if (texts[weight])
		fprintf(stderr, "ebprof: %s\n", texts[weight]);
}

struct profile *saved_read_labelled(const char *const *paths, size_t n, const char *key,
				    const char *type, struct error *e)
{
	struct rates rates = { 0 };
	struct profile *all = profile_new();
	char name[NAME_SHOWN];

	for (size_t i = 0; i < n; i++) {
		struct profile *p = saved_read(paths[i], type, e);

		if (!p) {
			profile_free(all);
			return NULL;
		}
		if (!type)
			rates_add(&rates, p);
		text_clean(name, sizeof(name), paths[i]);
		profile_merge_labelled(all, p, key, name);
		profile_free(p);
	}
	if (!type)
		say_weight(rates_show(&rates, all));
	return all;
}

struct profile *saved_read_all(const char *const *paths, size_t n, const char *type,
			       struct error *e)
{
	return n == 1 ? saved_read(paths[0], type, e)
		      : saved_read_labelled(paths, n, NULL, type, e);
}
