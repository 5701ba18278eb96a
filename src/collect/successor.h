/* SPDX-License-Identifier: MIT */
/*
 * Programs with frames of languages that succeed such without them, or with fewer, while a
 * recording goes on. All of them together take three times as long to load as all else of a start,
 * each alone a good part of it; most recordings of chosen processes meet one or none.
 *
 * Languages are bits by enum ebp_language, as in struct ebp_turn.
 */
#ifndef EBPROF_SUCCESSOR_H
#define EBPROF_SUCCESSOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_map;
struct collector_options;
struct ebprof_bpf;	/* ebprof.skel.h */
struct successor;

/*
 * Whether programs can be succeeded by tail calls (bpf/succeeded.bpf.h): those that have functions
 * can make them since Linux 5.10 on x86-64, since 6.0 on arm64.
 */
int successor_can_be_called(void);
/* Calls the program @fd in @slot of @programs from now on. 0 or a negative errno. */
int successor_call(const struct bpf_map *programs, uint32_t slot, int fd);

/* Whether the programs of all parts of @o can be succeeded; @skel is open. */
int successor_is_possible(const struct collector_options *o, struct ebprof_bpf *skel);
/* What to load for @languages: before Linux 6.8 the verifier looks at all where it looks at one. */
uint32_t successor_languages(uint32_t languages);
/*
 * @skel is loaded: forks the process that can load others on the same maps, by @types
 * (kernel_types.h). All are borrowed. NULL with errno.
 */
struct successor *successor_new(const struct collector_options *o, struct ebprof_bpf *skel,
				int types);
void successor_free(struct successor *s);

/*
 * All of these may be called with NULL. Frames of @languages are wanted, too; they will be there
 * some 50 ms later.
 */
void successor_want(struct successor *s, uint32_t languages);
/* Whose frames the programs take that act. */
uint32_t successor_takes(const struct successor *s);
/* Waits until programs are loaded, if some are wanted, but not longer than @ms. */
void successor_wait(struct successor *s, int ms);
/*
 * While the parts count: attaches what was loaded: 1, once for each; 0: nothing was; a negative
 * errno: these could not be had.
 */
int successor_follow(struct successor *s);
/* Readable when there is something to follow; -1: there is nothing to come. */
int successor_fd(const struct successor *s);
/* The process; 0: there is none. */
pid_t successor_pid(const struct successor *s);
/* The socket on which successor_follow() calls recvmsg(2); 0: there is none. */
int successor_socket(const struct successor *s);

#endif
