/* SPDX-License-Identifier: MIT */
#include "commands/since.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "push/folder.h"

struct finder {
	const char *folder;	/* that of @where, or what precedes its last slash */
	const char *service;	/* NULL: the only one that there is */
	folder_file_vec files;
	uint64_t from, since;	/* ns of CLOCK_REALTIME */
};

/* Whether the file is one of the service. Where none was named the first one names it. */
static int is_of(const struct finder *f, const char *name, size_t service)
{
	return strlen(f->service) == service && !strncmp(name, f->service, service);
}

static int several(const struct finder *f, const char *name, size_t service, struct error *e)
{
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "%.200s has profiles of several services; name one: %.200s/%s, or .../%.*s",
			 f->folder, f->folder, f->service, (int)service, name);
}

static int divide(struct finder *f, int any, string_vec *before, string_vec *after,
		  struct error *e)
{
	char first[SERVICE_NAME + 1];

	for (size_t i = 0; i < f->files.n; i++) {
		const char *name = f->files.v[i].name;
		uint64_t began;
		size_t service = folder_name_service(name, FOLDER_PROFILES, &began);

		if (began < f->from || service > SERVICE_NAME)
			continue;
		if (any && !f->service) {
			snprintf(first, sizeof(first), "%.*s", (int)service, name);
			f->service = first;
		}
		if (is_of(f, name, service))
			vec_push(began < f->since ? before : after,
				 xasprintf("%s/%s", f->folder, name));
		else if (any)
			return several(f, name, service, e);
	}
	return 0;
}

int since_find(const char *where, uint64_t ns, string_vec *before, string_vec *after,
	       struct error *e)
{
	char *folder = xstrdup(where), *slash;
	uint64_t now = clock_wall_ns();
	struct finder f = { .folder = folder };
	struct stat st;
	int dir, err, any = !stat(where, &st) && S_ISDIR(st.st_mode);

	slash = strrchr(folder, '/');
	if (!any && slash) {
		*slash = '\0';
		f.service = slash + 1;
	} else if (!any) {
		f.folder = ".";
		f.service = folder;
	}
	f.since = now > ns ? now - ns : 0;
	f.from = f.since > ns ? f.since - ns : 0;
	dir = open(f.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = dir < 0 ? error_set(e, STATUS_ERROR, -errno, "cannot open %.200s: %s", where,
				  strerror(errno))
		      : 0;
	if (!err) {
		folder_list(dir, FOLDER_PROFILES, &f.files);
		close(dir);
		err = divide(&f, any, before, after, e);
	}
	if (!err && (!before->n || !after->n))
		err = error_set(e, STATUS_ERROR, -ENOENT,
				after->n    ? "%.200s has no windows before the time of --since; "
					      "give a shorter one"
				: before->n ? "%.200s has no windows since the time of --since; "
					      "give a longer one"
					    : "%.200s has no windows of ebprof push that are so new",
				where);
	folder_list_free(&f.files);
	free(folder);
	return err;
}
