/* SPDX-License-Identifier: MIT */
/*
 * BTF in place: libbpf copies and indexes a kernel's hundred thousand types, which takes 12 ms;
 * this goes through them once (1 ms). Every offset is checked. The format is
 * Documentation/bpf/btf.rst.
 */
#ifndef EBPROF_RAW_BTF_H
#define EBPROF_RAW_BTF_H

#include <bpf/btf.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

struct raw_btf {
	const char *types, *strings;
	uint32_t types_size, strings_size;
	uint32_t *at;		/* where each type begins, by its number; [0]: void */
	uint32_t n;		/* numbers that are used, with 0 */
	/* below: of a file */
	void *file;
	size_t file_size;
	int copied;		/* @file was read, not mapped */
};

/*
 * Of @size bytes, aligned as they are, which stay the caller's. 0, or -EBADMSG: it is none, or has
 * a kind of types that is not known here.
 */
int raw_btf_parse(struct raw_btf *r, const void *bytes, size_t size);
/* Of a file, which is mapped where it can be (the kernel's since Linux 6.16). Also as open(2). */
int raw_btf_open(struct raw_btf *r, const char *path);
/* Takes one that failed, too. */
void raw_btf_close(struct raw_btf *r);

/* NULL for void, and for what there is none of. */
const struct btf_type *raw_btf_type(const struct raw_btf *r, uint32_t id);
/* "" where there is none. */
const char *raw_btf_name(const struct raw_btf *r, uint32_t offset);
/* The first of that kind (BTF_KIND_STRUCT) and name; NULL: there is none. */
const struct btf_type *raw_btf_find(const struct raw_btf *r, const char *name, int kind);

#endif
