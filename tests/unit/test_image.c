/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "elf/image.h"

#define NO_PID (1 << 30)	/* above PID_MAX_LIMIT */

static char folder[] = "/tmp/ebprof-test-XXXXXX";

/* The path of a file in our folder; two may be in use at once. */
static const char *in_folder(const char *name)
{
	static char path[2][4500];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", folder, name);
	return path[turn];
}

/* The smallest ELF file with a build id of @size bytes, each @byte; @size 0: without. */
static void write_elf(const char *path, int size, int byte)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[2];
		Elf64_Nhdr nh;
		char name[4];
		uint8_t id[20];
		char code[3000];
	} f = {
		.eh = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = size ? 2 : 1,
			.e_shentsize = sizeof(Elf64_Shdr),
		},
		.ph = {
			{
				.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 4096,
				.p_filesz = sizeof(f), .p_memsz = sizeof(f),
			}, {
				.p_type = PT_NOTE, .p_flags = PF_R, .p_align = 4,
				.p_offset = offsetof(__typeof__(f), nh),
				.p_vaddr = offsetof(__typeof__(f), nh),
				.p_filesz = 16 + (Elf64_Xword)size,
				.p_memsz = 16 + (Elf64_Xword)size,
			},
		},
		.nh = { .n_namesz = 4, .n_descsz = (Elf64_Word)size, .n_type = NT_GNU_BUILD_ID },
		.name = "GNU",
	};
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);

	memset(f.id, byte, (size_t)size);
	CHECK(fd >= 0 && write(fd, &f, sizeof(f)) == sizeof(f));
	close(fd);
}

static struct image_key key_of(const char *path)
{
	struct image_key k = { .path = path, .start = 0x1000, .end = 0x2000 };
	struct stat st;

	if (!stat(path, &st)) {
		k.dev_major = major(st.st_dev);
		k.dev_minor = minor(st.st_dev);
		k.inode = st.st_ino;
	}
	return k;
}

static struct image_key key_with_id(const char *path, const uint8_t *id)
{
	return (struct image_key){
		.path = path, .build_id = id, .build_id_size = 20, .start = 0x1000, .end = 0x2000
	};
}

static const uint8_t ones[20] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
static const uint8_t twos[20] = { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 };

TEST(names_without_files)
{
	static const char *const anonymous[] = {
		"",
		"//anon",
		"[heap]",
		"[stack]",
		"[stack:77]",
		"[anon:malloc]",
		"/dev/zero (deleted)",
		"/dev/zero",
		"/SYSV00000000 (deleted)",
		"/SYSV0badcafe",
		"anon_inode:[perf_event]",
		"/anon_hugepage (deleted)",
		"socket:[12]",
		" (deleted)",
		"(deleted)",
	};
	struct images *all = images_new();
	struct image_key k = { .start = 0x7fff00001000, .end = 0x7fff00003000 };
	uint32_t id;

	for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++) {
		k.path = anonymous[i];
		if (images_get(all, getpid(), &k) != IMAGE_NONE)
			printf("an image: %s\n", anonymous[i]);
		CHECK_EQ(images_get(all, getpid(), &k), IMAGE_NONE);
	}
	CHECK_EQ(images_count(all), 0);
	k.path = "[vdso]";
	id = images_get(all, getpid(), &k);
	CHECK_EQ(images_at(all, id)->kind, IMAGE_VDSO);
	CHECK_STR(images_at(all, id)->name, "[vdso]");
	CHECK_EQ(images_get(all, 1, &k), id);
	k.start = 0xf7f00000;
	k.end = 0xf7f02000;
	CHECK_EQ(images_at(all, images_get(all, 1, &k))->kind, IMAGE_SPECIAL);
	CHECK_STR(images_at(all, images_get(all, 1, &k))->name, "[vdso32]");
	k.path = "[uprobes]";
	id = images_get(all, getpid(), &k);
	CHECK_EQ(images_at(all, id)->kind, IMAGE_SPECIAL);
	CHECK_EQ(images_at(all, id)->fd, -1);
	CHECK_EQ(images_get(all, 1, &k), id);
	CHECK_EQ(images_count(all), 3);
	images_free(all);
	images_free(NULL);
}

TEST(one_file_is_one_image)
{
	struct images *all = images_new();
	const char *path = in_folder("one");
	struct image_key by_inode, by_id = key_with_id(path, ones);
	const struct image *img;
	uint32_t id;

	write_elf(path, 20, 1);
	by_inode = key_of(path);
	id = images_get(all, getpid(), &by_inode);
	img = images_at(all, id);
	CHECK_EQ(img->kind, IMAGE_FILE);
	CHECK_EQ(img->why, 0);
	CHECK(img->fd >= 0);
	CHECK_STR(img->path, path);
	CHECK_STR(img->name, "one");
	CHECK_EQ(img->build_id_size, 20);
	CHECK(!memcmp(img->build_id, ones, 20));
	CHECK_EQ(images_get(all, getpid(), &by_inode), id);
	CHECK_EQ(images_get(all, getpid(), &by_id), id);
	images_free(all);

	/* The other way round, and through a process that is gone. */
	all = images_new();
	id = images_get(all, NO_PID, &by_id);
	CHECK_EQ(images_at(all, id)->why, 0);
	CHECK_EQ(images_get(all, getpid(), &by_inode), id);
	CHECK_EQ(images_get(all, getpid(), &by_inode), id);
	CHECK_EQ(images_count(all), 1);
	/* The same path with another build id, or inode, is another. */
	by_id.build_id = twos;
	by_inode.inode++;
	CHECK(images_get(all, getpid(), &by_id) != id);
	CHECK(images_get(all, getpid(), &by_inode) != id);
	CHECK_EQ(images_count(all), 3);
	images_free(all);
	unlink(path);
}

/* What was retired is nothing that a mapping could be; its id waits until nobody names it. */
TEST(retired_images_are_other_ones)
{
	struct images *all = images_new();
	const char *path = in_folder("retired");
	unsigned char which[4] = { 1, 1, 1, 1 };
	struct image_key k;
	struct stat st;
	uint32_t id, again;
	int fd;

	write_elf(path, 20, 1);
	k = key_of(path);
	id = images_get(all, getpid(), &k);
	fd = images_at(all, id)->fd;
	images_retire(all, which);
	CHECK_EQ(images_at(all, id)->fd, -1);
	CHECK_EQ(images_at(all, id)->state, IMAGE_RETIRED);
	CHECK_STR(images_at(all, id)->path, path);
	CHECK_EQ(fstat(fd, &st), -1);
	/* By its inode, which another file may have by now, and by its build id. */
	again = images_get(all, getpid(), &k);
	CHECK(again != id && images_at(all, again)->fd >= 0);
	k = key_with_id(path, ones);
	CHECK_EQ(images_get(all, getpid(), &k), again);
	images_reuse(all, which);
	CHECK_EQ(images_at(all, id)->state, IMAGE_UNUSED);
	CHECK_EQ(images_at(all, again)->state, IMAGE_LIVE);
	k.path = "/no/such/file";
	CHECK_EQ(images_get(all, getpid(), &k), id);
	CHECK_STR(images_at(all, id)->path, "/no/such/file");
	CHECK_EQ(images_count(all), 2);
	images_free(all);
	unlink(path);
}

TEST(another_file_of_that_name)
{
	struct images *all = images_new();
	const char *path = in_folder("swapped");
	struct image_key k;
	uint32_t id;

	write_elf(path, 20, 1);
	k = key_with_id(path, twos);
	id = images_get(all, getpid(), &k);
	CHECK_EQ(images_at(all, id)->fd, -1);
	CHECK_EQ(images_at(all, id)->why, -ESTALE);
	CHECK_EQ(images_at(all, id)->build_id[0], 2);
	CHECK_STR(images_at(all, id)->name, "swapped");
	k = key_of(path);
	k.inode++;
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ESTALE);
	k = key_of(path);
	k.dev_minor++;
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ESTALE);
	k.inode = 0;
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ESTALE);
	unlink(path);
	k = key_of(path);
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ENOENT);
	k.inode = 5;
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ENOENT);
	images_free(all);
}

/* None of these may be opened for reading: the FIFO would block us for ever. */
TEST(only_regular_files_are_opened)
{
	struct images *all = images_new();
	struct image_key k;

	CHECK(!mkfifo(in_folder("fifo"), 0600) && !symlink("/bin/sh", in_folder("link")) &&
	      !mkdir(in_folder("dir"), 0700));
	k = key_of(in_folder("fifo"));
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ESTALE);
	k = key_of(in_folder("dir"));
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ESTALE);
	k = key_of("/dev/null");
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ESTALE);
	k = key_of(in_folder("link"));	/* the identity is that of the file behind it */
	CHECK(images_at(all, images_get(all, getpid(), &k))->fd < 0);
	CHECK(!symlink(".", in_folder("round")));
	write_elf(in_folder("elf"), 20, 1);
	k = key_of(in_folder("round/elf"));
	CHECK(images_at(all, images_get(all, getpid(), &k))->fd < 0);
	k.path = in_folder("elf");
	CHECK(images_at(all, images_get(all, getpid(), &k))->fd >= 0);
	k = key_of("/bin/sh/x");
	k.inode = 1;
	CHECK(images_at(all, images_get(all, getpid(), &k))->fd < 0);
	unlink(in_folder("fifo"));
	unlink(in_folder("link"));
	unlink(in_folder("round"));
	unlink(in_folder("elf"));
	rmdir(in_folder("dir"));
	images_free(all);
}

TEST(what_is_no_elf_file_is_not_kept_open)
{
	struct images *all = images_new();
	const char *path = in_folder("text");
	struct image_key k;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0 && write(fd, "hello", 5) == 5 && !ftruncate(fd, 1ll << 40));
	close(fd);
	k = key_of(path);
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->why, -ENOEXEC);
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->fd, -1);
	unlink(path);
	images_free(all);
}

TEST(names_are_cleaned_for_display_only)
{
	struct images *all = images_new();
	const char *path = in_folder("a\n\033[31m\xff (deleted)");
	char clean[256];
	struct image_key k;
	const struct image *img;

	write_elf(path, 20, 1);
	k = key_of(path);
	img = images_at(all, images_get(all, getpid(), &k));
	/*
	 * A file that is really called so: found under the name as it is, shown without the suffix.
	 */
	CHECK_EQ(img->why, 0);
	CHECK_STR(img->name, "a\\n\\x1b[31m\xef\xbf\xbd");
	snprintf(clean, sizeof(clean), "%s/a\\n\\x1b[31m\xef\xbf\xbd", folder);
	CHECK_STR(img->path, clean);
	unlink(path);
	images_free(all);
}

TEST(endless_paths)
{
	struct images *all = images_new();
	char *path = malloc(70001);
	struct image_key k = { .path = path, .inode = 5, .end = 1 };

	memset(path, 'x', 70000);
	path[0] = '/';
	path[70000] = '\0';
	CHECK_EQ(images_at(all, images_get(all, getpid(), &k))->fd, -1);
	CHECK_EQ(strlen(images_at(all, 0)->path), 70000);
	k.path = "/";
	CHECK_STR(images_at(all, images_get(all, getpid(), &k))->name, "/");
	free(path);
	images_free(all);
}

TEST(no_descriptors_left)
{
	struct images *all = images_new();
	const char *path = in_folder("many");
	struct rlimit old, none;
	struct image_key k;
	uint32_t id;

	write_elf(path, 20, 1);
	k = key_of(path);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	id = images_get(all, getpid(), &k);
	CHECK_EQ(images_at(all, id)->why, -EMFILE);
	CHECK_EQ(images_at(all, id)->fd, -1);
	setrlimit(RLIMIT_NOFILE, &old);
	/* The next who maps it finds it open again, under the same number. */
	CHECK_EQ(images_get(all, getpid(), &k), id);
	CHECK_EQ(images_at(all, id)->why, 0);
	CHECK(images_at(all, id)->fd >= 0);
	unlink(path);
	images_free(all);
}

/* Deleted, or never named: only /proc/PID/map_files leads there, which may not be ours to use. */
static void check_mapped(int fd, const char *path)
{
	struct images *all = images_new();
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct image_key k = { .path = path, .start = (uintptr_t)p, .end = (uintptr_t)p + 4096 };
	const struct image *img;
	char link[96];
	struct stat st;
	int allowed;

	fstat(fd, &st);
	k.dev_major = major(st.st_dev);
	k.dev_minor = minor(st.st_dev);
	k.inode = st.st_ino;
	snprintf(link, sizeof(link), "/proc/self/map_files/%lx-%lx", (unsigned long)k.start,
		 (unsigned long)k.end);
	allowed = !access(link, R_OK);
	img = images_at(all, images_get(all, getpid(), &k));
	CHECK_EQ(img->why != 0, !allowed);
	CHECK(!strstr(img->path, "(deleted)"));
	if (allowed) {
		CHECK_EQ(img->build_id[0], 2);
		/* The mapping is another one by now. */
		k.inode += 1000;
		img = images_at(all, images_get(all, getpid(), &k));
		CHECK_EQ(img->why, -ESTALE);
	}
	munmap(p, 4096);
	images_free(all);
}

TEST(deleted_files)
{
	char path[256], deleted[300];
	int fd, memfd;

	snprintf(path, sizeof(path), "%s", in_folder("deleted"));
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	write_elf(path, 20, 2);
	fd = open(path, O_RDONLY);
	unlink(path);
	check_mapped(fd, deleted);
	/* Another file in its place must not be taken for it. */
	write_elf(path, 20, 1);
	check_mapped(fd, deleted);
	memfd = memfd_create("jit", 0);
	CHECK(sendfile(memfd, fd, NULL, 1 << 20) > 0);
	check_mapped(memfd, "/memfd:jit (deleted)");
	close(memfd);
	close(fd);
	unlink(path);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(names_without_files);
	RUN(one_file_is_one_image);
	RUN(retired_images_are_other_ones);
	RUN(another_file_of_that_name);
	RUN(only_regular_files_are_opened);
	RUN(what_is_no_elf_file_is_not_kept_open);
	RUN(names_are_cleaned_for_display_only);
	RUN(endless_paths);
	RUN(no_descriptors_left);
	RUN(deleted_files);
	rmdir(folder);
	return TEST_END();
}
