/* SPDX-License-Identifier: MIT */
/*
 * The sources of one recording. Each function asks all of them in their order (source.h says what
 * for).
 */
#ifndef EBPROF_SOURCES_H
#define EBPROF_SOURCES_H

#include "sources/source.h"

/* All that there are; ends with NULL. */
extern const struct source_ops *const source_table[];

struct sources {
	struct source *v[COLLECTOR_PARTS_MAX];
	size_t n;
	struct source_host host;	/* filled by the session */
};

/* 0, or a negative errno with @e filled: what source.h says of each. */
int sources_check(struct source_options *o, struct stack_options *stack, struct error *e);
int sources_choose(struct sources *list, struct source_options *o, struct error *e);
int sources_prepare(struct sources *list, const struct source_setup *setup, struct error *e);
/* Leaves @env as it is where no source has any. */
void sources_environment(const struct sources *list, char *env[SOURCE_ENVIRONMENT_MAX]);
/* Of the first source that has one; NULL: none has. */
const struct event *sources_event(const struct sources *list);
/* @s belongs to the list; its ops are set. */
void sources_add(struct sources *list, struct source *s);
void sources_free(struct sources *list);
/* The kernel side, for struct collector_options. Returns how many there are. */
size_t sources_parts(const struct sources *list, struct collector_part parts[COLLECTOR_PARTS_MAX]);

void sources_begin(struct sources *list);
void sources_started(struct sources *list);
/* 1 where it was a source's record. */
int sources_record(struct sources *list, const struct ebp_head *head);
void sources_count(struct sources *list, const struct source_count *c);
void sources_flush(struct sources *list, int last);
void sources_ran(struct sources *list, const struct ebp_key *key, uint32_t sample, uint64_t n);
void sources_process_event(struct sources *list, const struct sideband_event *event);
/* The time of the next turn, or @until where that comes first. */
uint64_t sources_until(const struct sources *list, uint64_t until);
void sources_turn(struct sources *list, uint64_t now);
void sources_set_frequency(struct sources *list, uint64_t frequency);
void sources_stopping(struct sources *list);
int sources_hide(const struct sources *list, const struct ebp_key *key, uint32_t location);
uint32_t sources_leaf(struct sources *list, const struct ebp_key *key, uint32_t node);
uint32_t sources_labels(struct sources *list, const struct ebp_key *key);
void sources_update(struct sources *list);
void sources_fold(struct sources *list, const uint32_t *samples);
void sources_finish(struct sources *list, uint64_t began, uint64_t stopped);
void sources_summary(const struct sources *list, struct summary *rows);
/* 1 where one of them is so (struct source_ops). */
int sources_are_whole(const struct sources *list);
int sources_keep_samples(const struct sources *list);
/* 1 where times are kept unasked (the same), of all. */
int sources_keep_times(const struct sources *list);
/* 1 where all are so (the same): then sources_begin() may be called again. */
int sources_renew(const struct sources *list);

#endif
