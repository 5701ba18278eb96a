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
#include <unistd.h>

#include "base/hashmap.h"
#include "base/io.h"
#include "base/xalloc.h"

#define DEPTH_MAX 32	/* of types in types */

struct cut {
	struct raw_btf kernel;
	struct hashmap names;	/* that the object's own types and members have */
	struct btf *out;
	uint32_t *copies;	/* of each of the kernel's types; 0: none yet */
	uint32_t pointer;	/* what stands for all */
	int err;
};

/* --- Names. --------------------------------------------------------------------------- */

/* Without what the flavours of a type differ in (struct task_struct___before_5_14). */
static uint64_t name_hash(const char *name)
{
	const char *flavour = strstr(name, "___");

	return hash_bytes(name, flavour && flavour > name ? (size_t)(flavour - name)
							  : strlen(name));
}

/* Of the kernel's. */
static const char *name_of(const struct cut *c, uint32_t offset)
{
	return raw_btf_name(&c->kernel, offset);
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

static void take_names(struct cut *c, const struct raw_btf *own)
{
	for (uint32_t id = 1; id < own->n; id++) {
		const struct btf_type *t = raw_btf_type(own, id);

		take_name(c, raw_btf_name(own, t->name_off));
		for (int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
			take_name(c, raw_btf_name(own, btf_members(t)[i].name_off));
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
		added(c, btf__add_enum_value(c->out, name_of(c, btf_enum(t)[i].name_off),
					     btf_enum(t)[i].val));
	return id;
}

static uint32_t copy_enum64(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	uint32_t id = added(c, btf__add_enum64(c->out, name, t->size, btf_kflag(t)));

	(void)depth;
	for (int i = 0; i < btf_vlen(t); i++)
		added(c, btf__add_enum64_value(c->out,
					       name_of(c, btf_enum64(t)[i].name_off),
					       btf_enum64_value(&btf_enum64(t)[i])));
	return id;
}

/* Its members' types first: libbpf adds members to the last type only. */
static uint32_t copy_composite(struct cut *c, const struct btf_type *t, const char *name, int depth)
{
	uint32_t id, n = btf_vlen(t), *types = xcalloc(n + 1, sizeof(*types));
	uint8_t *wanted = xcalloc(n + 1, 1);

	for (uint32_t i = 0; i < n; i++) {
		const char *member = name_of(c, btf_members(t)[i].name_off);

		wanted[i] = !*member || is_named(c, member);
		types[i] = wanted[i] ? copy(c, btf_members(t)[i].type, depth) : 0;
	}
	id = added(c, btf_is_struct(t) ? btf__add_struct(c->out, name, t->size)
				       : btf__add_union(c->out, name, t->size));
	for (uint32_t i = 0; i < n; i++)
		if (wanted[i])
			added(c, btf__add_field(c->out,
						name_of(c, btf_members(t)[i].name_off),
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
	const struct btf_type *t = raw_btf_type(&c->kernel, id);

	if (!t || c->err)
		return 0;
	if (c->copies[id])
		return c->copies[id];
	if (depth > DEPTH_MAX || btf_kind(t) >= COPIERS || !copiers[btf_kind(t)]) {
		c->err = -EBADMSG;
		return 0;
	}
	c->copies[id] = copiers[btf_kind(t)](c, t, name_of(c, t->name_off), depth + 1);
	return c->copies[id];
}

/* A name that is looked for as such, too. */
static void copy_typedef(struct cut *c, const struct btf_type *t)
{
	uint32_t inner = copy(c, t->type, 0);

	added(c, btf__add_typedef(c->out, name_of(c, t->name_off), (int)inner));
}

static void copy_named(struct cut *c)
{
	for (uint32_t id = 1; id < c->kernel.n && !c->err; id++) {
		const struct btf_type *t = raw_btf_type(&c->kernel, id);

		if (!btf_is_composite(t) && !btf_is_any_enum(t) && !btf_is_typedef(t))
			continue;
		if (!t->name_off || !is_named(c, name_of(c, t->name_off)))
			continue;
		if (btf_is_typedef(t))
			copy_typedef(c, t);
		else
			copy(c, id, 0);
	}
}

/* Takes both; where one could not be had @err says why. NULL with errno. */
static struct btf *cut(struct raw_btf *kernel, struct raw_btf *own, int err)
{
	struct cut c = { .kernel = *kernel, .err = err };

	c.out = c.err ? NULL : btf__new_empty();
	if (!c.out && !c.err)
		c.err = -errno;
	if (!c.err) {
		c.copies = xcalloc(c.kernel.n, sizeof(*c.copies));
		take_names(&c, own);
		copy_named(&c);
	}
	if (c.err) {
		btf__free(c.out);
		c.out = NULL;
	}
	hashmap_free(&c.names);
	free(c.copies);
	raw_btf_close(kernel);
	raw_btf_close(own);
	errno = -c.err;
	return c.out;
}

struct btf *kernel_types_cut(const void *kernel, size_t kernel_size, const void *own,
			     size_t own_size)
{
	struct raw_btf types = { 0 }, named = { 0 };
	int err = raw_btf_parse(&types, kernel, kernel_size);

	if (!err)
		err = raw_btf_parse(&named, own, own_size);
	return cut(&types, &named, err);
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
	struct raw_btf types = { 0 }, named = { 0 };
	size_t own_size = 0;
	const void *own;
	struct btf *made;
	int fd, err;
	Elf *e;

	elf_version(EV_CURRENT);
	e = elf_memory((char *)object, size);
	own = own_types(e, &own_size);
	err = own ? raw_btf_parse(&named, own, own_size) : -EBADMSG;
	if (!err)
		err = raw_btf_open(&types, kernel);
	made = cut(&types, &named, err);
	fd = made ? write_types(made) : -errno;
	btf__free(made);
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
