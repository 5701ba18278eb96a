/* SPDX-License-Identifier: MIT */
#include "collect/successor.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/vec.h"
#include "collect/bpf_programs.h"
#include "collect/collector.h"
#include "collect/features.h"
#include "collect/loader.h"
#include "ebprof.skel.h"

/* What the loader can load. */
struct order {
	const struct ebprof_bpf *skel;
	int types;
	const char *names[LOADER_PROGRAMS];
	size_t n;
};

struct successor {
	struct collector_options o;
	struct ebprof_bpf *skel;
	struct loader *loader;
	struct ebp_turn turn, next;	/* of the programs that act; of those that were asked for */
	uint32_t wanted;		/* languages, so far */
	int fds[LOADER_PROGRAMS];	/* of those that act; 0: they are of @skel */
	size_t nfds;
};

/* Those of a part; 0: it has none. */
static size_t of_part(const struct collector_options *o, size_t part, struct ebprof_bpf *skel,
		      struct bpf_program *programs[LOADER_PROGRAMS])
{
	const struct collector_part *p = &o->parts[part];

	return p->ops->successors ? p->ops->successors(p->ctx, o, skel, programs) : 0;
}

int successor_can_be_called(void)
{
#if defined(__aarch64__)
	return features_linux(6, 0);
#else
	return features_linux(5, 10);
#endif
}

int successor_call(const struct bpf_map *programs, uint32_t slot, int fd)
{
	return bpf_map_update_elem(bpf_map__fd(programs), &slot, &fd, BPF_ANY) ? -errno : 0;
}

int successor_is_possible(const struct collector_options *o, struct ebprof_bpf *skel)
{
	struct bpf_program *programs[LOADER_PROGRAMS];

	for (size_t i = 0; i < o->nparts; i++)
		if (!of_part(o, i, skel, programs))
			return 0;
	return 1;
}

/* --- In the loader. -------------------------------------------------------------- */

static int is_ordered(const struct order *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->names[i], name))
			return 1;
	return 0;
}

/* 0 or a negative errno. */
static int reuse_maps(struct ebprof_bpf *s, const struct ebprof_bpf *old)
{
	struct bpf_map *map;
	int err = 0;

	bpf_object__for_each_map(map, s->obj) {
		const struct bpf_map *other;

		if (err)
			break;
		if (map == s->maps.rodata_turn)
			continue;
		other = bpf_object__find_map_by_name(old->obj, bpf_map__name(map));
		if (other && bpf_map__fd(other) >= 0)
			err = bpf_map__reuse_fd(map, bpf_map__fd(other));
		else
			err = bpf_map__set_autocreate(map, false);
	}
	return err;
}

/* Descriptors of the programs, which outlive @s. How many, or a negative errno. */
static int take_programs(const struct ebprof_bpf *s, const struct order *o,
			 int fds[LOADER_PROGRAMS])
{
	for (size_t i = 0; i < o->n; i++) {
		const struct bpf_program *program =
			bpf_object__find_program_by_name(s->obj, o->names[i]);

		fds[i] = fcntl(bpf_program__fd(program), F_DUPFD_CLOEXEC, 0);
		if (fds[i] < 0)
			return -errno;
	}
	return (int)o->n;
}

/* As it would be among those that it succeeds. */
static void prepare_program(struct bpf_program *program, const struct order *o)
{
	const char *name = bpf_program__name(program);
	int wanted = is_ordered(o, name);

	bpf_program__set_autoload(program, wanted);
	if (wanted)
		bpf_program__set_expected_attach_type(
			program, bpf_program__expected_attach_type(
					 bpf_object__find_program_by_name(o->skel->obj, name)));
}

static int load(void *ctx, const struct ebp_turn *turn, int fds[LOADER_PROGRAMS])
{
	const struct order *o = ctx;
	struct bpf_program *program;
	struct ebprof_bpf *s;
	int n;

	s = bpf_programs_open(o->types);
	if (!s)
		return -errno;
	bpf_object__for_each_program(program, s->obj)
		prepare_program(program, o);
	s->rodata_turn->turn = *turn;
	n = reuse_maps(s, o->skel);
	if (!n)
		n = ebprof_bpf__load(s);
	if (!n)
		n = take_programs(s, o, fds);
	ebprof_bpf__destroy(s);
	/* It mostly is not asked again. */
	heap_trim();
	return n;
}

/* --- In the process that records. ------------------------------------------------ */

uint32_t successor_languages(uint32_t languages)
{
	return languages && !features_linux(6, 8) ? EBP_LANGUAGES_ALL : languages;
}

struct successor *successor_new(const struct collector_options *o, struct ebprof_bpf *skel,
				int types)
{
	struct order order = { .skel = skel, .types = types };
	struct loader *loader;
	VEC(int) keep = { 0 };
	struct successor *s;
	struct bpf_map *map;
	int err;

	for (size_t i = 0; i < o->nparts; i++) {
		struct bpf_program *programs[LOADER_PROGRAMS];
		size_t n = of_part(o, i, skel, programs);

		for (size_t j = 0; j < n && order.n < LOADER_PROGRAMS; j++)
			order.names[order.n++] = bpf_program__name(programs[j]);
	}
	bpf_object__for_each_map(map, skel->obj)
		if (bpf_map__fd(map) >= 0)
			vec_push(&keep, bpf_map__fd(map));
	if (types >= 0)
		vec_push(&keep, types);
	loader = loader_new(load, &order, keep.v, keep.n);
	err = errno;
	vec_free(&keep);
	errno = err;
	if (!loader)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	*s = (struct successor){ .o = *o, .skel = skel, .loader = loader };
	s->turn = skel->rodata_turn->turn;
	s->wanted = s->turn.languages;
	return s;
}

static void close_programs(struct successor *s)
{
	while (s->nfds)
		close(s->fds[--s->nfds]);
}

void successor_free(struct successor *s)
{
	if (!s)
		return;
	close_programs(s);
	loader_free(s->loader);
	free(s);
}

static void ask(struct successor *s)
{
	if (s->wanted == s->turn.languages || loader_is_under_way(s->loader))
		return;
	s->next = (struct ebp_turn){ s->turn.number + 1, s->wanted };
	loader_ask(s->loader, &s->next);
}

void successor_want(struct successor *s, uint32_t languages)
{
	if (!s)
		return;
	s->wanted |= successor_languages(languages);
	ask(s);
}

uint32_t successor_takes(const struct successor *s)
{
	return s ? s->turn.languages : EBP_LANGUAGES_ALL;
}

int successor_fd(const struct successor *s)
{
	return s && loader_is_under_way(s->loader) ? loader_fd(s->loader) : -1;
}

int successor_socket(const struct successor *s)
{
	return s ? loader_fd(s->loader) : 0;
}

pid_t successor_pid(const struct successor *s)
{
	return s ? loader_pid(s->loader) : 0;
}

/* For a moment both are attached, so that no event is missed. */
static int succeed(struct successor *s, const int *fds)
{
	const struct collector_part *parts = s->o.parts;
	struct bpf_program *programs[LOADER_PROGRAMS];
	size_t done = 0;
	int err = 0;

	for (; done < s->o.nparts && !err; done += !err) {
		err = parts[done].ops->succeed(parts[done].ctx, s->skel, fds);
		fds += of_part(&s->o, done, s->skel, programs);
	}
	if (!err)
		__atomic_store_n(&s->skel->bss->acting, s->next.number, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < done; i++)
		if (parts[i].ops->settle)
			parts[i].ops->settle(parts[i].ctx, s->skel, !err);
	return err;
}

void successor_wait(struct successor *s, int ms)
{
	struct pollfd p = { .fd = successor_fd(s), .events = POLLIN };

	if (p.fd >= 0)
		poll(&p, 1, ms);
}

int successor_follow(struct successor *s)
{
	int fds[LOADER_PROGRAMS], err;
	int n = successor_fd(s) < 0 ? 0 : loader_take(s->loader, fds);

	if (n <= 0)
		return n;
	err = succeed(s, fds);
	if (err) {
		while (n)
			close(fds[--n]);
		return err;
	}
	close_programs(s);
	memcpy(s->fds, fds, (size_t)n * sizeof(*fds));
	s->nfds = (size_t)n;
	s->turn = s->next;
	ask(s);
	return 1;
}
