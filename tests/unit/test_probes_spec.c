/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>

#include "probes/files.h"
#include "probes/names.h"
#include "probes/spec.h"

static struct probe_spec spec;
static struct error why;

static int parse(const char *text)
{
	return probe_spec_parse(&spec, text, &why);
}

static int matches(const char *text, const char *name, int demangled)
{
	struct probe_pattern p;
	int is;

	CHECK_EQ(probe_pattern_open(&p, text), 0);
	is = demangled ? probe_name_matches_demangled(&p, name) : probe_name_matches(&p, name);
	probe_pattern_close(&p);
	return is;
}

static int is_name(const char *text, const char *name)
{
	return matches(text, name, 0);
}

static int is_demangled(const char *text, const char *name)
{
	return matches(text, name, 1);
}

TEST(each_kind)
{
	CHECK_EQ(parse("uprobe:/bin/x:main"), 0);
	CHECK(spec.type == PROBE_UPROBE && !spec.offset);
	CHECK_STR(spec.file, "/bin/x");
	CHECK_STR(spec.name, "main");
	CHECK_EQ(parse("uretprobe:libc:malloc"), 0);
	CHECK_EQ(spec.type, PROBE_URETPROBE);
	CHECK_EQ(parse("usdt:/bin/x:gc__start"), 0);
	CHECK_STR(spec.provider, "");
	CHECK_STR(spec.name, "gc__start");
	CHECK_EQ(parse("usdt:libc:libc:memory_*"), 0);
	CHECK_STR(spec.provider, "libc");
	CHECK_STR(spec.name, "memory_*");
	CHECK_EQ(parse("kprobe:vfs_read"), 0);
	CHECK_STR(spec.file, "");
	CHECK_EQ(parse("kretprobe:vfs_read"), 0);
	CHECK_EQ(spec.type, PROBE_KRETPROBE);
	CHECK_STR(probe_type_name(PROBE_KRETPROBE), "kretprobe");
}

TEST(names_of_cxx_have_colons)
{
	CHECK_EQ(parse("uprobe:/bin/x:std::vector<int>::push_back(int const&)"), 0);
	CHECK_STR(spec.name, "std::vector<int>::push_back(int const&)");
	CHECK_EQ(parse("uprobe:/bin/x:A::operator+"), 0);
	CHECK_STR(spec.name, "A::operator+");
	CHECK_EQ(parse("uprobe:/bin/x:A::operator++"), 0);
	CHECK_STR(spec.name, "A::operator++");
}

TEST(lines_of_files)
{
	CHECK_EQ(parse("uprobe:/bin/x:main.c:12"), 0);
	CHECK_STR(spec.name, "main.c");
	CHECK_EQ(spec.line, 12);
	CHECK_EQ(parse("uprobe:/bin/x:/src/a b/main.c:1"), 0);
	CHECK_STR(spec.name, "/src/a b/main.c");
	CHECK_EQ(parse("uprobe:/bin/x:ns::12"), 0);
	CHECK_EQ(spec.line, 0);
	CHECK_EQ(parse("uprobe:/bin/x:main.c:0"), 0);
	CHECK_EQ(spec.line, 0);
	CHECK_EQ(parse("uprobe:/bin/x:main.c:99999999999"), 0);
	CHECK_EQ(spec.line, 0);
}

TEST(regular_expressions)
{
	CHECK_EQ(parse("uprobe:/bin/x:/^(by|at)_[a-z]+$/"), 0);
	CHECK_STR(spec.name, "/^(by|at)_[a-z]+$/");
	CHECK_EQ(parse("uprobe:/bin/x:/a+1/"), 0);
	CHECK_EQ(spec.offset, 0);
	CHECK_EQ(parse("uprobe:/bin/x:/a(/"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:/a++++++++++++++++++++++++++/"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:/a{1,9}/"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:/\\\\{1/"), -EINVAL);
	/* 13 s for a name of 64 bytes */
	CHECK_EQ(parse("uprobe:/bin/x:/(.*)(.*)(.*)\\1\\2\\3x/"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:/operator\\+\\+/"), 0);
	CHECK(is_name("/a\\\\1/", "a\\1"));
	CHECK_EQ(parse("usdt:/bin/x:/a/"), -EINVAL);
	CHECK_EQ(parse("kretprobe:/^vfs_/"), 0);
	CHECK(is_name("/^by_/", "by_first") && !is_name("/^by_$/", "by_first"));
	CHECK(is_name("/^memcpy$/", "memcpy@@GLIBC_2.14"));
	CHECK(is_demangled("/Thrower::(step|twice)/", "_ZN6probed7Thrower4stepEm"));
}

TEST(offsets_and_addresses)
{
	CHECK_EQ(parse("uprobe:/bin/x:main+0x1c"), 0);
	CHECK_STR(spec.name, "main");
	CHECK_EQ(spec.offset, 0x1c);
	CHECK_EQ(parse("uprobe:/bin/x:main+12"), 0);
	CHECK_EQ(spec.offset, 12);
	CHECK_EQ(parse("uprobe:/bin/x:0x401000"), 0);
	CHECK_STR(spec.name, "");
	CHECK_EQ(spec.offset, 0x401000);
	CHECK_EQ(parse("kprobe:vfs_read+4"), 0);
	CHECK_EQ(parse("uretprobe:/bin/x:main+4"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:ma*+4"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:main+4x"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:main+99999999999999999999"), -EINVAL);
}

TEST(what_is_none)
{
	char text[2 * PROBE_TEXT_MAX] = "uprobe:/bin/x:";

	CHECK(!probe_spec_is("cycles") && !probe_spec_is("uprobe") && !probe_spec_is("") &&
	      !probe_spec_is("uprobes:x:y") && !probe_spec_is("sched:sched_switch"));
	CHECK(probe_spec_is("uprobe:") && probe_spec_is("usdt:x"));
	CHECK_EQ(parse("uprobe:"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x"), -EINVAL);
	CHECK_EQ(parse("uprobe:/bin/x:"), -EINVAL);
	CHECK_EQ(parse("uprobe::main"), -EINVAL);
	CHECK_EQ(parse("usdt:x"), -EINVAL);
	CHECK_EQ(parse("kprobe:"), -EINVAL);
	memset(text + strlen(text), 'x', sizeof(text) - strlen(text) - 1);
	CHECK_EQ(parse(text), -EINVAL);
	CHECK(*why.text);
}

TEST(names_match)
{
	static const char mangled[] = "_ZN6probed7Thrower4stepEm";
	static const char template[] = "_ZN6probed7Thrower5twiceIiEET_S2_";

	CHECK(is_name("malloc", "malloc") && !is_name("mallo", "malloc"));
	CHECK(is_name("memcpy", "memcpy@@GLIBC_2.14"));
	CHECK(is_name("mal*", "malloc") && !is_name("mal?", "malloc"));
	CHECK(is_name(mangled, mangled));
	CHECK(!is_name("probed::*", mangled));
	CHECK(is_demangled("probed::Thrower::step", mangled));
	CHECK(is_demangled("probed::Thrower::step(unsigned long)", mangled));
	CHECK(is_demangled("probed::*::st*", mangled));
	CHECK(!is_demangled("step", mangled));
	CHECK(is_demangled("probed::Thrower::twice<int>", template));
	CHECK(!is_demangled("malloc", "malloc"));
	/* (anonymous namespace)::f(), A::operator()(int) */
	CHECK(is_demangled("(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEv"));
	CHECK(is_demangled("A::operator()", "_ZN1AclEi"));
}

TEST(names_of_rust)
{
	static const char v0_own[] = "_RNvMNtCs6mEINUzFH5k_6shapes4shopNtB2_5Apple5weigh";
	static const char v0_trait[] =
		"_RNvXs_NtCs6mEINUzFH5k_6shapes4shopNtB4_5AppleNtB4_6Priced5price";
	static const char v0_generic[] =
		"_RINvNtCs6mEINUzFH5k_6shapes4shop5totalNtB2_5AppleEB4_";
	static const char trait[] = "_ZN60_$LT$shapes..shop..Apple$u20$as$u20$shapes..shop..Priced"
				    "$GT$5price17hfd270ca9cee6bfc2E";
	static const char generic[] = "_ZN6shapes4shop5total17h77f5705313f6f2feE";

	CHECK(is_demangled("<shapes::shop::Apple as shapes::shop::Priced>::price", trait));
	CHECK(is_demangled("<shapes::shop::Apple as shapes::shop::Priced>::price", v0_trait));
	CHECK(is_demangled("shapes::shop::Apple::price", trait));
	CHECK(is_demangled("shapes::shop::Apple::price", v0_trait));
	CHECK(is_demangled("shapes::shop::Apple::weigh", v0_own));
	CHECK(is_demangled("<shapes::shop::Apple>::weigh", v0_own));
	CHECK(is_demangled("shapes::shop::total", generic));
	CHECK(is_demangled("shapes::shop::total", v0_generic));
	CHECK(is_demangled("shapes::shop::total::<shapes::shop::Apple>", v0_generic));
	CHECK(is_demangled("shapes::*::price", trait));
	CHECK(is_demangled("shapes::*::price", v0_trait));
	CHECK(is_demangled("/^shapes::shop::Apple::(price|weigh)$/", v0_own));
	CHECK(!is_demangled("shapes::shop::Priced::price", v0_trait));
	CHECK(!is_demangled("total", v0_generic));
	/* <a::W<fn(u8) -> u8> as a::T>::f */
	CHECK(is_demangled("a::W<fn(u8) -> u8>::f", "_RNvXCs1_1aINtB2_1WFhEhENtB2_1T1f"));
}

TEST(names_of_files)
{
	CHECK(probe_file_is("/usr/lib/libssl.so.3", "libssl"));
	CHECK(probe_file_is("/usr/lib/libssl.so.3", "ssl"));
	CHECK(probe_file_is("/usr/lib/libssl.so.3", "libssl.so.3"));
	CHECK(probe_file_is("/usr/lib/libssl.so.3 (deleted)", "libssl.so.3"));
	CHECK(probe_file_is("/usr/sbin/nginx", "nginx"));
	CHECK(!probe_file_is("/usr/lib/libssl.so.3", "lib"));
	CHECK(!probe_file_is("/usr/lib/libssl.so.3", "libss"));
	CHECK(!probe_file_is("/usr/lib/libssl.so.3", "sl"));
}

int main(void)
{
	RUN(each_kind);
	RUN(names_of_cxx_have_colons);
	RUN(lines_of_files);
	RUN(regular_expressions);
	RUN(offsets_and_addresses);
	RUN(what_is_none);
	RUN(names_match);
	RUN(names_of_rust);
	RUN(names_of_files);
	return TEST_END();
}
