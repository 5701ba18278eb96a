/* SPDX-License-Identifier: MIT */
/* Whose processes are, as --by tells them apart: a container, a pod or a systemd unit. */
#ifndef EBPROF_OWNERS_H
#define EBPROF_OWNERS_H

#include <stdint.h>
#include <sys/types.h>

enum owner_kind { OWNER_NONE, OWNER_CONTAINER, OWNER_POD, OWNER_UNIT };

/* By its name, as "pod"; OWNER_NONE where it is none. */
enum owner_kind owner_kind(const char *name);
const char *owner_kind_name(enum owner_kind kind);

struct owners;

struct owners *owners_new(enum owner_kind kind);
void owners_free(struct owners *o);
enum owner_kind owners_kind(const struct owners *o);
/*
 * Whose @pid is, or where it is gone @parent: a number for owners_text(), which stays; 0: nobody's.
 */
uint32_t owners_of(struct owners *o, pid_t pid, pid_t parent);
/*
 * Clean: NAMESPACE/POD/NAME of a container in a pod, else its name, image, or the beginning of its
 * id; NAMESPACE/POD; a unit with what it ends on; "" for 0.
 */
const char *owners_text(const struct owners *o, uint32_t owner);

#endif
