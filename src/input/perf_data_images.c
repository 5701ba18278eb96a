/* SPDX-License-Identifier: MIT */
#include "input/perf_data_images.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/user.h"
#include "elf/vdso.h"
#include "symbols/kernel_dwarf.h"

#define KALLSYMS "/proc/kallsyms"

void perf_data_images_init(struct perf_data_images *all, struct perf_data_tasks *tasks,
			   struct images *images)
{
	*all = (struct perf_data_images){ .tasks = tasks, .images = images };
}

void perf_data_images_free(struct perf_data_images *all)
{
	vec_free(&all->opened);
}

/* --- The kernel. ---------------------------------------------------------------- */

/* Where the running kernel has @symbol; 0: it does not say. */
static uint64_t address_now(struct slice symbol)
{
	FILE *f = fopen(KALLSYMS, "re");
	uint64_t address = 0, at;
	char line[1024], name[512];

	while (f && !address && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %*c %511s", &at, name) == 2 &&
		    strlen(name) == symbol.n && !memcmp(name, symbol.s, symbol.n))
			address = at;
	if (f)
		fclose(f);
	return address;
}

/* 1 where the running kernel is the one that @k is of. */
static int is_running(const struct perf_data_tasks *t, const struct perf_data_kernel *k,
		      uint64_t slide)
{
	static const char path[] = "[kernel.kallsyms]";
	const struct perf_data_id *known =
		perf_data_build_id(t, (struct slice){ path, sizeof(path) - 1 });
	const uint8_t *id = k->build_id_size ? k->build_id : known ? known->bytes : NULL;
	size_t size = k->build_id_size ? k->build_id_size : known ? known->size : 0;
	struct slice release = t->file->release;
	uint8_t ours[ELF_BUILD_ID_MAX];
	struct utsname system;
	int now;

	/* What came through a pipe has no build ids: then it has to lie in the same place. */
	if (!id)
		return !slide && !uname(&system) && release.n == strlen(system.release) &&
		       !memcmp(release.s, system.release, release.n);
	now = kernel_build_id(&(struct kernel_places){ 0 }, ours);
	return now > 0 && (size_t)now == size && !memcmp(ours, id, size);
}

int perf_data_kernel_runs(struct perf_data_images *all)
{
	const struct perf_data_tasks *t = all->tasks;

	/* The first that has a symbol is the kernel; the others are modules. */
	for (; !all->kernel && all->looked < t->kernel.n; all->looked++) {
		const struct perf_data_kernel *k = &t->kernel.v[all->looked];
		uint64_t now = k->symbol.n ? address_now(k->symbol) : 0;

		if (!k->symbol.n)
			continue;
		all->slide = now - k->reference;
		all->start = k->start;
		all->end = k->end;
		all->kernel = now && is_running(t, k, all->slide) ? 1 : -1;
	}
	return all->kernel == 1;
}

/* 1 where the code that the kernel maps into processes is ours, too: by its build id. */
static int is_our_vdso(struct perf_data_images *all, const struct perf_data_image *image)
{
	uint8_t ours[ELF_BUILD_ID_MAX];
	size_t size, n = 0;
	void *copy;
	struct elf_file *elf;

	if (!image->build_id_size)
		return perf_data_kernel_runs(all);
	copy = vdso_copy(&size);
	elf = copy ? elf_file_open_memory(copy, size) : NULL;
	if (elf)
		n = elf_file_build_id(elf, ours);
	elf_file_free(elf);
	free(copy);
	return n == image->build_id_size && !memcmp(ours, image->build_id, n);
}

/* --- Files. --------------------------------------------------------------------- */

/* @path is not kept. */
static uint32_t get(struct perf_data_images *all, const struct perf_data_image *image, char *path)
{
	/* No process: it may be another one's number by now. */
	uint32_t id = images_get(all->images, 0,
				 &(struct image_key){ .path = path,
						      .dev_major = image->dev_major,
						      .dev_minor = image->dev_minor,
						      .inode = image->inode,
						      .build_id = image->build_id,
						      .build_id_size = image->build_id_size,
						      .end = UINT64_MAX });

	free(path);
	return id;
}

static int is_open(const struct perf_data_images *all, uint32_t id)
{
	return id != IMAGE_NONE && images_at(all->images, id)->fd >= 0;
}

/* Copies of it; @best where there are none. */
static uint32_t find_copy(struct perf_data_images *all, const struct perf_data_image *image,
			  uint32_t best)
{
	const struct user user = user_invoking();
	const char *fetched = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME");
	char hex[2 * PERF_DATA_ID_BYTES + 1], *home = user_home(&user);
	char *paths[2] = { 0 };

	for (int i = 0; i < image->build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", image->build_id[i]);
	if (home)
		paths[0] = xasprintf("%s/.debug%.*s/%s/elf", home, (int)image->path.n,
				     image->path.s, hex);
	if (fetched)
		paths[1] = xasprintf("%s/%s/executable", fetched, hex);
	else if (cache && !user.switched)
		paths[1] = xasprintf("%s/debuginfod_client/%s/executable", cache, hex);
	else if (home)
		paths[1] = xasprintf("%s/.cache/debuginfod_client/%s/executable", home, hex);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		uint32_t id = paths[i] ? get(all, image, paths[i]) : IMAGE_NONE;

		best = is_open(all, id) && !is_open(all, best) ? id : best;
	}
	free(home);
	return best;
}

static uint32_t find(struct perf_data_images *all, const struct perf_data_image *image)
{
	uint32_t id;

	if (slice_begins(image->path, "[vdso]") && !is_our_vdso(all, image))
		return IMAGE_NONE;
	id = get(all, image, xasprintf("%.*s", (int)image->path.n, image->path.s));
	if (id == IMAGE_NONE || images_at(all->images, id)->kind != IMAGE_FILE ||
	    is_open(all, id) || !image->build_id_size)
		return id;
	return find_copy(all, image, id);
}

const struct image *perf_data_image(struct perf_data_images *all, uint32_t i)
{
	uint32_t *known;

	while (all->opened.n <= i)
		vec_push(&all->opened, 0);
	known = &all->opened.v[i];
	if (!*known) {
		uint32_t id = find(all, &all->tasks->images.v[i]);

		*known = id == IMAGE_NONE ? IMAGE_NONE : id + 1;
	}
	return *known == IMAGE_NONE ? NULL : images_at(all->images, *known - 1);
}
