/* SPDX-License-Identifier: MIT */
/*
 * relocations OBJECT BTF: whether each program of OBJECT fits a kernel with those types, without
 * that kernel: libbpf relocates it for them, and what can be run of it is looked at. A line
 * "PROGRAM: what it lacks" for each that does not, and exit status 1. As root: libbpf tries to load
 * something before it looks at an object.
 *
 * What libbpf could not relocate it replaces by a call that no kernel has. That is no mistake where
 * the program asks first whether the kernel has it: such questions are constants afterwards, and
 * code behind a wrong one is not run, nor looked at by a kernel's verifier. So constants are
 * followed through registers here, too, and only the code that remains has to be right: no such
 * call, no helper and no map that the kernel does not know.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/kernel_types.h"

/*
 * What libbpf calls where it cannot relocate an access, or where a map is not made (0xbad2310;
 * 2001000000 + its number).
 */
#define NO_RELOCATION	195896080
#define NO_MAP		2001000000
#define REGISTERS	11

/* Programs that are loaded only by kernels that have the enumerator (src/collect/uprobe.h). */
static const struct {
	const char *program, *enumeration, *enumerator;
} only_where[] = {
	{ "on_any_call", "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI" },
	{ "on_any_call_native", "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI" },
	/* probes that pause are links */
	{ "list_alloc_thread", "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI" },
	{ "list_probe_thread", "bpf_attach_type", "BPF_TRACE_UPROBE_MULTI" },
};

/* What is known before an instruction runs. */
struct state {
	int reached;
	uint32_t known;			/* a bit for each register whose value is */
	int64_t values[REGISTERS];
};

struct check {
	struct btf *btf;		/* the kernel's */
	const struct btf_type *helpers, *map_types;	/* of it, by their numbers; NULL: unknown */
	const struct bpf_object *object;
	const struct bpf_program *program;
	struct state *states;		/* of each instruction */
	size_t *todo, ntodo;
	int failed, lacks;		/* of all programs; of this one */
	struct bpf_insn *insns;		/* of this one, by all types */
	size_t ninsns;
	char looked_for[512];		/* by libbpf, the last time */
	/* what it did not find, or find fit; some of it may be asked for before */
	char missing[4096];
};

static struct check check;

/* --- What the kernel has. ------------------------------------------------------- */

static const struct btf_type *find_enum(const char *name)
{
	int id = btf__find_by_name_kind(check.btf, name, BTF_KIND_ENUM);

	return id > 0 ? btf__type_by_id(check.btf, (uint32_t)id) : NULL;
}

static int has_value(const struct btf_type *t, int value)
{
	for (int i = 0; t && i < btf_vlen(t); i++)
		if ((int)btf_enum(t)[i].val == value)
			return 1;
	return 0;
}

static int has_enumerator(const char *enumeration, const char *name)
{
	const struct btf_type *t = find_enum(enumeration);

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(check.btf, btf_enum(t)[i].name_off), name))
			return 1;
	return 0;
}

static int is_loaded_here(const char *program)
{
	for (size_t i = 0; i < sizeof(only_where) / sizeof(*only_where); i++)
		if (!strcmp(only_where[i].program, program))
			return has_enumerator(only_where[i].enumeration, only_where[i].enumerator);
	return 1;
}

static void lacks(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void lacks(const char *fmt, ...)
{
	va_list ap;

	/* What follows from it is of no interest. */
	if (check.lacks)
		return;
	check.failed = check.lacks = 1;
	printf("%s: ", bpf_program__name(check.program));
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* --- What can be run. ------------------------------------------------------------ */

/* @to may be come to with @s: what differs from what was known there is known no more. */
static void reach(size_t to, size_t n, const struct state *s)
{
	struct state *there = &check.states[to];
	uint32_t known = s->known;

	if (to >= n)
		return;
	if (there->reached) {
		for (int i = 0; i < REGISTERS; i++)
			if (there->values[i] != s->values[i])
				known &= ~(1u << i);
		known &= there->known;
		if (known == there->known)
			return;
	}
	if (!there->reached || known != there->known)
		check.todo[check.ntodo++] = to;
	if (!there->reached)
		*there = *s;
	there->reached = 1;
	there->known = known;
}

static int value_of(const struct state *s, const struct bpf_insn *i, int64_t *value)
{
	*value = BPF_SRC(i->code) == BPF_K ? i->imm : s->values[i->src_reg];
	return BPF_SRC(i->code) == BPF_K || s->known >> i->src_reg & 1;
}

static void compute(struct state *s, const struct bpf_insn *i)
{
	int wide = BPF_CLASS(i->code) == BPF_ALU64, known;
	int64_t a = s->values[i->dst_reg], b;

	known = value_of(s, i, &b);
	if (BPF_OP(i->code) != BPF_MOV)
		known &= s->known >> i->dst_reg & 1;
	switch (BPF_OP(i->code)) {
	case BPF_MOV: a = b; break;
	case BPF_ADD: a = (int64_t)((uint64_t)a + (uint64_t)b); break;
	case BPF_AND: a &= b; break;
	case BPF_OR: a |= b; break;
	case BPF_XOR: a ^= b; break;
	case BPF_LSH: a = (int64_t)((uint64_t)a << (b & 63)); break;
	case BPF_RSH: a = (int64_t)((wide ? (uint64_t)a : (uint32_t)a) >> (b & 63)); break;
	default: known = 0;
	}
	s->values[i->dst_reg] = wide ? a : (uint32_t)a;
	s->known = (s->known & ~(1u << i->dst_reg)) | (uint32_t)known << i->dst_reg;
}

/* Whether a jump is taken: 1, 0, or -1 where that cannot be known. */
static int is_taken(const struct state *s, const struct bpf_insn *i)
{
	int wide = BPF_CLASS(i->code) == BPF_JMP;
	uint64_t a = (uint64_t)s->values[i->dst_reg], b;
	int64_t value;

	if (!value_of(s, i, &value) || !(s->known >> i->dst_reg & 1))
		return -1;
	b = (uint64_t)value;
	if (!wide) {
		a = (uint32_t)a;
		b = (uint32_t)b;
	}
	switch (BPF_OP(i->code)) {
	case BPF_JEQ: return a == b;
	case BPF_JNE: return a != b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	case BPF_JLT: return a < b;
	case BPF_JLE: return a <= b;
	case BPF_JSET: return (a & b) != 0;
	default: return -1;
	}
}

static const struct bpf_map *map_number(int number)
{
	const struct bpf_map *map = NULL;

	do
		map = bpf_object__next_map(check.object, map);
	while (map && number--);
	return map;
}

/* A call at @at: of a function of ours, of a helper, or what libbpf put there. */
static void call(const struct bpf_insn *insns, size_t n, size_t at, struct state *s)
{
	const struct state nothing = { .reached = 1 };
	const struct bpf_insn *i = &insns[at];
	const struct bpf_map *map;

	if (i->src_reg == BPF_PSEUDO_CALL) {
		reach(at + 1 + (size_t)i->imm, n, &nothing);
		s->known &= ~0x3fu;
	} else if (i->imm == NO_RELOCATION) {
		lacks("instruction %zu: %s", at, check.missing);
		s->known = 0;
	} else if (i->imm >= NO_MAP) {
		map = map_number(i->imm - NO_MAP);
		if (map && !has_value(check.map_types, (int)bpf_map__type(map)))
			lacks("maps of type %d (%s)", (int)bpf_map__type(map), bpf_map__name(map));
		s->known = 0;
	} else {
		if (!i->src_reg && !has_value(check.helpers, i->imm))
			lacks("helper %d", i->imm);
		s->known &= ~0x3fu;
	}
}

static void step(const struct bpf_insn *insns, size_t n, size_t at)
{
	struct state s = check.states[at];
	const struct bpf_insn *i = &insns[at];
	int class = BPF_CLASS(i->code), taken = 0;
	size_t next = at + 1;

	if (class == BPF_ALU || class == BPF_ALU64) {
		compute(&s, i);
	} else if (class == BPF_LDX) {
		s.known &= ~(1u << i->dst_reg);
	} else if (i->code == (BPF_LD | BPF_IMM | BPF_DW)) {
		s.values[i->dst_reg] = (int64_t)((uint64_t)(uint32_t)i->imm |
						 (uint64_t)(uint32_t)i[1].imm << 32);
		s.known = (s.known & ~(1u << i->dst_reg)) | (uint32_t)!i->src_reg << i->dst_reg;
		next = at + 2;
	} else if (class == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC) {
		s.known &= ~(1u << i->src_reg | 1u);
	} else if (class == BPF_JMP || class == BPF_JMP32) {
		if (BPF_OP(i->code) == BPF_EXIT)
			return;
		if (BPF_OP(i->code) == BPF_CALL)
			call(insns, n, at, &s);
		else
			taken = BPF_OP(i->code) == BPF_JA ? 1 : is_taken(&s, i);
		if (taken)
			reach(next + (size_t)(long)i->off, n, &s);
		if (taken == 1)
			return;
	}
	reach(next, n, &s);
}

/*
 * Atomic operations that give a value came with 5.12, and kernels before refuse them also where
 * they are not run; that helper is of the same version.
 */
static void check_atomics(const struct bpf_insn *insns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (BPF_CLASS(insns[i].code) == BPF_STX && BPF_MODE(insns[i].code) == BPF_ATOMIC &&
		    insns[i].imm & BPF_FETCH &&
		    !has_enumerator("bpf_func_id", "BPF_FUNC_check_mtu"))
			lacks("instruction %zu: atomic operations that give a value", i);
}

/* By the types that ebprof cuts out, each relocation has to come out as by all. */
static void compare(const struct bpf_insn *insns, size_t n)
{
	if (n != check.ninsns || memcmp(insns, check.insns, n * sizeof(*insns)))
		lacks("other instructions by the types that are cut out");
	free(check.insns);
	check.insns = NULL;
}

static void keep(const struct bpf_insn *insns, size_t n)
{
	check.insns = malloc(n * sizeof(*insns));
	if (!check.insns)
		exit(2);
	memcpy(check.insns, insns, n * sizeof(*insns));
	check.ninsns = n;
}

/* libbpf has relocated @program and is about to load it: an error is what keeps it from that. */
static int look_at(struct bpf_program *program, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct bpf_insn *insns = bpf_program__insns(program);
	const struct state nothing = { .reached = 1 };
	size_t n = bpf_program__insn_cnt(program);

	(void)opts;
	(void)cookie;
	check.program = program;
	if (check.insns) {
		compare(insns, n);
		return -ECANCELED;
	}
	keep(insns, n);
	check.states = calloc(n, sizeof(*check.states));
	/* An instruction is added once, and again for each register of which less is known. */
	check.todo = calloc(n * (REGISTERS + 1), sizeof(*check.todo));
	check.ntodo = 0;
	check.lacks = 0;
	if (!check.states || !check.todo)
		exit(2);
	check_atomics(insns, n);
	reach(0, n, &nothing);
	while (check.ntodo)
		step(insns, n, check.todo[--check.ntodo]);
	free(check.states);
	free(check.todo);
	return -ECANCELED;
}

/* --- libbpf. ------------------------------------------------------------------------ */

static int keep_missing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t used = strlen(check.missing);
	char line[sizeof(check.looked_for)];
	const char *name;

	(void)level;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	/*
	 * "prog 'x': relo #1: <byte_off> [7] struct task_struct.pid (0:3 @ offset 8)"; then perhaps
	 * that it is replaced.
	 */
	name = strstr(line, ": <");
	if (name && strstr(line, "relo #"))
		strcpy(check.looked_for, name + 2);
	else if (strstr(line, "substituting insn") &&
		 used + strlen(check.looked_for) + 3 < sizeof(check.missing))
		sprintf(check.missing + used, "%s%s", used ? "; " : "", check.looked_for);
	return 0;
}

/* The @number-th program of the object in @path, by the types in @btf_path. 0: there is none. */
static int check_program(const char *path, const char *btf_path, int number)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_path);
	struct bpf_object *object = bpf_object__open_file(path, &opts);
	struct bpf_program *p, *it = NULL;
	struct bpf_map *map;
	int err;

	if (!object) {
		fprintf(stderr, "relocations: cannot open %s: %s\n", path, strerror(errno));
		exit(2);
	}
	bpf_object__for_each_map(map, object)
		bpf_map__set_autocreate(map, false);
	bpf_object__for_each_program(p, object) {
		bpf_program__set_autoload(p, !number);
		if (!number--)
			it = p;
	}
	check.object = object;
	check.program = NULL;
	check.missing[0] = '\0';
	if (it && is_loaded_here(bpf_program__name(it))) {
		err = bpf_object__load(object);
		if (!check.program) {
			fprintf(stderr, "relocations: %s: %s\n", bpf_program__name(it),
				strerror(-err));
			exit(2);
		}
	}
	bpf_object__close(object);
	return it != NULL;
}

/* The types that ebprof cuts out for the object: what libbpf opens them by. */
static const char *cut_types(const char *object, const char *btf, char path[KERNEL_TYPES_PATH])
{
	FILE *f = fopen(object, "rb");
	char *bytes = NULL;
	size_t size = 0;
	int fd = -1;

	if (f && !fseek(f, 0, SEEK_END) && ftell(f) > 0) {
		size = (size_t)ftell(f);
		bytes = malloc(size);
		rewind(f);
		if (bytes && fread(bytes, 1, size, f) == size)
			fd = kernel_types_open(btf, bytes, size);
	}
	free(bytes);
	if (f)
		fclose(f);
	if (fd < 0) {
		fprintf(stderr, "relocations: cannot cut types out of %s: %s\n", btf,
			strerror(-fd));
		exit(2);
	}
	/* Who reads foreign files has it, and others are loaded by it later. */
	if (write(fd, "", 1) >= 0 || !ftruncate(fd, 0)) {
		fprintf(stderr, "relocations: the types can be written\n");
		exit(2);
	}
	return kernel_types_path(fd, path);
}

int main(int argc, char **argv)
{
	static const char *const sections[] = { "perf_event", "raw_tp+", "tp_btf+",
						"tracepoint", "uprobe+", "kprobe", "iter+" };
	LIBBPF_OPTS(libbpf_prog_handler_opts, handler, .prog_prepare_load_fn = look_at);
	char path[KERNEL_TYPES_PATH];
	const char *cut;
	int n = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: relocations OBJECT BTF\n");
		return 2;
	}
	libbpf_set_print(keep_missing);
	check.btf = btf__parse(argv[2], NULL);
	if (!check.btf) {
		fprintf(stderr, "relocations: cannot read %s: %s\n", argv[2], strerror(errno));
		return 2;
	}
	check.helpers = find_enum("bpf_func_id");
	check.map_types = find_enum("bpf_map_type");
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++)
		libbpf_register_prog_handler(sections[i], BPF_PROG_TYPE_TRACING, 0, &handler);
	cut = cut_types(argv[1], argv[2], path);
	while (check_program(argv[1], argv[2], n)) {
		if (check.insns)
			check_program(argv[1], cut, n);
		n++;
	}
	printf("%d programs\n", n);
	btf__free(check.btf);
	return check.failed;
}
