/* SPDX-License-Identifier: MIT */
/* What is cut out of a kernel's types for an object, both made by libbpf. */
#include "collect/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/test.h"

/* What an object asks for: struct task_struct { state, part: struct part { deep } }, an enum. */
static struct btf *own_types(void)
{
	struct btf *b = btf__new_empty();
	int number = btf__add_int(b, "int", 4, BTF_INT_SIGNED), part;

	part = btf__add_struct(b, "part", 4);
	btf__add_field(b, "deep", number, 0, 0);
	btf__add_struct(b, "task_struct___older", 8);
	btf__add_field(b, "state", number, 0, 0);
	btf__add_field(b, "part", part, 32, 0);
	btf__add_enum(b, "kinds", 4);
	btf__add_enum_value(b, "KIND_ONE", 1);
	btf__add_struct(b, "absent", 4);
	btf__add_typedef(b, "word", number);
	return b;
}

/*
 * struct task_struct {
 *	void *unasked;
 *	const volatile word state;
 *	union { struct { struct other *next; int flag : 3; }; struct part part[2]; };
 * } and types that nobody asks for, one of them with a member of the same name
 */
static struct btf *kernel_types(void)
{
	struct btf *b = btf__new_empty();
	int number = btf__add_int(b, "int", 4, BTF_INT_SIGNED), word, part, parts, other, inner,
	    both, state, pointer;

	word = btf__add_typedef(b, "word", number);
	state = btf__add_const(b, btf__add_volatile(b, word));
	other = btf__add_fwd(b, "other", BTF_FWD_STRUCT);
	pointer = btf__add_ptr(b, other);
	part = btf__add_struct(b, "part", 12);
	btf__add_field(b, "front", number, 0, 0);
	btf__add_field(b, "back", number, 32, 0);
	btf__add_field(b, "deep", number, 64, 0);
	parts = btf__add_array(b, number, part, 2);
	inner = btf__add_struct(b, NULL, 16);
	btf__add_field(b, "next", pointer, 0, 0);
	btf__add_field(b, "flag", number, 64, 3);
	both = btf__add_union(b, NULL, 24);
	btf__add_field(b, NULL, inner, 0, 0);
	btf__add_field(b, "part", parts, 0, 0);
	btf__add_struct(b, "task_struct", 40);
	btf__add_field(b, "unasked", pointer, 0, 0);
	btf__add_field(b, "state", state, 64, 0);
	btf__add_field(b, NULL, both, 128, 0);
	btf__add_struct(b, "stranger", 8);
	btf__add_field(b, "state", state, 0, 0);
	btf__add_enum(b, "kinds", 4);
	btf__add_enum_value(b, "KIND_ONE", 7);
	btf__add_enum_value(b, "KIND_TWO", 8);
	btf__add_enum64(b, "wide", 8, 0);
	btf__add_enum64_value(b, "WIDE", 1ull << 40);
	btf__add_func_proto(b, number);
	btf__add_func(b, "function", BTF_FUNC_STATIC, (int)btf__type_cnt(b) - 1);
	btf__add_var(b, "variable", BTF_VAR_STATIC, number);
	btf__add_float(b, "double", 8);
	btf__add_decl_tag(b, "tag", part, -1);
	btf__add_type_tag(b, "rcu", other);
	return b;
}

static struct btf *cut(const struct btf *kernel, const struct btf *own)
{
	uint32_t size, own_size;
	const void *bytes = btf__raw_data(kernel, &size);
	const void *own_bytes = btf__raw_data(own, &own_size);

	return kernel_types_cut(bytes, size, own_bytes, own_size);
}

static const struct btf_type *named(const struct btf *b, const char *name, uint32_t kind)
{
	int id = btf__find_by_name_kind(b, name, kind);

	return id > 0 ? btf__type_by_id(b, (uint32_t)id) : NULL;
}

static const char *member_name(const struct btf *b, const struct btf_type *t, int i)
{
	return btf__name_by_offset(b, btf_members(t)[i].name_off);
}

TEST(what_is_asked_for)
{
	struct btf *own = own_types(), *kernel = kernel_types(), *b = cut(kernel, own);
	const struct btf_type *task = b ? named(b, "task_struct", BTF_KIND_STRUCT) : NULL, *t;

	CHECK(task);
	if (task) {
		CHECK_EQ(task->size, 40);
		CHECK_EQ(btf_vlen(task), 2);
		CHECK_STR(member_name(b, task, 0), "state");
		CHECK_EQ(btf_member_bit_offset(task, 0), 64);
		t = btf__type_by_id(b, btf_members(task)[0].type);
		CHECK(btf_is_int(t) && t->size == 4 && btf_int_encoding(t) == BTF_INT_SIGNED);
		/* What has no name is gone through by libbpf. */
		CHECK_STR(member_name(b, task, 1), "");
		CHECK_EQ(btf_member_bit_offset(task, 1), 128);
		t = btf__type_by_id(b, btf_members(task)[1].type);
		CHECK(btf_is_union(t) && t->size == 24 && btf_vlen(t) == 2);
		CHECK_STR(member_name(b, t, 1), "part");
		t = btf__type_by_id(b, btf_members(t)[1].type);
		CHECK(btf_is_array(t) && btf_array(t)->nelems == 2);
		t = btf__type_by_id(b, btf_array(t)->type);
		CHECK(btf_is_struct(t) && t->size == 12 && btf_vlen(t) == 1);
		CHECK_EQ(btf_member_bit_offset(t, 0), 64);
	}
	t = b ? named(b, "kinds", BTF_KIND_ENUM) : NULL;
	CHECK(t && btf_vlen(t) == 2 && btf_enum(t)[0].val == 7);
	CHECK(b && named(b, "word", BTF_KIND_TYPEDEF));
	CHECK(b && !named(b, "stranger", BTF_KIND_STRUCT) && !named(b, "absent", BTF_KIND_STRUCT) &&
	      !named(b, "wide", BTF_KIND_ENUM64));
	btf__free(b);
	btf__free(kernel);
	btf__free(own);
}

/* Bit fields, values of 64 bits, and pointers, which stand for nothing but their size. */
TEST(members_of_all_kinds)
{
	struct btf *own = own_types(), *kernel = kernel_types(), *b;
	const struct btf_type *t;

	btf__add_struct(own, "any", 8);
	btf__add_field(own, "flag", 1, 0, 3);
	btf__add_field(own, "next", 1, 0, 0);
	btf__add_enum64(own, "wide", 8, 0);
	b = cut(kernel, own);
	t = b ? named(b, "task_struct", BTF_KIND_STRUCT) : NULL;
	CHECK(t);
	if (t) {
		t = btf__type_by_id(b, btf_members(t)[1].type);
		t = btf__type_by_id(b, btf_members(t)[0].type);
		CHECK(btf_is_struct(t) && btf_vlen(t) == 2);
		CHECK_EQ(btf_member_bit_offset(t, 1), 64);
		CHECK_EQ(btf_member_bitfield_size(t, 1), 3);
		t = btf__type_by_id(b, btf_members(t)[0].type);
		CHECK(btf_is_ptr(t) && !t->type);
	}
	t = b ? named(b, "wide", BTF_KIND_ENUM64) : NULL;
	CHECK(t && btf_vlen(t) == 1 && btf_enum64_value(btf_enum64(t)) == 1ull << 40);
	btf__free(b);
	btf__free(kernel);
	btf__free(own);
}

/* A member that holds itself, by value: no kernel has it. */
TEST(a_type_without_end)
{
	struct btf *own = own_types(), *kernel = btf__new_empty(), *b;

	btf__add_struct(kernel, "task_struct", 8);
	btf__add_field(kernel, "state", 1, 0, 0);
	b = cut(kernel, own);
	CHECK(!b && errno == EBADMSG);
	btf__free(b);
	btf__free(kernel);
	btf__free(own);
}

/* Bytes that end anywhere, or have a wrong one: an error, or other types, and nothing else. */
TEST(damaged)
{
	struct btf *own = own_types(), *kernel = kernel_types(), *b;
	uint32_t size, own_size;
	const uint8_t *bytes = btf__raw_data(kernel, &size);
	const void *own_bytes = btf__raw_data(own, &own_size);

	for (uint32_t n = 0; n < size; n++) {
		uint8_t *copy = malloc(n + 1);

		memcpy(copy, bytes, n);
		b = kernel_types_cut(copy, n, own_bytes, own_size);
		CHECK(!b && errno == EBADMSG);
		btf__free(b);
		free(copy);
	}
	for (uint32_t i = 0; i < size; i++) {
		uint8_t *copy = malloc(size);

		for (int flip = 1; flip < 256; flip = 2 * flip + 1) {
			memcpy(copy, bytes, size);
			copy[i] ^= (uint8_t)flip;
			btf__free(kernel_types_cut(copy, size, own_bytes, own_size));
			btf__free(kernel_types_cut(own_bytes, own_size, copy, size));
		}
		free(copy);
	}
	btf__free(kernel);
	btf__free(own);
}

TEST(no_object)
{
	char text[64] = "no object at all", path[KERNEL_TYPES_PATH];

	CHECK_EQ(kernel_types_open(KERNEL_TYPES, text, sizeof(text)), -EBADMSG);
	CHECK(!kernel_types_path(-EBADMSG, path));
	CHECK_STR(kernel_types_path(7, path), "/proc/self/fd/7");
}

TEST(a_file)
{
	struct btf *kernel = kernel_types();
	uint32_t size;
	const void *bytes = btf__raw_data(kernel, &size);
	char path[] = "/tmp/ebprof-test-XXXXXX";
	int fd = mkstemp(path);
	const struct btf_type *t;
	struct raw_btf r;

	CHECK_EQ(write(fd, bytes, size), size);
	CHECK_EQ(raw_btf_open(&r, path), 0);
	t = raw_btf_find(&r, "kinds", BTF_KIND_ENUM);
	CHECK(t && btf_vlen(t) == 2);
	CHECK_STR(raw_btf_name(&r, btf_enum(t)[1].name_off), "KIND_TWO");
	CHECK(!raw_btf_find(&r, "kinds", BTF_KIND_STRUCT));
	CHECK(!raw_btf_find(&r, "kind", BTF_KIND_ENUM));
	t = raw_btf_find(&r, "word", BTF_KIND_TYPEDEF);
	t = t ? raw_btf_type(&r, t->type) : NULL;
	CHECK(t && btf_is_int(t));
	CHECK(!raw_btf_type(&r, 0) && !raw_btf_type(&r, r.n));
	raw_btf_close(&r);
	CHECK(!ftruncate(fd, size - 1));
	CHECK_EQ(raw_btf_open(&r, path), -EBADMSG);
	raw_btf_close(&r);
	CHECK(!ftruncate(fd, 0));
	CHECK_EQ(raw_btf_open(&r, path), -EBADMSG);
	raw_btf_close(&r);
	unlink(path);
	CHECK_EQ(raw_btf_open(&r, path), -ENOENT);
	raw_btf_close(&r);
	close(fd);
	btf__free(kernel);
}

int main(void)
{
	RUN(what_is_asked_for);
	RUN(members_of_all_kinds);
	RUN(a_type_without_end);
	RUN(damaged);
	RUN(no_object);
	RUN(a_file);
	return TEST_END();
}
