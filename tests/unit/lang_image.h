/* SPDX-License-Identifier: MIT */
/*
 * Images of an interpreter's memory: what the steps over its frames have read of a process, so that
 * they can be taken again where there is no such interpreter. A text of lines:
 *
 *	language NUMBER			enum ebp_language
 *	layout HEX			its structure, as in struct ebp_layout
 *	loop OFFSET BYTES		of that: its code in its file (LuaJIT)
 *	at BIAS TP FP IP		of its mapping; the thread pointer; two registers (PHP)
 *	place RIP RSP RBP RDI RDX RBX R14 R15 START END
 *					(Lua, LuaJIT) the thread's; the mapping of RIP
 *	frame LINE NAME			what is expected, the innermost first
 *	memory ADDRESS HEX
 *
 * Numbers but the first and the line are hexadecimal. tests/unit/images/record_image.c writes them.
 */
#ifndef EBPROF_LANG_IMAGE_H
#define EBPROF_LANG_IMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/xalloc.h"
#include "lang/lang.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define IMAGE_FRAMES	256
#define IMAGE_NAME	256
#define IMAGE_TRACE	"_[t]"	/* behind the name of what a trace runs, as --annotate has it */

struct image_piece {
	uint64_t at;
	size_t n;
	uint8_t *bytes;
};

struct image_frame {
	uint32_t line;
	char name[IMAGE_NAME];
};

/* Where the thread is: registers of x86-64, and the mapping of pc. */
struct image_place {
	uint64_t pc, sp, fp, rdi, rdx, rbx, r14, r15, row, row_end;
};

struct image {
	uint32_t language;
	struct ebp_layout layout;
	uint64_t bias, tp, fp, ip;
	struct image_place place;
	struct image_frame frames[IMAGE_FRAMES];
	size_t nframes;
	VEC(struct image_piece) pieces;
	/* Reads the process that is recorded; NULL: the pieces are all there is. */
	int (*live)(void *ctx, uint64_t at, void *dst, size_t n);
	void *ctx;
};

/* Memory of it; 0, or negative, and zeroes, as in BPF. What a live process has becomes a piece. */
static int image_read(struct image *m, void *dst, uint32_t n, uint64_t at)
{
	memset(dst, 0, n);
	if (m->live) {
		struct image_piece piece = { .at = at, .n = n };

		if (m->live(m->ctx, at, dst, n))
			return -1;
		piece.bytes = xmalloc(n + 1);
		memcpy(piece.bytes, dst, n);
		vec_push(&m->pieces, piece);
		return 0;
	}
	for (size_t i = 0; i < m->pieces.n; i++) {
		const struct image_piece *p = &m->pieces.v[i];

		if (at >= p->at && at - p->at <= p->n && n <= p->n - (at - p->at)) {
			memcpy(dst, p->bytes + (at - p->at), n);
			return 0;
		}
	}
	return -1;
}

#define ruby_env image
#define php_env	 image
#define perl_env image
#define lua_env image
#define luajit_env image
#define ruby_read image_read
#define php_read image_read
#define perl_read image_read
#define lua_read image_read
#define luajit_read image_read

#include "unit/perl_text.h"

#include "bpf/lua_describe.h"
#include "bpf/perl_describe.h"
#include "bpf/php_describe.h"
#include "bpf/ruby_describe.h"
#include "unit/luajit_rounds.h"

/* --- The frames, each of which becomes one of m->frames. ----------------------- */

static struct ebp_code *image_record(const struct image *m)
{
	struct ebp_code *r = xcalloc(1, sizeof(*r) + EBP_CODE_TABLE);

	r->head.type = EBP_CODE;
	r->language = (uint16_t)m->language;
	return r;
}

/* @r becomes a name and a line, and is gone. */
static void image_take(struct image *m, struct ebp_code *r, uint32_t place)
{
	struct image_frame *f = &m->frames[m->nframes];
	const struct lang_reader reader = { 0 };
	struct lang_code code;

	if (m->nframes < IMAGE_FRAMES &&
	    !lang_code_decode(r, sizeof(*r) + (r->head.n & (EBP_CODE_TABLE - 1)), &code)) {
		if (code.ops->complete)
			code.ops->complete(&code, r, &reader);
		f->line = code.ops->line(&code, place);
		snprintf(f->name, sizeof(f->name), "%s", code.name);
		m->nframes++;
		lang_code_free(&code);
	}
	free(r);
}

static void image_walk_ruby(struct image *m)
{
	const struct ebp_ruby *o = (const void *)m->layout.words;
	struct ruby_state s = { 0 };

	if (ruby_begin(m, &s, o, m->bias, m->tp))
		return;
	while (m->nframes < IMAGE_FRAMES && !ruby_step(m, &s, o)) {
		struct ebp_code *r;

		ruby_code(m, &s);
		for (int k = 0; k < RUBY_HOPS && ruby_hop(m, &s); k++)
			;
		ruby_of_method(&s);
		if (!s.identity)
			continue;
		r = image_record(m);
		ruby_begin_table(o, r);
		ruby_table(m, &s, o, r);
		ruby_name_object(m, &s, o);
		ruby_text(m, &s, o, r, RUBY_NAME);
		ruby_table_of(r)->singleton = ruby_owner(m, &s, o);
		ruby_class_name(m, &s, o);
		ruby_text(m, &s, o, r, RUBY_SCOPE);
		ruby_file_object(m, &s);
		ruby_text(m, &s, o, r, RUBY_FILE);
		image_take(m, r, s.place);
	}
}

static void image_walk_php(struct image *m)
{
	const struct ebp_php *o = (const void *)m->layout.words;
	struct php_state s = { 0 };

	if (php_begin(m, &s, o, m->bias, m->tp, m->fp, m->ip))
		return;
	while (m->nframes < IMAGE_FRAMES && (s.frame || s.waiting) && !php_step(m, &s, o)) {
		struct ebp_code *r;

		if (!s.code)
			continue;
		r = image_record(m);
		php_describe(m, &s, o, r);
		image_take(m, r, s.place);
	}
}

static void image_walk_perl(struct image *m)
{
	const struct ebp_perl *o = (const void *)m->layout.words;
	struct perl_state s = { 0 };

	if (perl_begin(m, &s, o, m->bias, m->tp))
		return;
	while (m->nframes < IMAGE_FRAMES && !s.ended && !perl_step(m, &s, o)) {
		struct ebp_code *r;

		if (!s.code)
			continue;
		r = image_record(m);
		perl_describe(m, &s, o, r);
		image_take(m, r, s.place);
	}
}

#include "unit/lang_image_lua.h"

static void image_walk(struct image *m)
{
	m->nframes = 0;
	if (m->language == EBP_LANGUAGE_RUBY)
		image_walk_ruby(m);
	else if (m->language == EBP_LANGUAGE_PHP)
		image_walk_php(m);
	else if (m->language == EBP_LANGUAGE_PERL)
		image_walk_perl(m);
	else if (m->language == EBP_LANGUAGE_LUA)
		image_walk_lua(m);
	else if (m->language == EBP_LANGUAGE_LUAJIT)
		image_walk_luajit(m);
}

/* --- The text. ----------------------------------------------------------------- */

static void image_free(struct image *m)
{
	for (size_t i = 0; i < m->pieces.n; i++)
		free(m->pieces.v[i].bytes);
	vec_free(&m->pieces);
}

/* Bytes of the hexadecimal @text, at most @room. */
static size_t image_bytes(const char *text, uint8_t *to, size_t room)
{
	size_t n = 0;
	unsigned byte;

	while (n < room && sscanf(text + 2 * n, "%2x", &byte) == 1)
		to[n++] = (uint8_t)byte;
	return n;
}

static void image_line(struct image *m, const char *line)
{
	struct image_frame *f = &m->frames[m->nframes];
	struct image_place *l = &m->place;
	struct image_piece p = { 0 };
	int at = 0;

	if (sscanf(line, "layout %n", &at) == 0 && at) {
		image_bytes(line + at, (uint8_t *)m->layout.words, sizeof(m->layout.words));
	} else if (sscanf(line, "memory %lx %n", &p.at, &at) == 1) {
		p.bytes = xmalloc(strlen(line));
		p.n = image_bytes(line + at, p.bytes, strlen(line));
		vec_push(&m->pieces, p);
	} else if (m->nframes < IMAGE_FRAMES && sscanf(line, "frame %u %n", &f->line, &at) == 1) {
		snprintf(f->name, sizeof(f->name), "%s", line + at);
		f->name[strcspn(f->name, "\n")] = 0;
		m->nframes++;
	} else {
		sscanf(line, "language %u", &m->language);
		sscanf(line, "loop %llx %x", &m->layout.loop, &m->layout.loop_bytes);
		sscanf(line, "at %lx %lx %lx %lx", &m->bias, &m->tp, &m->fp, &m->ip);
		sscanf(line, "place %lx %lx %lx %lx %lx %lx %lx %lx %lx %lx", &l->pc, &l->sp,
		       &l->fp, &l->rdi, &l->rdx, &l->rbx, &l->r14, &l->r15, &l->row, &l->row_end);
	}
}

/* 0, or -1: it cannot be read. */
__attribute__((unused)) static int image_load(const char *path, struct image *m)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	memset(m, 0, sizeof(*m));
	if (!f)
		return -1;
	while (getline(&line, &room, f) > 0)
		image_line(m, line);
	free(line);
	fclose(f);
	return 0;
}

#endif
