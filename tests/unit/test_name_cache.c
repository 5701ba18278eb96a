/* SPDX-License-Identifier: MIT */
#include "symbols/name_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "debug_fixture.h"
#include "symbols/name_store.h"
#include "symbols/symbolizer.h"
#include "test.h"

#define KEY	"key", 3
#define SUM_AT	12	/* in the bytes; what it covers is behind it */

static const struct symbol_frame two[] = { { "inner", "/src/a.c", 7 },
					   { "outer<int>", "/src/b.c", 4000000000u } };

/* The strings that a reader and a writer share, as those of a symbolizer. */
static struct strtab *names;

static struct symbol_frame interned(const struct symbol_frame *f)
{
	return (struct symbol_frame){ strtab_get(names, strtab_add(names, f->name)),
				      strtab_get(names, strtab_add(names, f->file)), f->line };
}

static struct name_cache *sample(void)
{
	const struct symbol_frame frames[] = { interned(&two[0]), interned(&two[1]) };
	struct name_cache *c = name_cache_new(names);

	name_cache_add(c, 0x1000, frames, 2, 0);
	name_cache_add(c, 0xffffffffffffull, frames + 1, 1, 0);
	name_cache_add(c, 0x2000, NULL, -ENOENT, 0x2000);
	name_cache_add(c, 0x3000, NULL, -ENODATA, 0x21f0);
	name_cache_add(c, 0x4000, NULL, -EIO, 0x4000);
	return c;
}

static void check_sample(struct name_cache *c)
{
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	uint64_t start = 0;

	CHECK_EQ(name_cache_find(c, 0x1000, out), 2);
	for (int i = 0; i < 2; i++) {
		CHECK_STR(out[i].name, two[i].name);
		CHECK_STR(out[i].file, two[i].file);
		CHECK_EQ(out[i].line, two[i].line);
	}
	CHECK_EQ(name_cache_find(c, 0xffffffffffffull, out), 1);
	CHECK_STR(out[0].name, "outer<int>");
	CHECK_EQ(name_cache_find(c, 0x2000, out), -ENOENT);
	CHECK_EQ(name_cache_find(c, 0x3000, out), -ENODATA);
	/* Where its function begins is kept of what has no name. */
	CHECK(name_cache_start(c, 0x2000, &start) && start == 0x2000);
	CHECK(name_cache_start(c, 0x3000, &start) && start == 0x21f0);
	CHECK(!name_cache_start(c, 0x1000, &start) && !name_cache_start(c, 0x4000, &start));
	/* An error that may pass. */
	CHECK_EQ(name_cache_find(c, 0x4000, out), 0);
	CHECK_EQ(name_cache_find(c, 0x1001, out), 0);
}

static int reads(const uint8_t *bytes, size_t size, const char *key, size_t key_size)
{
	struct name_cache *c = name_cache_new(names);
	int err = name_cache_read(c, bytes, size, key, key_size);

	name_cache_free(c);
	return err;
}

TEST(what_is_written_is_read)
{
	struct name_cache *c = sample(), *again = name_cache_new(names);
	size_t size, size2;
	uint8_t *bytes = name_cache_write(c, KEY, &size), *bytes2;

	check_sample(c);
	CHECK_EQ(name_cache_read(again, bytes, size, KEY), 0);
	check_sample(again);
	/* What was read goes on to the next run. */
	bytes2 = name_cache_write(again, KEY, &size2);
	name_cache_free(again);
	again = name_cache_new(names);
	CHECK_EQ(name_cache_read(again, bytes2, size2, KEY), 0);
	check_sample(again);
	name_cache_free(again);
	name_cache_free(c);
	name_cache_free(NULL);
	free(bytes);
	free(bytes2);
}

TEST(another_key)
{
	struct name_cache *c = sample();
	size_t size;
	uint8_t *bytes = name_cache_write(c, KEY, &size);

	CHECK_EQ(reads(bytes, size, "kex", 3), -ESTALE);
	CHECK_EQ(reads(bytes, size, "ke", 2), -ESTALE);
	CHECK_EQ(reads(bytes, size, "key1", 4), -ESTALE);
	name_cache_free(c);
	free(bytes);
}

TEST(damage_is_seen)
{
	struct name_cache *c = sample();
	size_t size;
	uint8_t *bytes = name_cache_write(c, KEY, &size);

	for (size_t n = 0; n < size; n++)
		CHECK_EQ(reads(bytes, n, KEY), -EBADMSG);
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 0x20;
		CHECK_EQ(reads(bytes, size, KEY), -EBADMSG);
		bytes[i] ^= 0x20;
	}
	CHECK_EQ(reads(bytes, size, KEY), 0);
	name_cache_free(c);
	free(bytes);
}

static size_t find(const uint8_t *bytes, size_t size, const char *text)
{
	for (size_t i = 0; i + strlen(text) < size; i++)
		if (!memcmp(bytes + i, text, strlen(text)))
			return i;
	CHECK(!"found");
	return 0;
}

/* Puts the sum right, as somebody would who writes what he wants us to show. */
static int forged(uint8_t *bytes, size_t size, struct name_cache *to)
{
	uint32_t sum = (uint32_t)crc32(0, bytes + SUM_AT + 4, (uInt)(size - SUM_AT - 4));

	memcpy(bytes + SUM_AT, &sum, 4);
	return name_cache_read(to, bytes, size, KEY);
}

TEST(forged_texts_are_cleaned)
{
	struct name_cache *c = sample(), *again = name_cache_new(names);
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	size_t size;
	uint8_t *bytes = name_cache_write(c, KEY, &size);

	memcpy(bytes + find(bytes, size, "inner"), "\033[2Jx", 5);
	CHECK_EQ(forged(bytes, size, again), 0);
	CHECK_EQ(name_cache_find(again, 0x1000, out), 2);
	CHECK_STR(out[0].name, "\\x1b[2Jx");
	name_cache_free(again);
	/* A frame always has a name. */
	again = name_cache_new(names);
	bytes[find(bytes, size, "\033[2Jx")] = '\0';
	CHECK_EQ(forged(bytes, size, again), -EBADMSG);
	name_cache_free(again);
	name_cache_free(c);
	free(bytes);
}

TEST(too_much_is_left_out_what_was_not_asked_for_first)
{
	struct name_cache *c = name_cache_new(names), *again = name_cache_new(names);
	struct symbol_frame frame = { NULL, "", 1 }, out[SOURCE_FRAMES_MAX];
	char text[8000];
	size_t size, size2;
	uint8_t *bytes, *bytes2;

	for (uint64_t i = 0; i < 1800; i++) {
		memset(text, 'x', sizeof(text));
		snprintf(text, sizeof(text) - 100, "%d", (int)i);
		text[strlen(text)] = 'x';
		text[sizeof(text) - 1] = '\0';
		frame.name = strtab_get(names, strtab_add(names, text));
		name_cache_add(c, i, &frame, 1, i);
	}
	bytes = name_cache_write(c, KEY, &size);
	CHECK(size > 14000000 && size <= NAME_CACHE_BYTES);
	CHECK_EQ(name_cache_read(again, bytes, size, KEY), 0);
	/* Another run, which asks for the last one of those, and for more. */
	CHECK_EQ(name_cache_find(again, 1799, out), 1);
	for (uint64_t i = 5000; i < 5300; i++) {
		text[0] = (char)('A' + i % 26);
		text[1] = (char)('A' + i / 26 % 26);
		frame.name = strtab_get(names, strtab_add(names, text));
		name_cache_add(again, i, &frame, 1, i);
	}
	bytes2 = name_cache_write(again, KEY, &size2);
	CHECK(size2 <= NAME_CACHE_BYTES);
	name_cache_free(c);
	c = name_cache_new(names);
	CHECK_EQ(name_cache_read(c, bytes2, size2, KEY), 0);
	CHECK_EQ(name_cache_find(c, 1799, out), 1);
	CHECK_EQ(name_cache_find(c, 5299, out), 1);
	CHECK_EQ(name_cache_find(c, 1798, out), 0);
	name_cache_free(c);
	name_cache_free(again);
	free(bytes);
	free(bytes2);
}

/* --- The folder. ------------------------------------------------------------------- */

static const struct user me;

static char *stored(struct name_store *s, const char *name, size_t *size)
{
	return name_store_read(s, name, 1000, size);
}

/* 1 where "one" is there and right. */
static int there(struct name_store *s)
{
	size_t size = 0;
	char *bytes = stored(s, "one", &size);
	int right = bytes && size == 5 && !memcmp(bytes, "hello", 5);

	free(bytes);
	return right;
}

TEST(files_of_ours_alone)
{
	struct name_store *s = name_store_new(&me), *other;
	struct stat st;
	size_t size;

	CHECK(!stored(s, "one", &size) && errno == ENOENT);
	CHECK(access(fixture_path("cache"), F_OK) != 0);	/* reading makes nothing */
	CHECK_EQ(name_store_write(s, "one", "hello", 5, 100), 0);
	CHECK(there(s));
	CHECK(!stat(fixture_path("cache/ebprof/one"), &st) && (st.st_mode & 07777) == 0600);
	CHECK(!stat(fixture_path("cache/ebprof"), &st) && (st.st_mode & 07777) == 0700);
	CHECK(!name_store_read(s, "one", 4, &size) && errno == EPERM);

	CHECK_EQ(shell("chmod g+w cache/ebprof/one"), 0);
	CHECK(!there(s));
	CHECK_EQ(shell("chmod 602 cache/ebprof/one"), 0);
	CHECK(!there(s));
	CHECK_EQ(shell("chmod 600 cache/ebprof/one && mv cache/ebprof/one cache/two && ln -s "
		       "../two cache/ebprof/one"),
		 0);
	CHECK(!there(s));
	CHECK_EQ(shell("rm cache/ebprof/one && mkfifo -m 600 cache/ebprof/one"), 0);
	CHECK(!there(s));
	CHECK_EQ(shell("rm cache/ebprof/one && cp cache/two cache/ebprof/one"), 0);
	CHECK(there(s));
	if (!geteuid()) {
		CHECK_EQ(shell("chown 65534 cache/ebprof/one"), 0);
		CHECK(!there(s));
		CHECK_EQ(shell("chown 0 cache/ebprof/one"), 0);
	}
	CHECK(there(s));
	/* A new folder is looked at by whom it is opened. */
	CHECK_EQ(shell("chmod g+w cache/ebprof"), 0);
	other = name_store_new(&me);
	CHECK(!there(other));
	CHECK(name_store_write(other, "one", "x", 1, 100) < 0);
	CHECK_EQ(shell("chmod g-w cache/ebprof && mv cache/ebprof cache/real && ln -s real "
		       "cache/ebprof"),
		 0);
	CHECK(!there(other));
	CHECK_EQ(shell("rm -r cache"), 0);
	name_store_free(other);
	name_store_free(s);
	name_store_free(NULL);
}

TEST(as_the_invoking_user)
{
	struct user nobody = {
		.switched = 1, .uid = 65534, .gid = 65534, .n_groups = 1, .groups = { 65534 }
	};
	struct name_store *s;
	struct stat st;

	if (geteuid())
		return;
	CHECK_EQ(shell("mkdir -m 777 cache && chmod 777 . cache"), 0);
	s = name_store_new(&nobody);
	CHECK_EQ(name_store_write(s, "one", "hello", 5, 100), 0);
	CHECK(there(s));
	CHECK(!stat(fixture_path("cache/ebprof"), &st) && st.st_uid == 65534 && st.st_gid == 65534);
	CHECK(!stat(fixture_path("cache/ebprof/one"), &st) && st.st_uid == 65534 &&
	      st.st_gid == 65534);
	/* What he may not read himself is not read for him. */
	CHECK_EQ(shell("chmod 0 cache/ebprof/one"), 0);
	CHECK(!there(s));
	CHECK_EQ(shell("rm cache/ebprof/one && echo -n hello >cache/ebprof/one"), 0);
	CHECK(!there(s));	/* root's */
	name_store_free(s);
	/* Where he may not write, root does not either. */
	CHECK_EQ(shell("rm -r cache && mkdir -m 755 cache"), 0);
	s = name_store_new(&nobody);
	CHECK(name_store_write(s, "one", "hello", 5, 100) < 0);
	CHECK(access(fixture_path("cache/ebprof"), F_OK) != 0);
	name_store_free(s);
	CHECK_EQ(shell("rm -r cache"), 0);
}

TEST(the_oldest_go)
{
	struct name_store *s = name_store_new(&me);
	static const struct {
		const char *name;
		int written;
	} files[] = { { "a", 3 }, { "b", 1 }, { "c", 4 }, { "d", 2 } };

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(name_store_write(s, files[i].name, "0123456789", 10, 40), 0);
		CHECK_EQ(shell("touch -d @%d cache/ebprof/%s", files[i].written, files[i].name), 0);
	}
	CHECK_EQ(name_store_write(s, "e", "0123456789", 10, 40), 0);
	CHECK_EQ(shell("test \"$(ls cache/ebprof | tr -d '\\n')\" = acde"), 0);
	CHECK_EQ(name_store_write(s, "g", "01234567890", 11, 40), 0);
	CHECK_EQ(shell("test \"$(ls cache/ebprof | tr -d '\\n')\" = ceg"), 0);
	CHECK_EQ(name_store_write(s, "f", "0123456789012345678901234567890", 31, 40), 0);
	CHECK_EQ(shell("test \"$(ls cache/ebprof | tr -d '\\n')\" = f"), 0);
	CHECK_EQ(name_store_write(s, "h", "x", 41, 40), -EFBIG);
	CHECK_EQ(shell("test \"$(ls cache/ebprof | tr -d '\\n')\" = f && rm -r cache"), 0);
	name_store_free(s);
}

TEST(a_function_begins_in_its_file)
{
	struct name_cache *c = name_cache_new(names), *again = name_cache_new(names);
	size_t size;
	uint8_t *bytes;

	name_cache_add(c, 0x20, NULL, -ENODATA, 0x1);
	bytes = name_cache_write(c, KEY, &size);
	CHECK_EQ(bytes[size - 1], 0x1f);
	bytes[size - 1] = 0x21;
	CHECK_EQ(forged(bytes, size, again), -EBADMSG);
	name_cache_free(again);
	name_cache_free(c);
	free(bytes);
}

/* --- The symbolizer's use of it. ------------------------------------------------------ */

static uint64_t offset_of_hidden;

/*
 * The file and line of hidden() in prog by a symbolizer of its own, that keeps all; 0 frames:
 * "none".
 */
static const char *answer(struct symbolizer_options o)
{
	static char text[1000];
	struct fixture_file f = fixture_open("prog");
	struct image image = {
		.kind = IMAGE_FILE, .path = fixture_path("prog"), .name = "prog", .fd = f.fd
	};
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct name_store *store = name_store_new(&me);
	struct symbolizer *s;
	int n;

	o.store = store;
	s = symbolizer_new(&o);
	n = symbolizer_user(s, &image, offset_of_hidden, out);
	snprintf(text, sizeof(text), "%s:%u", n > 0 ? out[0].name : "none",
		 n > 0 ? out[0].line : 0);
	symbolizer_save(s);
	symbolizer_free(s);
	name_store_free(store);
	fixture_close(&f);
	return text;
}

static int files_kept(void)
{
	char count[16] = "";
	FILE *f;

	shell("ls cache/ebprof 2>/dev/null | wc -l >count");
	f = fopen(fixture_path("count"), "r");
	if (f && !fgets(count, sizeof(count), f))
		*count = '\0';
	if (f)
		fclose(f);
	return atoi(count);
}

/* Changes "hidden" in the files that are kept, with a right sum: what is read there can be seen. */
static void mark_kept(void)
{
	CHECK_EQ(shell("python3 -c '\n"
		       "import glob, zlib\n"
		       "for n in glob.glob(\"cache/ebprof/*.names\"):\n"
		       "    b = open(n, \"rb\").read().replace(b\"hidden\", b\"cached\")\n"
		       "    open(n, \"wb\").write(b[:12] + zlib.crc32(b[16:]).to_bytes(4, "
		       "\"little\") + b[16:])\n'"),
		 0);
}

static uint64_t find_hidden(void)
{
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct fixture_file f = fixture_open("prog");
	struct image image = {
		.kind = IMAGE_FILE, .path = fixture_path("prog"), .name = "prog", .fd = f.fd
	};
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ 0 });
	uint64_t offset = 0;

	while (offset < 65536 &&
	       (symbolizer_user(s, &image, offset, out) < 1 || strcmp(out[0].name, "hidden") != 0))
		offset++;
	symbolizer_free(s);
	fixture_close(&f);
	return offset;
}

TEST(answers_hold_for_the_files_that_gave_them)
{
	char debug[1000];
	const char *const dirs[] = { strcpy(debug, fixture_path("debug")) };
	const struct symbolizer_options usual = { .debug_dirs = dirs, .n_debug_dirs = 1 };
	struct symbolizer_options plain = usual, costly = usual;

	plain.no_inline = 1;
	costly.worth_keeping = 3600000000000ull;
	offset_of_hidden = find_hidden();
	CHECK_STR(answer(costly), "hidden:1");
	CHECK_EQ(files_kept(), 0);
	CHECK_STR(answer(usual), "hidden:1");
	CHECK_EQ(files_kept(), 1);
	mark_kept();
	CHECK_STR(answer(usual), "cached:1");
	CHECK_STR(answer(plain), "hidden:1");
	CHECK_EQ(files_kept(), 2);
	/* Damaged: as if it were not there, and written anew. */
	CHECK_EQ(shell("for f in cache/ebprof/*; do echo x >>$f; done"), 0);
	CHECK_STR(answer(usual), "hidden:1");
	mark_kept();
	CHECK_STR(answer(usual), "cached:1");

	/*
	 * The same build id in a file without symbols, then a debug file to it, then another one in
	 * its place.
	 */
	CHECK_EQ(shell("rm -r cache && cp prog full && strip -s prog"), 0);
	CHECK_STR(answer(usual), "none:0");
	CHECK_EQ(files_kept(), 1);
	CHECK_EQ(shell("id=$(readelf -n full | sed -n 's/.*Build ID: //p') && "
		       "dir=debug/.build-id/$(echo $id | cut -c1-2) &&"
		       " mkdir -p $dir && objcopy --only-keep-debug full $dir/$(echo $id | cut "
		       "-c3-).debug"),
		 0);
	CHECK_STR(answer(usual), "hidden:1");
	mark_kept();
	CHECK_STR(answer(usual), "cached:1");
	CHECK_EQ(shell("f=$(find debug -name '*.debug') && cp $f new && rm $f && cp new $f"), 0);
	CHECK_STR(answer(usual), "hidden:1");
	CHECK_EQ(shell("rm -r debug"), 0);
	CHECK_STR(answer(usual), "none:0");
	CHECK_EQ(shell("cp full prog && rm -r cache"), 0);
}

/* What lies in files of their own may change without a trace in the program. */
/* Where the function of a place without a name begins, by a symbolizer of its own. */
static uint64_t start_of(uint64_t offset, int *n)
{
	struct fixture_file f = fixture_open("bare");
	struct image image = { .kind = IMAGE_FILE,
			       .path = fixture_path("bare"),
			       .name = "bare",
			       .fd = f.fd };
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	struct name_store *store = name_store_new(&me);
	struct symbolizer *s = symbolizer_new(&(struct symbolizer_options){ .store = store });
	uint64_t start;

	*n = symbolizer_user(s, &image, offset, out);
	start = symbolizer_start(s, &image, offset);
	symbolizer_save(s);
	symbolizer_free(s);
	name_store_free(store);
	fixture_close(&f);
	return start;
}

TEST(starts_of_functions_are_kept)
{
	int n;

	CHECK_EQ(shell("strip -o bare prog"), 0);
	for (int run = 0; run < 2; run++) {
		CHECK_EQ(start_of(offset_of_hidden + 1, &n), offset_of_hidden);
		CHECK_EQ(n, -ENODATA);
		CHECK_EQ(files_kept(), 1);
	}
	/* It was read there: as far behind its start as is said there. */
	CHECK_EQ(shell("python3 -c '\n"
		       "import glob, zlib\n"
		       "for n in glob.glob(\"cache/ebprof/*.names\"):\n"
		       "    b = open(n, \"rb\").read()[:-1] + bytes([0])\n"
		       "    open(n, \"wb\").write(b[:12] + zlib.crc32(b[16:]).to_bytes(4, "
		       "\"little\") + b[16:])\n'"),
		 0);
	CHECK_EQ(start_of(offset_of_hidden + 1, &n), offset_of_hidden + 1);
	CHECK_EQ(n, -ENODATA);
	CHECK_EQ(shell("rm -r cache"), 0);
}

TEST(split_dwarf_is_not_kept)
{
	CHECK_EQ(shell("cc -g -gsplit-dwarf -O1 -Wl,--build-id=sha1 -o prog prog.c"), 0);
	offset_of_hidden = find_hidden();
	CHECK_STR(answer((struct symbolizer_options){ 0 }), "hidden:1");
	CHECK_EQ(files_kept(), 0);
}

int main(void)
{
	names = strtab_new();
	RUN(what_is_written_is_read);
	RUN(another_key);
	RUN(damage_is_seen);
	RUN(forged_texts_are_cleaned);
	RUN(too_much_is_left_out_what_was_not_asked_for_first);
	RUN(a_function_begins_in_its_file);
	if (fixture_begin()) {
		perror("fixture");
		return 1;
	}
	setenv("XDG_CACHE_HOME", fixture_path("cache"), 1);
	RUN(files_of_ours_alone);
	RUN(as_the_invoking_user);
	RUN(the_oldest_go);
	RUN(answers_hold_for_the_files_that_gave_them);
	RUN(starts_of_functions_are_kept);
	RUN(split_dwarf_is_not_kept);
	fixture_end();
	strtab_free(names);
	return TEST_END();
}
