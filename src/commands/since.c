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
	const char *service;	/* NULL: none was named */
	char first[SERVICE_NAME + 1];	/* then: that of the first file */
	folder_file_vec files;
	uint64_t from, since;	/* ns of CLOCK_REALTIME */
};

static int several(const struct finder *f, const char *name, size_t service, struct error *e)
{
	return error_set(e, STATUS_USAGE, -EINVAL,
			 "%.200s has profiles of several services; name one: %.200s/%s, or "
			 ".../%.*s",
			 f->folder, f->folder, f->first, (int)service, name);
}

static int divide(struct finder *f, string_vec *before, string_vec *after, struct error *e)
{
	for (size_t i = 0; i < f->files.n; i++) {
		const char *name = f->files.v[i].name;
		uint64_t began;
		size_t n = folder_name_service(name, FOLDER_PROFILES, &began);
		const char *service = f->service ? f->service : f->first;

		if (began < f->from || n > SERVICE_NAME)
			continue;
		if (!*service)
			snprintf(f->first, sizeof(f->first), "%.*s", (int)n, name);
		if (strlen(service) == n && !strncmp(name, service, n))
			vec_push(began < f->since ? before : after,
				 xasprintf("%s/%s", f->folder, name));
		else if (!f->service)
			return several(f, name, n, e);
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
		err = divide(&f, before, after, e);
	}
	if (!err && (!before->n || !after->n))
		err = error_set(e, STATUS_ERROR, -ENOENT,
				"%.200s has no windows %s", where,
				after->n    ? "before the time of --since; give a shorter one"
				: before->n ? "since the time of --since; give a longer one"
					    : "of ebprof push that are so new");
	folder_list_free(&f.files);
	free(folder);
	return err;
}
