/* SPDX-License-Identifier: MIT */
#include "symbols/demangle.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "test.h"

static struct demangler *apart;

/* What @raw is shown as. */
static const char *readable(const char *raw)
{
	static char text[DEMANGLER_TEXT];

	demangle(apart, raw, text, sizeof(text));
	return text;
}

#define CHECK_NAME(raw, expected) CHECK_STR(readable(raw), expected)

TEST(plain_names)
{
	CHECK_NAME("main", "main");
	CHECK_NAME("", "");
	CHECK_NAME("_", "_");
	CHECK_NAME("_Z", "_Z");
	CHECK_NAME("_R", "_R");
	CHECK_NAME("_ZN", "_ZN");
	CHECK_NAME("_Zfoo", "_Zfoo");
	CHECK_NAME("memcpy@@GLIBC_2.14", "memcpy");
	CHECK_NAME("memcpy@GLIBC_2.2.5", "memcpy");
	CHECK_NAME("@odd", "@odd");
	CHECK_NAME("foo.cold", "foo.cold");
	CHECK_NAME("foo.constprop.0.isra.0", "foo.constprop.0.isra.0");
	CHECK_NAME("foo.llvm.1234567890", "foo");
	CHECK_NAME("foo.llvm.A5310EB.cold", "foo.cold");
	CHECK_NAME("foo.llvm.", "foo.llvm.");
	CHECK_NAME("foo.llvm.12x", "foo.llvm.12x");
	CHECK_EQ(demangle(apart, "main", (char[8]){ 0 }, 8), 0);
	CHECK_EQ(demangle(apart, "_Z3foov", (char[8]){ 0 }, 8), 1);
}

TEST(cxx)
{
	CHECK_NAME("_Z3fooi", "foo(int)");
	CHECK_NAME("_ZN3Foo3barEPKc", "Foo::bar(char const*)");
	CHECK_NAME("_ZNSt6vectorIiSaIiEE9push_backERKi",
		   "std::vector<int, std::allocator<int> >::push_back(int const&)");
	CHECK_NAME("_ZNKSt12__basic_fileIcE7is_openEv@@GLIBCXX_3.4",
		   "std::__basic_file<char>::is_open() const");
	CHECK_NAME("_Z3foov.cold", "foo() [clone .cold]");
	CHECK_NAME("_Z3fooi.part.0.constprop.0", "foo(int) [clone .part.0] [clone .constprop.0]");
	CHECK_NAME("_Z3foov.llvm.1234", "foo()");
	CHECK_NAME("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const");
	CHECK_NAME("_ZN3Foo3barEi::{lambda#1}::operator()",
		   "Foo::bar(int)::{lambda#1}::operator()");
	CHECK_NAME("_Zfoo::{lambda#1}::operator()", "_Zfoo::{lambda#1}::operator()");
	/* Seventeen characters, but no hash of Rust's. */
	CHECK_NAME("_ZN3Foo17h0000000000000000E", "Foo::h0000000000000000");
}

/* Names after the language's specification ("Application Binary Interface"). */
TEST(d)
{
	CHECK_NAME("_Dmain", "D main");
	CHECK_NAME("_D4test3fooFiZi", "test.foo(int)");
	CHECK_NAME("_D4test3Box3putMFAyaZv", "test.Box.put(immutable(char)[])");
	CHECK_NAME("_D4test__T3mapTiZ3mapFiZi", "test.map!(int).map(int)");
	CHECK_NAME("_D4test3setFC4test3BoxQkZv", "test.set(test.Box, test.Box)");
	CHECK_NAME("_D4test3fooFiZi.cold", "test.foo(int) [clone .cold]");
	CHECK_NAME("_D", "_D");
	CHECK_NAME("_Dynamic", "_Dynamic");
	CHECK_NAME("_D4test3fooi", "test.foo");
	CHECK_NAME("_D4test3foo", "_D4test3foo");
	CHECK_NAME("_D4test99foo", "_D4test99foo");
}

TEST(rust_legacy)
{
	CHECK_NAME("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE",
		   "core::fmt::Formatter::write_str");
	CHECK_NAME("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		   "3bar17h930b740aa94f1d3aE",
		   "<Test + 'static as foo::Bar<Test>>::bar");
	CHECK_NAME("_ZN1r10_$u2bb$mod15_$u540d$$u524d$17hec29522c5b39901cE", "r::ʻmod::名前");
	CHECK_NAME("_ZN3foo3bar17h0123456789abcdefE.llvm.99", "foo::bar");
	CHECK_NAME("_ZN3foo3bar17h0123456789abcdefE.cold.7", "foo::bar [clone .cold.7]");
	/* An escape that is none is shown as it stands. */
	CHECK_NAME("_ZN7a$XX$b$17h0123456789abcdefE", "a$XX$b$");
	/* Damaged: a length that runs into the hash. */
	CHECK_NAME("_ZN99foo17h0123456789abcdefE", "_ZN99foo17h0123456789abcdefE");
}

TEST(rust_v0)
{
	CHECK_NAME("_RNvCs6GmmlP4bgsG_1r4main", "r::main");
	CHECK_NAME("_RNCNvCs6GmmlP4bgsG_1r4main0B3_", "r::main::{closure#0}");
	CHECK_NAME("_RNCNvC1r4mains_0", "r::main::{closure#1}");
	CHECK_NAME("_RNSNvC1r1f6vtable", "r::f::{shim:vtable#0}");
	CHECK_NAME("_RINvCs6GmmlP4bgsG_1r3arrKj3_Kb1_Kc22_Kan3_EB2_",
		   "r::arr::<3, true, '\"', -3>");
	CHECK_NAME("_RINvC1r1fKo123456789abcdef01_E", "r::f::<0x123456789abcdef01>");
	CHECK_NAME("_RNvMNtC1a1bNtB2_1S1f", "<a::b::S>::f");
	CHECK_NAME("_RNvXs_C1aNtB4_1SNtB4_1T1f", "<a::S as a::T>::f");
	CHECK_NAME(
		"_RINvC1a1fRejQAhj4_OlPSdTbETbcEE",
		"a::f::<&str, usize, &mut [u8; 4], *mut i32, *const [f64], (bool,), (bool, char)>");
	CHECK_NAME("_RINvC1a1fFUKCPhOlEtE",
		   "a::f::<unsafe extern \"C\" fn(*const u8, *mut i32) -> u16>");
	CHECK_NAME("_RINvC1a1fFG_RL0_eEuE", "a::f::<for<'a> fn(&'a str)>");
	CHECK_NAME("_RINvC1a1fDINtC1b1TeEp4ItemmEL_E", "a::f::<dyn b::T<str, Item = u32>>");
	CHECK_NAME("_RINvC1a1fDNtC1b1TNtC1b1UEL_E", "a::f::<dyn b::T + b::U>");
	CHECK_NAME("_RNvC1a13u5_f_5gah", "_RNvC1a13u5_f_5gah");
	CHECK_NAME("_RNvNtCs6GmmlP4bgsG_1ru7mod_j4bu6ldr85b", "r::ʻmod::名前");
	CHECK_NAME("_RNvXCs6GmmlP4bgsG_1rINtB2_u6F_1gaalENtB2_u8rait_4jdu9gre_6ka8iB2_",
		   "<r::Föö<i32> as r::Τrait>::größe");
	CHECK_NAME("_RNvC1r4main.llvm.123.cold", "r::main [clone .cold]");
	CHECK_NAME("_RNvC1r4mai", "_RNvC1r4mai");
	CHECK_NAME("_RNvC1r4mainX", "_RNvC1r4mainX");
	CHECK_NAME("_R1NvC1r4main", "_R1NvC1r4main");
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* "S_" + @n of a substitution, in base 36. */
static char *substitution(char *p, int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	*p++ = 'S';
	if (n >= 36)
		*p++ = digits[n / 36];
	*p++ = digits[n % 36];
	*p++ = '_';
	return p;
}

/*
 * A<A<A<...>, the same>, the same>: @n levels are 2^n names; @pack: searched for a pack before it
 * is printed.
 */
static void doubling(char *p, int n, int pack)
{
	p += sprintf(p, "_Z1f1A%s", pack ? "Dp" : "");
	for (int i = 0; i < n; i++)
		p += sprintf(p, "S_I");
	p += sprintf(p, "1BS0_E");
	for (int i = 1; i < n; i++) {
		p = substitution(p, i);
		*p++ = 'E';
	}
	*p = '\0';
}

/* Works apart: its time is not ours. */
static double waited(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

TEST(hostile_cxx_is_bounded)
{
	struct sigaction before, after;
	char name[1024], out[4096];
	double start = waited();

	sigaction(SIGPROF, NULL, &before);
	for (int pack = 0; pack < 2; pack++) {
		doubling(name, 60, pack);
		CHECK_STR(readable(name), name);
	}
	CHECK(waited() - start < 5);
	CHECK_EQ(demangler_gave_up(apart), 1);
	/* The same, small enough to be told; and nothing of it was in this process. */
	doubling(name, 4, 1);
	CHECK(demangle(apart, name, out, sizeof(out)) == 1);
	CHECK_NAME("_ZNSt6vectorIiSaIiEE9push_backERKi",
		   "std::vector<int, std::allocator<int> >::push_back(int const&)");
	sigaction(SIGPROF, NULL, &after);
	CHECK(before.sa_handler == after.sa_handler);

	/* Deep nesting. */
	memcpy(name, "_Z1f", 4);
	for (int i = 4; i < 1022; i++)
		name[i] = 'P';
	name[1022] = 'i';
	name[1023] = '\0';
	CHECK(readable(name)[0] != '\0');
}

/* "_Z1f" of @n pointers to int. */
static void pointers(char *name, size_t n)
{
	memcpy(name, "_Z1f", 4);
	memset(name + 4, 'P', n);
	strcpy(name + 4 + n, "i");
}

/* Longer ones than c++filt takes without -r. */
TEST(long_cxx)
{
	char name[DEMANGLER_NAME + 1], expected[2048] = "f(int";

	pointers(name, 1020);
	memset(expected + 5, '*', 1020);
	strcpy(expected + 5 + 1020, ")");
	CHECK_NAME(name, expected);
	/* One byte more than is taken. */
	pointers(name, DEMANGLER_NAME - 5);
	CHECK_STR(readable(name), name);
}

/* Enough references that it is asked for apart, and not too many. */
#define APART	8

TEST(names_that_hold_up_use_their_time_up)
{
	struct demangler *usual = apart;
	char name[1024];
	double start = waited();

	apart = demangler_new();
	doubling(name, 60, 1);
	for (int i = 0; i < 1000; i++)
		CHECK_STR(readable(name), name);
	/* 2 s of CPU time, on a busy machine. */
	CHECK(waited() - start < 30);
	doubling(name, APART, 1);
	CHECK_STR(readable(name), name);
	CHECK_NAME("_Z3fooi", "foo(int)");
	demangler_free(apart);
	apart = usual;
}

TEST(without_its_process)
{
	struct demangler *usual = apart;
	char name[1024];

	doubling(name, APART, 1);
	apart = NULL;
	CHECK_STR(readable(name), name);
	CHECK_NAME("_Z3fooi", "foo(int)");
	CHECK_EQ(demangler_gave_up(apart), 0);
	apart = demangler_new();
	CHECK(readable(name)[0] == 'f');
	kill(demangler_pid(apart), SIGKILL);
	CHECK_STR(readable(name), name);
	CHECK_EQ(demangler_gave_up(apart), 1);
	CHECK_STR(readable(name), name);
	demangler_free(apart);
	apart = usual;
}

static void *ask_often(void *arg)
{
	char name[1024], first[DEMANGLER_TEXT], out[DEMANGLER_TEXT];
	long wrong = 0;

	doubling(name, arg ? APART : APART + 1, 1);
	wrong += !demangle(apart, name, first, sizeof(first));
	for (int i = 0; i < 2000; i++)
		wrong += !demangle(apart, name, out, sizeof(out)) || strcmp(out, first) != 0;
	return (void *)wrong;
}

TEST(two_threads_at_once)
{
	pthread_t thread;
	void *wrong;

	CHECK_EQ(pthread_create(&thread, NULL, ask_often, NULL), 0);
	CHECK(ask_often(apart) == NULL);
	pthread_join(thread, &wrong);
	CHECK(wrong == NULL);
}

/*
 * Types that double with each reference, and symbols that are tried at each digit of their lengths.
 */
TEST(hostile_d_is_bounded)
{
	char name[4096], out[8192];
	size_t n = (size_t)sprintf(name, "_D4test3fooF");
	double start = seconds();

	for (int i = 0; i < 200; i++)
		n += (size_t)sprintf(name + n, "HiHQ%cQ%c", 'b' + i % 20, 'd' + i % 20);
	strcpy(name + n, "Zv");
	CHECK_EQ(demangle(apart, name, out, sizeof(out)), 0);
	n = (size_t)sprintf(name, "_D1a");
	for (int i = 0; i < 150; i++)
		n += (size_t)sprintf(name + n, "__T1bS1111111");
	CHECK_EQ(demangle(apart, name, out, sizeof(out)), 0);
	/* The most that is let through. */
	n = (size_t)sprintf(name, "_D1a");
	for (int i = 0; i < 4; i++)
		n += (size_t)sprintf(name + n, "__T1bS11111111111111111111");
	for (int i = 0; i < 1000; i++)
		n += (size_t)sprintf(name + n, "1b");
	demangle(apart, name, out, sizeof(out));
	memset(name, 'P', 4095);
	memcpy(name, "_D4test3fooF", 12);
	name[4095] = '\0';
	CHECK_EQ(demangle(apart, name, out, sizeof(out)), 0);
	CHECK(seconds() - start < 2);
}

/* a::f of @n tuples, each of twice the one before: back references to its place. */
static void doubling_tuple(char *name, int n)
{
	static const char base62[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *p = name + sprintf(name, "_RINvC1a1f"), ref[8] = "";

	for (int i = 0; i < n; i++) {
		int number = (int)(p - name) - 2 - 1;	/* "_" is 0, "0_" is 1 */

		p += i ? sprintf(p, "T%s%sE", ref, ref) : sprintf(p, "TE");
		if (number < 62)
			snprintf(ref, sizeof(ref), "B%c_", base62[number]);
		else
			snprintf(ref, sizeof(ref), "B%c%c_", base62[number / 62],
				 base62[number % 62]);
	}
	sprintf(p, "E");
}

/* a::f of (), @n references, each to the one before, and @ends references to the last of them. */
static void chain_of_references(char *name, int n, int ends)
{
	static const char base62[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *p = name + sprintf(name, "_RINvC1a1fTE");
	int target = 8;

	for (int i = 0; i < n + ends; i++) {
		int here = (int)(p - name) - 2, number = target - 1;

		p += sprintf(p, "B%c%c_", base62[number / 62], base62[number % 62]);
		target = i < n ? here : target;
	}
	sprintf(p, "E");
}

TEST(hostile_rust_is_bounded)
{
	char name[8192];
	double start = seconds();

	doubling_tuple(name, 3);
	CHECK_STR(readable(name), "a::f::<(), ((), ()), (((), ()), ((), ()))>");
	doubling_tuple(name, 60);
	CHECK_STR(readable(name), name);
	/* A binder of 2^60 lifetimes in a path that is not shown. */
	CHECK_NAME("_RNvXINvC1a1fFGzzzzzzzzzz_EuEC1bC1c1f",
		   "_RNvXINvC1a1fFGzzzzzzzzzz_EuEC1bC1c1f");
	/* References to itself and forwards. */
	CHECK_NAME("_RNvB_1f", "_RNvB_1f");
	CHECK_NAME("_RNvB5_1f", "_RNvB5_1f");
	CHECK_NAME("_RNvBzzzzzzzzzzzzzzz_1f", "_RNvBzzzzzzzzzzzzzzz_1f");
	CHECK_NAME("_RINvC1a1fBa_eE", "_RINvC1a1fBa_eE");
	/* A lifetime outside of the binder that bound it. */
	CHECK_NAME("_RINvC1a1fDG_INtC1b1TRL0_eEEL_RL0_eE", "_RINvC1a1fDG_INtC1b1TRL0_eEEL_RL0_eE");
	CHECK_NAME("_RINvC1a1fFG_RL0_eEuRL0_eE", "_RINvC1a1fFG_RL0_eEuRL0_eE");
	/* Many short ends of a long chain of references. */
	chain_of_references(name, 10, 10);
	CHECK_STR(readable(name), "a::f::<(), (), (), (), (), (), (), (), (), (), (), (), (), (), "
				  "(), (), (), (), (), (), ()>");
	chain_of_references(name, 300, 400);
	CHECK_STR(readable(name), name);
	/* More characters in punycode than are taken. */
	sprintf(name, "_RNvC1ru128%0128d", 0);
	memset(name + 11, 'a', 128);
	CHECK(!strncmp(readable(name), "r::\xc2\x80", 5));
	sprintf(name, "_RNvC1ru129%0129d", 0);
	memset(name + 11, 'a', 129);
	CHECK_STR(readable(name), name);
	/* Deep. */
	memcpy(name, "_RINvC1a1f", 10);
	memset(name + 10, 'R', 4000);
	strcpy(name + 4010, "eE");
	CHECK_STR(readable(name), name);
	CHECK(seconds() - start < 2);
}

TEST(output_that_does_not_fit)
{
	char out[16];

	CHECK_EQ(demangle(apart, "_ZN3Foo3barEPKc", out, sizeof(out)), 0);
	CHECK_STR(out, "_ZN3Foo3barEPKc");
	CHECK_EQ(demangle(apart, "_RNvNtC1a6module8function", out, sizeof(out)), 0);
	CHECK_STR(out, "_RNvNtC1a6modul");
	CHECK_EQ(demangle(apart, "_RNvC1r4main.cold", out, sizeof(out)), 0);
	CHECK_EQ(demangle(apart, "_Z3foov", out, 6), 1);
	CHECK_STR(out, "foo()");
	CHECK_EQ(demangle(apart, "_Z3foov", out, 5), 0);
	CHECK_STR(out, "_Z3f");
	CHECK_EQ(demangle(apart, "_RNvC1r4main", out, 8), 1);
	CHECK_STR(out, "r::main");
	CHECK_EQ(demangle(apart, "_RNvC1r4main", out, 7), 0);
	CHECK_EQ(demangle(apart, "_Z3foov", out, 1), 0);
	CHECK_STR(out, "");
}

/* Every prefix and every changed byte: no crash under the sanitizers. */
TEST(damaged_names)
{
	static const char *const names[] = {
		"_ZNSt6vectorIiSaIiEE9push_backERKi.part.0",
		"_RINvC1a1fDINtC1b1TeEp4ItemmEL_FUKCPhOlEtKc22_TbcEEB2_.cold",
		"_ZN1r10_$u2bb$mod15_$u540d$$u524d$17hec29522c5b39901cE.llvm.1",
		"_RNvXCs6GmmlP4bgsG_1rINtB2_u6F_1gaalENtB2_u8rait_4jdu9gre_6ka8iB2_",
		"_D4test__T3mapTiVi3S3fooZ3mapMFNaNbC4test3BoxQkDFAyaHiiZPvZQBa.cold",
	};
	char copy[200];

	for (size_t k = 0; k < sizeof(names) / sizeof(*names); k++) {
		size_t n = strlen(names[k]);

		for (size_t i = 0; i <= n; i++) {
			snprintf(copy, sizeof(copy), "%.*s", (int)i, names[k]);
			readable(copy);
			for (const char *c = "0_EIBu$.9z@"; *c && i < n; c++) {
				snprintf(copy, sizeof(copy), "%s", names[k]);
				copy[i] = *c;
				readable(copy);
			}
		}
	}
}

int main(void)
{
	apart = demangler_new();
	RUN(plain_names);
	RUN(cxx);
	RUN(d);
	RUN(rust_legacy);
	RUN(rust_v0);
	RUN(hostile_cxx_is_bounded);
	RUN(long_cxx);
	RUN(names_that_hold_up_use_their_time_up);
	RUN(without_its_process);
	RUN(two_threads_at_once);
	RUN(hostile_d_is_bounded);
	RUN(hostile_rust_is_bounded);
	RUN(output_that_does_not_fit);
	RUN(damaged_names);
	demangler_free(apart);
	return TEST_END();
}
