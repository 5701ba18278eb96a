/* SPDX-License-Identifier: MIT */
/*
 * Frames of Lua and LuaJIT in images (lang_image.h, which includes this). Their state is found from
 * where a thread is: from its registers, or from words of its stack.
 */
#ifndef EBPROF_LANG_IMAGE_LUA_H
#define EBPROF_LANG_IMAGE_LUA_H

#define IMAGE_RUNS	64	/* of LuaJIT's interpreter on the C stack */

/* The text at @address, which is 0 where there is none, into @t and @dst. */
static void image_text(struct image *m, uint64_t address, struct ebp_text *t, uint8_t *dst,
		       uint32_t size)
{
	int n = address ? perl_read_text(m, dst, size, address) : 0;

	if (n <= 0)
		return;
	t->length = (uint32_t)(n - 1);
	t->width = EBP_TEXT_UTF8;
}

/* --- Lua. ---------------------------------------------------------------------- */

static int image_lua_find(struct image *m, struct lua_state *s, const struct ebp_lua *o)
{
	for (uint32_t i = 0; i < LUA_SEARCHED; i++) {
		if (lua_read(m, s->words, LUA_CHUNK * sizeof(uint64_t),
			     m->place.sp + i * LUA_CHUNK * sizeof(uint64_t)))
			continue;
		for (uint32_t k = 0; k < LUA_CHUNK; k++)
			if (lua_look_at(m, s, o, s->words[k]))
				return 0;
	}
	return lua_look_at(m, s, o, m->place.rdi) ? 0 : -1;
}

static void image_lua_add_all(struct image *m, struct lua_state *s, const struct ebp_lua *o)
{
	for (uint32_t i = 0; i < LUA_THREADS && lua_add_resumed(m, s, o); i++)
		;
}

/* The name of the local variable in register @reg; whether it is there. */
static int image_lua_local(struct image *m, const struct lua_state *s, const struct ebp_lua *o,
			   struct lua_naming *n, uint32_t reg)
{
	n->left = reg + 1;
	for (uint32_t i = 0; i < LUA_LOCALS && !lua_local(m, s, o, n, i); i++)
		;
	return n->kind == EBP_LUA_NAMED;
}

/* As lua_name() of bpf/lua.bpf.h. */
static uint32_t image_lua_name(struct image *m, struct lua_state *s, const struct ebp_lua *o,
			       struct lua_naming *n)
{
	uint32_t instruction = lua_instruction(m, s), x;
	int reg = lua_called(o, instruction);

	if (reg < 0 || image_lua_local(m, s, o, n, (uint32_t)reg))
		return instruction;
	if (!lua_before(m, s, n, (uint32_t)reg))
		for (uint32_t i = 0; i < LUA_BEFORE && !lua_setter(s, o, n, i); i++)
			;
	x = n->instruction;
	if (x == EBP_LUA_NO_CALL || lua_op(o, x) != o->ops[EBP_LUA_MOVE])
		lua_fetched(m, s, o, n);
	else if (lua_b(o, x) < (uint32_t)reg)
		image_lua_local(m, s, o, n, lua_b(o, x));
	return instruction;
}

static void image_describe_lua(struct image *m, struct lua_state *s, const struct ebp_lua *o,
			       struct ebp_code *r)
{
	struct ebp_lua_table *t = (void *)r->table_data;
	struct lua_naming n = { 0 };

	t->call = image_lua_name(m, s, o, &n);
	r->version = o->version;
	if (n.kind == EBP_LUA_NAMED)
		image_text(m, lua_string(m, n.name), &r->name, r->name_bytes,
			   sizeof(r->name_bytes));
	t->name = (uint8_t)n.kind;
	t->is_lua = !!s->frame.proto;
	r->head.n = sizeof(*t);
	if (!s->frame.proto)
		return;
	r->first_line = s->frame.first_line;
	image_text(m, lua_string(m, s->frame.source), &r->file, r->file_bytes,
		   sizeof(r->file_bytes));
	lua_table(m, s, o, t, r->table_data + sizeof(*t));
	r->head.n = sizeof(*t) + EBP_LUA_FAR_BYTES + t->sent;
}

static void image_walk_lua(struct image *m)
{
	const struct ebp_lua *o = (const void *)m->layout.words;
	struct lua_state s = { 0 };

	if (image_lua_find(m, &s, o))
		return;
	lua_begin(m, &s, o);
	image_lua_add_all(m, &s, o);
	if (lua_is_apart(&s))
		image_lua_add_all(m, &s, o);
	while (m->nframes < IMAGE_FRAMES && !s.ended && !lua_step(m, &s, o)) {
		struct ebp_code *r;

		if (!s.code)
			continue;
		r = image_record(m);
		image_describe_lua(m, &s, o, r);
		image_take(m, r, s.frame.pc);
	}
}

/* --- LuaJIT. ------------------------------------------------------------------- */

static void image_describe_luajit(struct image *m, struct luajit_state *s,
				  const struct ebp_luajit *o, struct ebp_code *r)
{
	struct ebp_luajit_table *t = (void *)r->table_data;
	struct luajit_naming n = { 0 };
	uint32_t count = luajit_before(m, s, &n);

	t->call = EBP_LUAJIT_NONE;
	t->is_lua = !!s->frame.proto;
	if (count) {
		t->call = s->caller.pc;
		t->nbefore = count;
		t->first = s->caller.pc + 1 - count;
		memcpy(t + 1, s->words, EBP_LUAJIT_BEFORE * 4);
		for (uint32_t i = 1; i < EBP_LUAJIT_BEFORE && !luajit_setter(m, s, o, &n, i); i++)
			;
		image_text(m, n.name ? n.name + o->text : 0, &r->name, r->name_bytes,
			   sizeof(r->name_bytes));
		luajit_names(m, s, o, t, r->table_data + EBP_LUAJIT_NAMES_AT);
	}
	r->head.n = EBP_LUAJIT_LINES_AT;
	if (!s->frame.proto)
		return;
	r->first_line = s->frame.first_line;
	image_text(m, s->frame.source ? s->frame.source + o->text : 0, &r->file, r->file_bytes,
		   sizeof(r->file_bytes));
	luajit_lines(m, s, o, t, r->table_data + EBP_LUAJIT_LINES_AT);
	r->head.n += t->lines_sent;
}

/* The functions of one frame on the C stack. */
static void image_run_luajit(struct image *m, struct luajit_state *s, const struct ebp_luajit *o)
{
	do {
		struct ebp_code *r;
		size_t before = m->nframes;

		luajit_step(m, s, o);
		if (!s->code)
			continue;
		r = image_record(m);
		image_describe_luajit(m, s, o, r);
		image_take(m, r, s->frame.pc);
		if (s->frame.is_trace && m->nframes > before)
			strncat(m->frames[before].name, IMAGE_TRACE,
				IMAGE_NAME - 1 - strlen(m->frames[before].name));
	} while (m->nframes < IMAGE_FRAMES && !luajit_is_over(s));
}

/*
 * From each frame of the interpreter to the next. Nothing unwinds what is between them: so small
 * that the next one is found from here.
 */
static void image_walk_luajit(struct image *m)
{
	const struct ebp_luajit *o = (const void *)m->layout.words;
	uint64_t loop = m->bias + m->layout.loop;
	const struct image_place *l = &m->place;
	struct luajit_state s = {
		.at = { .pc = l->pc, .sp = l->sp, .fp = l->fp, .rdx = l->rdx, .rbx = l->rbx,
			.r14 = l->r14, .r15 = l->r15, .row = l->row, .row_end = l->row_end,
			.exact = 1 },
	};

	for (int i = 0; i < IMAGE_RUNS; i++) {
		s.at.is_interpreter = s.at.pc - !s.at.exact - loop < m->layout.loop_bytes;
		luajit_find(m, &s, o);
		if (luajit_begin(m, &s, o))
			return;
		luajit_first(m, &s, o);
		image_run_luajit(m, &s, o);
		if (s.bad)
			return;
		s.at.pc = s.return_to;
		s.at.sp = s.c_frame + o->c_bytes;
		s.at.fp = s.caller_fp;
		s.at.exact = 0;
	}
}

#endif
