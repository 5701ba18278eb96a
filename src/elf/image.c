/* SPDX-License-Identifier: MIT */
#include "elf/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/text.h"
#include "base/vec.h"
#include "elf/image_open.h"

#define TRIES		16		/* openings of one image that fails to open */
/* a target that maps ever new files must not eat our memory */
#define IMAGES_MAX	(1u << 20)

static const char deleted[] = " (deleted)";

struct entry {
	struct image img;		/* first: its address is what callers hold */
	char *raw;			/* the path as the kernel told it, without " (deleted)" */
	unsigned int tries;
};

/* One way to know an image; an image may have several. */
struct alias {
	uint32_t image;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_size;		/* 0: known by device and inode */
};

struct images {
	VEC(struct entry *) entries;	/* by id */
	VEC(uint32_t) unused;		/* ids */
	VEC(struct alias) aliases;
	struct interned index;		/* aliases with their paths */
};

struct images *images_new(void)
{
	return xcalloc(1, sizeof(struct images));
}

void images_free(struct images *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->entries.n; i++) {
		struct entry *e = all->entries.v[i];

		if (e->img.fd >= 0)
			close(e->img.fd);
		free((char *)e->img.path);
		free(e->raw);
		free(e);
	}
	vec_free(&all->entries);
	vec_free(&all->unused);
	vec_free(&all->aliases);
	interned_free(&all->index);
	free(all);
}

const struct image *images_at(const struct images *all, uint32_t id)
{
	return &all->entries.v[id]->img;
}

uint32_t images_count(const struct images *all)
{
	return (uint32_t)all->entries.n;
}

/* Code that the kernel maps into a process and that no file holds. */
static int is_special(const char *path)
{
	static const char *const names[] = { "[vsyscall]", "[uprobes]", "[vectors]", "[sigpage]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(path, names[i]))
			return 1;
	return 0;
}

/* Memory without a file whose name is still a path: what shared anonymous memory is made of. */
static int is_anonymous(const char *path)
{
	return path[0] != '/' || !strcmp(path, "//anon") || !strcmp(path, "/dev/zero") ||
	       !strcmp(path, "/anon_hugepage") ||
	       (!strncmp(path, "/SYSV", 5) && strspn(path + 5, "0123456789abcdef") == 8 &&
		!path[13]);
}

/* An alias of the image at a path. */
struct known_as {
	const struct alias *alias;
	const char *path;
};

static uint64_t hash_alias(const struct known_as *k)
{
	const struct alias *a = k->alias;

	return hash_pair(hash_bytes(k->path, strlen(k->path)),
			 a->build_id_size ? hash_bytes(a->build_id, a->build_id_size)
					  : hash_pair(a->inode, (uint64_t)a->dev_major << 32 |
								a->dev_minor));
}

static int same_alias(const void *images, uint32_t i, const void *known_as)
{
	const struct images *all = images;
	const struct known_as *k = known_as;
	const struct alias *a = k->alias, *b = &all->aliases.v[i];

	return a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size) && a->inode == b->inode &&
	       a->dev_major == b->dev_major && a->dev_minor == b->dev_minor &&
	       !strcmp(k->path, all->entries.v[b->image]->raw);
}

/* The image at @path that is known as @a, or HASHMAP_NONE. */
static uint32_t find_image(const struct images *all, struct alias a, const char *path)
{
	struct known_as k = { &a, path };
	uint32_t i = intern_find(&all->index, hash_alias(&k), same_alias, all, &k);

	return i == HASHMAP_NONE ? i : all->aliases.v[i].image;
}

static struct alias alias_of_build_id(const uint8_t *id, uint8_t size)
{
	struct alias a = { .build_id_size = size };

	memcpy(a.build_id, id, size);
	return a;
}

static struct alias alias_of_key(const struct image_key *key)
{
	if (key->build_id_size)
		return alias_of_build_id(key->build_id, key->build_id_size);
	return (struct alias){ .dev_major = key->dev_major,
			       .dev_minor = key->dev_minor,
			       .inode = key->inode };
}

/* Makes @image known as @a too, where nothing is known so yet. */
static void add_alias(struct images *all, struct alias a, uint32_t image)
{
	struct known_as k = { &a, all->entries.v[image]->raw };
	uint32_t next = (uint32_t)all->aliases.n;

	a.image = image;
	if (intern(&all->index, hash_alias(&k), next, same_alias, all, &k) == next)
		vec_push(&all->aliases, a);
}

static struct entry *new_entry(struct images *all)
{
	struct entry *e;

	if (all->unused.n)
		return all->entries.v[all->unused.v[--all->unused.n]];
	e = xcalloc(1, sizeof(*e));
	e->img.id = (uint32_t)all->entries.n;
	vec_push(&all->entries, e);
	return e;
}

static uint32_t add_image(struct images *all, enum image_kind kind, const char *path)
{
	struct entry *e = new_entry(all);
	/* A character becomes at most four times as long: \xHH for one byte, \u{HHHH} for two. */
	size_t size = 4 * strlen(path) + 1;
	char *clean = xmalloc(size), *slash;

	text_clean(clean, size, path);
	slash = strrchr(clean, '/');
	e->img = (struct image){
		.id = e->img.id, .kind = kind, .fd = -1, .why = -ENOENT,
		.path = clean, .name = slash && slash[1] ? slash + 1 : clean,
	};
	e->raw = xstrdup(path);
	return e->img.id;
}

static void set_file(struct entry *e, const struct image_file *file)
{
	e->img.fd = file->fd;
	e->img.why = 0;
	e->img.build_id_size = file->build_id_size;
	memcpy(e->img.build_id, file->build_id, file->build_id_size);
}

/* Another try for an image that could not be opened, now that @pid maps it. */
static void try_again(struct images *all, struct entry *e, pid_t pid, const struct image_key *key)
{
	struct image_file file = { .fd = -1 };

	if (e->img.fd >= 0 || e->img.kind != IMAGE_FILE || e->img.why == -ENOEXEC ||
	    e->tries >= TRIES)
		return;
	e->tries++;
	e->img.why = image_open(pid, key, e->raw, &file);
	if (e->img.why)
		return;
	set_file(e, &file);
	e->img.pid = pid;
	if (file.build_id_size)
		add_alias(all, alias_of_build_id(file.build_id, file.build_id_size), e->img.id);
}

/*
 * An image never seen under this key: new, or known by the build id that its file turns out to
 * have.
 */
static uint32_t first_sight(struct images *all, pid_t pid, const struct image_key *key,
			    const char *path)
{
	struct image_file file = { .fd = -1 };
	int why = image_open(pid, key, path, &file);
	uint32_t id = HASHMAP_NONE;

	if (!why && file.build_id_size)
		id = find_image(all, alias_of_build_id(file.build_id, file.build_id_size), path);
	if (id == HASHMAP_NONE) {
		id = add_image(all, IMAGE_FILE, path);
		all->entries.v[id]->img.pid = pid;
		all->entries.v[id]->tries = 1;
		if (key->build_id_size) {
			all->entries.v[id]->img.build_id_size = key->build_id_size;
			memcpy(all->entries.v[id]->img.build_id, key->build_id, key->build_id_size);
		}
	}
	if (why)
		all->entries.v[id]->img.why = why;
	else if (all->entries.v[id]->img.fd < 0)
		set_file(all->entries.v[id], &file);
	else
		close(file.fd);
	add_alias(all, alias_of_key(key), id);
	if (file.build_id_size)
		add_alias(all, alias_of_build_id(file.build_id, file.build_id_size), id);
	return id;
}

/* The one image of a name that no file stands behind. */
static uint32_t get_special(struct images *all, const struct image_key *key)
{
	enum image_kind kind = IMAGE_SPECIAL;
	const char *path = key->path;
	struct alias a = { 0 };
	uint32_t id;

	if (!strcmp(path, "[vdso]")) {
		/* A 32-bit process has another one, which is not in our own memory. */
		if (sizeof(void *) == 8 && key->end <= UINT32_MAX + 1ull)
			path = "[vdso32]";
		else
			kind = IMAGE_VDSO;
	}
	id = find_image(all, a, path);
	if (id == HASHMAP_NONE) {
		id = add_image(all, kind, path);
		add_alias(all, a, id);
	}
	return id;
}

/* images_get() of a file; @path is key->path without a " (deleted)". */
static uint32_t get_named(struct images *all, pid_t pid, const struct image_key *key,
			  const char *path)
{
	uint32_t id = find_image(all, alias_of_key(key), path);

	if (id != HASHMAP_NONE) {
		try_again(all, all->entries.v[id], pid, key);
		return id;
	}
	if (all->entries.n - all->unused.n >= IMAGES_MAX ||
	    all->aliases.n >= 4 * (size_t)IMAGES_MAX)
		return IMAGE_NONE;
	return first_sight(all, pid, key, path);
}

uint32_t images_get(struct images *all, pid_t pid, const struct image_key *key)
{
	size_t len = strlen(key->path), suffix = sizeof(deleted) - 1;
	struct image_key bounded = *key;
	uint32_t id;
	char *path;

	if (!strcmp(key->path, "[vdso]") || is_special(key->path))
		return get_special(all, key);
	if (is_anonymous(key->path))
		return IMAGE_NONE;
	if (bounded.build_id_size > ELF_BUILD_ID_MAX)
		bounded.build_id_size = ELF_BUILD_ID_MAX;
	if (len <= suffix || strcmp(key->path + len - suffix, deleted))
		return get_named(all, pid, &bounded, key->path);
	path = xstrdup(key->path);
	path[len - suffix] = '\0';
	id = is_anonymous(path) ? IMAGE_NONE : get_named(all, pid, &bounded, path);
	free(path);
	return id;
}

/* --- Giving back. ----------------------------------------------------------- */

/* Keeps those of live images, and makes their index anew. */
static void drop_aliases(struct images *all)
{
	size_t n = all->aliases.n;

	all->aliases.n = 0;
	interned_free(&all->index);
	for (size_t i = 0; i < n; i++) {
		const struct alias a = all->aliases.v[i];

		if (all->entries.v[a.image]->img.state == IMAGE_LIVE)
			add_alias(all, a, a.image);
	}
}

void images_retire(struct images *all, const unsigned char *which)
{
	for (uint32_t i = 0; i < all->entries.n; i++) {
		struct image *image = &all->entries.v[i]->img;

		if (!which[i] || image->state != IMAGE_LIVE)
			continue;
		image->state = IMAGE_RETIRED;
		image->why = -ENOENT;
		if (image->fd >= 0)
			close(image->fd);
		image->fd = -1;
	}
	drop_aliases(all);
}

void images_reuse(struct images *all, const unsigned char *which)
{
	for (uint32_t i = 0; i < all->entries.n; i++) {
		struct entry *e = all->entries.v[i];

		if (!which[i] || e->img.state != IMAGE_RETIRED)
			continue;
		free((char *)e->img.path);
		free(e->raw);
		*e = (struct entry){ .img = { .id = i, .state = IMAGE_UNUSED, .fd = -1 } };
		vec_push(&all->unused, i);
	}
}
