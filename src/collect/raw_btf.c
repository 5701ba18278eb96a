/* SPDX-License-Identifier: MIT */
#include "collect/raw_btf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"

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

static int index_types(struct raw_btf *r)
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

int raw_btf_parse(struct raw_btf *r, const void *bytes, size_t size)
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

static int take_file(struct raw_btf *r, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size <= 0)
		return -EBADMSG;
	r->file_size = (size_t)st.st_size;
	r->file = mmap(NULL, r->file_size, PROT_READ, MAP_PRIVATE, fd, 0);
	r->copied = r->file == MAP_FAILED;
	if (!r->copied)
		return 0;
	r->file = xmalloc(r->file_size);
	return io_read_full(fd, r->file, r->file_size) == (ssize_t)r->file_size ? 0 : -EBADMSG;
}

int raw_btf_open(struct raw_btf *r, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	*r = (struct raw_btf){ 0 };
	if (fd < 0)
		return -errno;
	err = take_file(r, fd);
	close(fd);
	return err ? err : raw_btf_parse(r, r->file, r->file_size);
}

void raw_btf_close(struct raw_btf *r)
{
	free(r->at);
	if (r->copied)
		free(r->file);
	else if (r->file)
		munmap(r->file, r->file_size);
	*r = (struct raw_btf){ 0 };
}

const struct btf_type *raw_btf_type(const struct raw_btf *r, uint32_t id)
{
	return id && id < r->n ? (const void *)(r->types + r->at[id]) : NULL;
}

const char *raw_btf_name(const struct raw_btf *r, uint32_t offset)
{
	return offset < r->strings_size ? r->strings + offset : "";
}

const struct btf_type *raw_btf_find(const struct raw_btf *r, const char *name, int kind)
{
	for (uint32_t id = 1; id < r->n; id++) {
		const struct btf_type *t = raw_btf_type(r, id);

		if (btf_kind(t) == kind && !strcmp(raw_btf_name(r, t->name_off), name))
			return t;
	}
	return NULL;
}
