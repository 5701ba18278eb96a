/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/label.h"
#include "base/text.h"

#define E "\xe2\x80\xa6"

static const char *fit(const char *name, size_t columns)
{
	static char out[2048];

	label_fit(out, sizeof(out), name, columns);
	CHECK(text_width(out) <= columns);
	return out;
}

static const char templates[] = "std::vector<int, std::allocator<int> > "
				"space::outer<T>::inner<U>(int, std::string const&) const";

TEST(what_says_least_goes_first)
{
	CHECK_STR(fit(templates, 200), templates);
	CHECK_STR(fit(templates, 60), "space::outer<T>::inner<U>(int, std::string const&) const");
	CHECK_STR(fit(templates, 40), "space::outer<T>::inner<U>(" E ")");
	CHECK_STR(fit(templates, 25), "space::outer<" E ">::inner<" E ">");
	CHECK_STR(fit(templates, 24), E "::outer<" E ">::inner<" E ">");
	CHECK_STR(fit(templates, 20), E "::inner<" E ">");
	CHECK_STR(fit(templates, 8), "std::ve" E);
	CHECK_STR(fit(templates, 1), "");
	CHECK_STR(fit(templates, 0), "");
}

TEST(brackets_that_are_no_arguments)
{
	CHECK_STR(fit("operator new(unsigned long)", 15), "operator new(" E ")");
	CHECK_STR(fit("operator new(unsigned long)", 12), "operator new");
	CHECK_STR(fit("a::operator()(int) const", 18), "a::operator()(" E ")");
	CHECK_STR(fit("bool a::operator<(a const&) const", 20), "a::operator<(" E ")");
	CHECK_STR(fit("main.(*Server).Run", 12), "main.(*Serv" E);
	CHECK_STR(fit("(anonymous namespace)::f()", 10), E "::f");
	CHECK_STR(fit("<T as core::fmt::Display>::fmt", 20), E "::fmt");
	CHECK_STR(fit("f(int) [clone .cold]", 6), "f(" E ")");
	CHECK_STR(fit("broken<(a", 6), "broke" E);
	CHECK_STR(fit("a plain sentence of words", 10), "a plain s" E);
}

TEST(of_an_address_the_end_stays)
{
	CHECK_STR(fit("[libcrypto.so.3+0x1d0750]", 25), "[libcrypto.so.3+0x1d0750]");
	CHECK_STR(fit("[libcrypto.so.3+0x1d0750]", 8), E "1d0750]");
}

TEST(any_length_and_depth)
{
	static char deep[3000], many[1025];

	memset(deep, '<', sizeof(deep) - 1);
	CHECK_STR(fit(deep, 3), "<<" E);
	for (size_t i = 0; i < sizeof(many) - 1; i++)
		many[i] = "<<::>(a) "[i % 9];
	for (size_t columns = 0; columns < 300; columns++)
		fit(many, columns);
	for (size_t i = 0; i < sizeof(many) - 1; i++)
		many[i] = i < 500 ? "a<"[i % 2] : ">:"[i % 2];
	for (size_t columns = 0; columns < 300; columns++)
		fit(many, columns);
}

TEST(room_in_bytes)
{
	char out[8];

	label_fit(out, sizeof(out), "abcdefghijkl", 80);
	CHECK_STR(out, "abcd" E);
	label_fit(out, sizeof(out), "[abcdefghijkl+0x12]", 80);
	CHECK_STR(out, E "x12]");
	label_fit(out, 3, "abcdef", 80);
	CHECK_STR(out, "");
}

int main(void)
{
	RUN(what_says_least_goes_first);
	RUN(brackets_that_are_no_arguments);
	RUN(of_an_address_the_end_stays);
	RUN(any_length_and_depth);
	RUN(room_in_bytes);
	return TEST_END();
}
