/* SPDX-License-Identifier: MIT */
/*
 * Which service a process belongs to: its systemd unit or its container, as its cgroup says; else
 * what it publishes itself (proc/otel_context.h); else the file of its program. A container is
 * called NAMESPACE.NAME as in Kubernetes, else by its name or its image, as the runtime's files say
 * (proc/container.h), else by the beginning of its id. A process that was gone before anybody
 * looked belongs to what its parent belongs to; where that is not known its name counts.
 *
 * There are SERVICES_MAX names at most, and one more, "other", for all the rest: servers keep a
 * series for each.
 */
#ifndef EBPROF_SERVICE_H
#define EBPROF_SERVICE_H

#include <stddef.h>

#include "proc/container.h"
#include "proc/remote.h"
#include "profile/profile.h"
#include "profile/profile_fold.h"

#define SERVICES_MAX 256
#define SERVICE_NAME 64		/* bytes, with its end */
#define SERVICE_CGROUPS 256	/* paths that are told apart; others are none */
#define SERVICE_CGROUP 256	/* bytes of one, with its end */

/*
 * The service that @cgroup, the text of /proc/PID/cgroup, names. Letters, digits and ".-_@" alone
 * are in @name; all else became "_". 1, or 0 where there is none.
 */
int service_of_cgroup(const char *cgroup, char name[SERVICE_NAME]);
/* A name of any text, as above: never empty, never with a dot at its beginning. */
void service_name(const char *text, char name[SERVICE_NAME]);

struct services;

struct services *services_new(void);
void services_free(struct services *s);
/* What processes publish is read by @remote, which must outlive @s; without it none of that is. */
void services_memory(struct services *s, struct remote *remote);
/* Looks at the processes of @p that are new, while they are there. */
void services_look(struct services *s, const struct profile *p);
/*
 * The same; those of which nothing could be seen belong to their names, which @p has by now. Those
 * that go by their programs are looked at some more times for what they publish meanwhile.
 */
void services_settle(struct services *s, const struct profile *p);
/* @p is to take the place of @old, whose processes it has some of. */
void services_renew(struct services *s, const struct profile *old, const struct profile *p);
/* After profile_fold(): by the indexes of now. */
void services_fold(struct services *s, const struct profile *p);
/* Where the processes of a service are, as far as they have it in common. */
struct service_place {
	/*
	 * Of one container all that is known, of several the name, the image and the namespace, ""
	 * where these differ; "" all of it where one is in none.
	 */
	struct container container;
	/* The path of all, or the nearest above them; "": the root. */
	char cgroup[SERVICE_CGROUP];
};

/* Of those alone, by process, that @ran. */
struct service_place services_place(const struct services *s, uint32_t service,
				    const unsigned char *ran);
/* By process of the profile that services_settle() saw: the index of its service. */
const uint32_t *services_of(const struct services *s);
size_t services_count(const struct services *s);
const char *services_text(const struct services *s, uint32_t service);

#endif
