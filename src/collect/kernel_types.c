// SPDX-License-Identifier: MIT
#include "collect/kernel_types.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/io.h"
#include "base/vec.h"

#define DEPTH_MAX 32	/* of types in types */

/* BTF as bytes, every offset of which is checked. */
struct raw {
	const char *types, *strings;
	uint32_t types_size, strings_size;
	uint32_t *at;		/* where each type begins, by its number; [0]: void */
	uint32_t n;		/* numbers that are used, with 0 */
};

struct cut {
	struct raw kernel;
	struct hashmap names;	/* that the object's own types and members have */
	struct btf *out;
	uint32_t *copies;	/* of each of the kernel's types; 0: none yet */
	uint32_t pointer;	/* what stands for all */
	int err;
};

/* --- BTF as bytes. ------------------------------------------------------------------ */

/* What a type of each kind has behind its first 12 bytes: fixed, and for each of its parts. */
static const struct { uint8_t fixed, part; } tails[] = {
	[BTF_KIND_INT] = { sizeof(uint32_t), 0 },
	[BTF_KIND_PTR] = { 0, 0 },
	[BTF_KIND_ARRAY] = { sizeof(struct btf_array), 0 },
	[BTF_KIND_STRUCT] = { 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { 0, sizeof(struct btf_enum) },
	[BTF_KIND_FUNC_PROTO] = { 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { sizeof(struct btf_var), 0 },
	[BTF_KIND_DATASEC] = { 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_DECL_TAG] = { sizeof(struct btf_decl_tag), 0 },
	[BTF_KIND_ENUM64] = { 0, sizeof(struct btf_enum64) },
};

#define KINDS (sizeof(tails) / sizeof(*tails))

static const struct btf_type *type_at(const struct raw *r, uint32_t id)
{
	return id && id < r->n ? (const void *)(r->types + r->at[id]) : NULL;
}

static const char *name_at(const struct raw *r, uint32_t offset)
{
	return offset < r->strings_size ? r->strings + offset : "";
}

static int index_types(struct raw *r)
{
	VEC(uint32_t) at = { 0 };
	uint64_t size;

	vec_push(&at, 0);
	for (uint32_t i = 0; i < r->types_size; i += (uint32_t)size) {
		const struct btf_type *t = (const void *)(r->types + i);
		uint32_t left = r->types_size - i;

		size = sizeof(*t);
		if (left >= size && btf_kind(t) < KINDS)
			size += tails[btf_kind(t)].fixed +
				(uint64_t)btf_vlen(t) * tails[btf_kind(t)].part;
		if (left < size || !btf_kind(t) || btf_kind(t) >= KINDS) {
			vec_free(&at);
			return -EBADMSG;
		}
		vec_push(&at, i);
	}
	r->at = at.v;
	r->n = (uint32_t)at.n;
	return 0;
}

/* Of @size bytes, aligned as they are. 0, or -EBADMSG: it is none, or of a kind not known here. */
static int raw_open(struct raw *r, const void *bytes, size_t size)
{
	const struct btf_header *h = bytes;
	const char *end = (const char *)bytes + size;

	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->version != BTF_VERSION ||
	    h->hdr_len < sizeof(*h) || h->hdr_len > size || (h->hdr_len | h->type_off) & 3 ||
	    h->type_off > size - h->hdr_len ||
	    h->type_len > size - h->hdr_len - h->type_off ||
	    h->str_off > size - h->hdr_len || !h->str_len ||
	    h->str_len > size - h->hdr_len - h->str_off)
		return -EBADMSG;
	r->types = (const char *)bytes + h->hdr_len + h->type_off;
	r->types_size = h->type_len;
	r->strings = (const char *)bytes + h->hdr_len + h->str_off;
	r->strings_size = h->str_len;
	if (r->strings + r->strings_size > end || r->strings[r->strings_size - 1])
		return -EBADMSG;
	return index_types(r);
}

/* --- Names. --------------------------------------------------------------------------- */

/* Without what the flavours of a type differ in (struct task_struct___before_5_14). */
static uint64_t name_hash(const char *name)
{
	const char *flavour = strstr(name, "___");

	return hash_bytes(name, flavour && flavour > name ? (size_t)(flavour - name)
							  : strlen(name));
}

static int is_named(const struct cut *c, const char *name)
{
	return hashmap_get(&c->names, name_hash(name)) != HASHMAP_NONE;
}

static void take_name(struct cut *c, const char *name)
{
	if (*name)
		hashmap_set(&c->names, name_hash(name), 1);
}

static void take_names(struct cut *c, const struct raw *own)
{
	for (uint32_t id = 1; id < own->n; id++) {
		const struct btf_type *t = type_at(own, id);

		take_name(c, name_at(own, t->name_off));
		for (int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
			take_name(c, name_at(own, btf_members(t)[i].name_off));
	}
}

/* --- Copies. --------------------------------------------------------------------------- */

static uint32_t copy(struct cut *c, uint32_t id, int depth);

/* What libbpf says of an addition; the first that failed stays. */
static uint32_t added(struct cut *c, int id)
{
	if (id < 0 && !c->err)
		c->err = id;
	return id < 0 ? 0 : (uint32_t)id;
}

static uint32_t copy_int(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	(void)depth;
	return added(c, btf__add_int(c->out, *name ? name : "int", t->size, btf_int_encoding(t)));
}

static uint32_t copy_float(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	(void)depth;
	return added(c, btf__add_float(c->out, name, t->size));
}

static uint32_t copy_pointer(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	(void)t, (void)name, (void)depth;
	if (!c->pointer)
		c->pointer = added(c, btf__add_ptr(c->out, 0));
	return c->pointer;
}

static uint32_t copy_array(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	const struct btf_array *a = btf_array(t);
	uint32_t element = copy(c, a->type, depth), index = copy(c, a->index_type, depth);

	(void)name;
	return added(c, btf__add_array(c->out, (int)index, (int)element, a->nelems));
}

static uint32_t copy_enum(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	uint32_t id = added(c, btf__add_enum(c->out, name, t->size));

	(void)depth;
	for (int i = 0; i < btf_vlen(t); i++)
		added(c, btf__add_enum_value(c->out, name_at(&c->kernel, btf_enum(t)[i].name_off),
					     btf_enum(t)[i].val));
	return id;
}

static uint32_t copy_enum64(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	uint32_t id = added(c, btf__add_enum64(c->out, name, t->size, btf_kflag(t)));

	(void)depth;
	for (int i = 0; i < btf_vlen(t); i++)
		added(c, btf__add_enum64_value(c->out,
					       name_at(&c->kernel, btf_enum64(t)[i].name_off),
					       btf_enum64_value(&btf_enum64(t)[i])));
	return id;
}

/* Its members' types first: libbpf adds members to the last type only. */
static uint32_t copy_composite(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	uint32_t id, n = btf_vlen(t), *types = xcalloc(n + 1, sizeof(*types));
	uint8_t *wanted = xcalloc(n + 1, 1);

	for (uint32_t i = 0; i < n; i++) {
		const char *member = name_at(&c->kernel, btf_members(t)[i].name_off);

		wanted[i] = !*member || is_named(c, member);
		types[i] = wanted[i] ? copy(c, btf_members(t)[i].type, depth) : 0;
	}
	id = added(c, btf_is_struct(t) ? btf__add_struct(c->out, name, t->size)
				       : btf__add_union(c->out, name, t->size));
	for (uint32_t i = 0; i < n; i++)
		if (wanted[i])
			added(c, btf__add_field(c->out,
						name_at(&c->kernel, btf_members(t)[i].name_off),
						(int)types[i], btf_member_bit_offset(t, i),
						btf_member_bitfield_size(t, i)));
	free(types);
	free(wanted);
	return id;
}

/* What a name stands for, or a qualifier is of. */
static uint32_t copy_inner(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	(void)name;
	return copy(c, t->type, depth);
}

static uint32_t (*const copiers[])(struct cut *c, const struct btf_type *t, const char *name,
				   int depth) = {
	[BTF_KIND_INT] = copy_int,
	[BTF_KIND_FLOAT] = copy_float,
	[BTF_KIND_PTR] = copy_pointer,
	[BTF_KIND_ARRAY] = copy_array,
	[BTF_KIND_ENUM] = copy_enum,
	[BTF_KIND_ENUM64] = copy_enum64,
	[BTF_KIND_STRUCT] = copy_composite,
	[BTF_KIND_UNION] = copy_composite,
	[BTF_KIND_TYPEDEF] = copy_inner,
	[BTF_KIND_CONST] = copy_inner,
	[BTF_KIND_VOLATILE] = copy_inner,
	[BTF_KIND_RESTRICT] = copy_inner,
	[BTF_KIND_TYPE_TAG] = copy_inner,
};

#define COPIERS (sizeof(copiers) / sizeof(*copiers))

/* Its number in what is made; 0: void, and where that failed. */
static uint32_t copy(struct cut *c, uint32_t id, int depth)
{
	const struct btf_type *t = type_at(&c->kernel, id);

	if (!t || c->err)
		return 0;
	if (c->copies[id])
		return c->copies[id];
	if (depth > DEPTH_MAX || btf_kind(t) >= COPIERS || !copiers[btf_kind(t)]) {
		c->err = -EBADMSG;
		return 0;
	}
	c->copies[id] = copiers[btf_kind(t)](c, t, name_at(&c->kernel, t->name_off), depth + 1);
	return c->copies[id];
}

/* A name that is looked for as such, too. */
static void copy_typedef(struct cut *c, const struct btf_type *t)
{
	uint32_t inner = copy(c, t->type, 0);

	added(c, btf__add_typedef(c->out, name_at(&c->kernel, t->name_off), (int)inner));
}

static void copy_named(struct cut *c)
{
	for (uint32_t id = 1; id < c->kernel.n && !c->err; id++) {
		const struct btf_type *t = type_at(&c->kernel, id);

		if (!btf_is_composite(t) && !btf_is_any_enum(t) && !btf_is_typedef(t))
			continue;
		if (!t->name_off || !is_named(c, name_at(&c->kernel, t->name_off)))
			continue;
		if (btf_is_typedef(t))
			copy_typedef(c, t);
		else
			copy(c, id, 0);
	}
}

struct btf *kernel_types_cut(const void *kernel, size_t kernel_size, const void *own,
			     size_t own_size)
{
	struct raw named = { 0 };
	struct cut c = { 0 };

	c.err = raw_open(&c.kernel, kernel, kernel_size);
	if (!c.err)
		c.err = raw_open(&named, own, own_size);
	c.out = c.err ? NULL : btf__new_empty();
	if (!c.out && !c.err)
		c.err = -errno;
	if (!c.err) {
		c.copies = xcalloc(c.kernel.n, sizeof(*c.copies));
		take_names(&c, &named);
		copy_named(&c);
	}
	if (c.err) {
		btf__free(c.out);
		c.out = NULL;
		errno = -c.err;
	}
	hashmap_free(&c.names);
	free(c.copies);
	free(c.kernel.at);
	free(named.at);
	return c.out;
}

/* --- Of a kernel, for an object. ----------------------------------------------------- */

/* The section .BTF of an object; NULL: it has none. */
static const void *own_types(Elf *e, size_t *size)
{
	Elf_Scn *scn = NULL;
	Elf_Data *data;
	GElf_Shdr sh;
	size_t names;

	if (e && !elf_getshdrstrndx(e, &names))
		while ((scn = elf_nextscn(e, scn))) {
			const char *name = gelf_getshdr(scn, &sh)
						   ? elf_strptr(e, names, sh.sh_name) : NULL;

			if (!name || strcmp(name, ".BTF"))
				continue;
			data = elf_rawdata(scn, NULL);
			*size = data ? data->d_size : 0;
			return data ? data->d_buf : NULL;
		}
	return NULL;
}

/* The kernel's, mapped, or (*@copied) read. NULL with errno. */
static void *all_types(const char *path, size_t *size, int *copied)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0) {
		*size = (size_t)st.st_size;
		bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
		*copied = bytes == MAP_FAILED;
		if (*copied) {
			bytes = xmalloc(*size);
			if (io_read_full(fd, bytes, *size) != (ssize_t)*size) {
				free(bytes);
				bytes = NULL;
				errno = EBADMSG;
			}
		}
	}
	close(fd);
	return bytes;
}

static int write_types(const struct btf *types)
{
	uint32_t size;
	const void *bytes = btf__raw_data(types, &size);
	int fd = bytes ? memfd_create("ebprof_types", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;
	int err = fd < 0 ? -errno : io_write_full(fd, bytes, size);

	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int kernel_types_open(const char *kernel, const void *object, size_t size)
{
	size_t own_size = 0, all_size = 0;
	int copied = 0, fd;
	struct btf *types;
	const void *own;
	void *all;
	Elf *e;

	elf_version(EV_CURRENT);
	errno = EBADMSG;
	e = elf_memory((char *)object, size);
	own = own_types(e, &own_size);
	all = own ? all_types(kernel, &all_size, &copied) : NULL;
	types = all ? kernel_types_cut(all, all_size, own, own_size) : NULL;
	fd = types ? write_types(types) : -errno;
	btf__free(types);
	if (copied)
		free(all);
	else if (all)
		munmap(all, all_size);
	elf_end(e);
	return fd;
}

const char *kernel_types_path(int fd, char path[KERNEL_TYPES_PATH])
{
	if (fd < 0)
		return NULL;
	snprintf(path, KERNEL_TYPES_PATH, "/proc/self/fd/%d", fd);
	return path;
}
