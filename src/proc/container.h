/* SPDX-License-Identifier: MIT */
/*
 * What is known on this machine of a container by its id, without asking a server: what the
 * kubelet, Docker, containerd, CRI-O and Podman keep in files. All of it is cleaned: letters,
 * digits and "._-/:@+" alone, "_" for all else.
 */
#ifndef EBPROF_CONTAINER_H
#define EBPROF_CONTAINER_H

#include <stddef.h>

#define CONTAINER_ID 65		/* bytes: hexadecimal digits and the end */

struct container {
	char id[CONTAINER_ID];
	/* "" where it is not known */
	char name[128], image[256], pod[256], namespace[64];
};

/*
 * @root: "" for that of this machine. 0, or -ENOENT where nothing is known; @out has its id then.
 */
int container_look(const char *root, const char *id, struct container *out);
/* --- For its tests. ------------------------------------------------------------ */

/* "POD_NAMESPACE_NAME-ID.log", as the kubelet names what containers write. 0 or -EINVAL. */
int container_of_log(const char *file, struct container *out);
/* A file of any of the others, of @n bytes and a NUL, which is changed. */
void container_of_json(char *text, size_t n, struct container *out);

#endif
