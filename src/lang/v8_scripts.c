/* SPDX-License-Identifier: MIT */
#include "lang/v8_scripts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/search.h"
#include "base/vec.h"

#define SOURCE_MAX	(32u << 20)	/* bytes of a source that is read */
#define PIECE		32768		/* at once */
#define SCRIPTS_MAX	1024		/* that are kept; then all are read anew */
#define ENDS_MAX	(8u << 20)	/* lines of them all */

struct v8_script {
	uint64_t key;
	int unread;		/* its source could not be read, or is too long */
	VEC(uint32_t) ends;	/* positions of what ends a line */
};

struct v8_scripts {
	VEC(struct v8_script) list;
	struct hashmap by_key;
	size_t ends;		/* of all */
};

void *v8_scripts_new(void)
{
	return xcalloc(1, sizeof(struct v8_scripts));
}

static void forget(struct v8_scripts *s)
{
	for (size_t i = 0; i < s->list.n; i++)
		vec_free(&s->list.v[i].ends);
	vec_free(&s->list);
	hashmap_free(&s->by_key);
	s->by_key = (struct hashmap){ 0 };
	s->ends = 0;
}

void v8_scripts_free(void *scripts)
{
	if (!scripts)
		return;
	forget(scripts);
	free(scripts);
}

uint32_t v8_script_line(const struct v8_script *s, uint64_t position)
{
	if (!s || s->unread || position > UINT32_MAX)
		return 0;
	/* What ends a line is in it. */
	return (uint32_t)upper_bound(s->ends.v, s->ends.n, , position - !!position) + 1;
}

/* The ends of lines in @n characters, which begin at @position; @last is the one before them. */
static void take_ends(struct v8_script *s, const uint8_t *bytes, size_t n, unsigned width,
		      uint32_t position, unsigned *last)
{
	for (size_t i = 0; i < n; i++) {
		unsigned c = width == 1 ? bytes[i] : bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8;

		if (c == '\n' && *last == '\r' && s->ends.n)
			s->ends.v[s->ends.n - 1] = position + (uint32_t)i;
		else if (c == '\n' || c == '\r')
			vec_push(&s->ends, position + (uint32_t)i);
		*last = c;
	}
}

static int read_source(struct v8_script *s, struct v8_env *env, const struct ebp_v8_code *c)
{
	struct v8_characters source;
	uint8_t piece[PIECE];
	unsigned last = 0;

	if (v8_memory_string(env, &c->layout, c->source, &source) ||
	    source.length * source.width > SOURCE_MAX)
		return -1;
	for (uint64_t at = 0; at < source.length;) {
		uint64_t n = PIECE / source.width;

		n = source.length - at < n ? source.length - at : n;
		if (v8_memory(env, piece, n * source.width, source.address + at * source.width))
			return -1;
		take_ends(s, piece, n, source.width, (uint32_t)at, &last);
		at += n;
	}
	return 0;
}

const struct v8_script *v8_scripts_find(struct v8_scripts *scripts, struct v8_env *env,
					const struct ebp_process *process,
					const struct ebp_v8_code *c)
{
	struct v8_script s = { .key = hash_pair(hash_pair(process->start, process->exec_id),
						hash_pair(process->tgid, hash_pair(c->script_id,
										   c->script))) };
	uint32_t place = hashmap_get(&scripts->by_key, s.key);

	if (!c->script)
		return NULL;
	if (place != HASHMAP_NONE)
		return &scripts->list.v[place];
	/* It is the source that this very script has now: it may have moved since. */
	s.unread = v8_memory_word(env, c->script - 1 + c->layout.script_id) >> 32 !=
			   c->script_id ||
		   v8_memory_word(env, c->script - 1 + c->layout.script_source) != c->source ||
		   read_source(&s, env, c);
	if (scripts->list.n >= SCRIPTS_MAX || scripts->ends + s.ends.n > ENDS_MAX)
		forget(scripts);
	scripts->ends += s.ends.n;
	hashmap_set(&scripts->by_key, s.key, (uint32_t)scripts->list.n);
	vec_push(&scripts->list, s);
	return &scripts->list.v[scripts->list.n - 1];
}
