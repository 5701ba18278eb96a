/* SPDX-License-Identifier: MIT */
#include "symbols/short_templates.h"

#include "test.h"

/* @name shortened, or as it is where nothing is to be shortened. */
static const char *shortened(const char *name)
{
	static char text[8192];

	return short_templates(name, text, sizeof(text)) ? text : name;
}

#define CHECK_SHORT(name, expected) CHECK_STR(shortened(name), expected)
#define CHECK_SAME(name) CHECK_SHORT(name, name)

TEST(arguments_of_templates)
{
	CHECK_SHORT("std::vector<int, std::allocator<int> >::push_back(int const&)",
		    "std::vector<...>::push_back(int const&)");
	CHECK_SHORT("f<a<b<c> > >(g<int>, h<i>::j<k>)", "f<...>(g<...>, h<...>::j<...>)");
	CHECK_SHORT("std::function<void (int)>::operator()(int) const",
		    "std::function<...>::operator()(int) const");
	CHECK_SHORT("f<(E)1, ((3)>(2))>(int)", "f<...>(int)");
	CHECK_SHORT("f<((x)<(y))>()", "f<...>()");
	CHECK_SHORT("name[abi:cxx11]<int>()", "name[abi:cxx11]<...>()");
	CHECK_SHORT("void outer::apply<main::{lambda(a<int>)#1}>(int)", "outer::apply<...>(int)");
	CHECK_SAME("empty<>()");
	CHECK_SAME("plain");
	CHECK_SAME("");
}

TEST(operators_stay)
{
	CHECK_SAME("operator<(A, B)");
	CHECK_SAME("operator<<(std::ostream&, A)");
	CHECK_SAME("A::operator->()");
	CHECK_SAME("A::operator->*(int)");
	CHECK_SAME("A::operator<=>(A const&) const");
	CHECK_SAME("A::operator>>=(int)");
	CHECK_SHORT("A<int>::operator->() const", "A<...>::operator->() const");
	CHECK_SHORT("bool operator< <int>(A<int>, A<int>)", "operator< <...>(A<...>, A<...>)");
	CHECK_SHORT("std::operator<< <std::char_traits<char> >(int)", "std::operator<< <...>(int)");
	CHECK_SHORT("std::operator> <int>(int)", "std::operator> <...>(int)");
	CHECK_SHORT("A::operator()<int>(int)", "A::operator()<...>(int)");
	CHECK_SHORT("A::operator B<int>()", "A::operator B<...>()");
	CHECK_SHORT("f<&A::operator< >(int)", "f<...>(int)");
	CHECK_SHORT("f<&A::operator->, 1>(int)", "f<...>(int)");
	CHECK_SHORT("my_operator<int>()", "my_operator<...>()");
	CHECK_SHORT("operators<int>()", "operators<...>()");
}

TEST(what_they_return)
{
	CHECK_SHORT("void std::sort<int*>(int*, int*)", "std::sort<...>(int*, int*)");
	CHECK_SHORT("void empty<>()", "empty<>()");
	CHECK_SHORT("unsigned long const* f<int>(int)", "f<...>(int)");
	CHECK_SHORT("std::enable_if<true, A<int> >::type f<int>()", "f<...>()");
	CHECK_SHORT("decltype (((f)<(x)), (y)) g<int>(int)", "g<...>(int)");
	CHECK_SHORT("decltype(auto) g<int>(int)", "g<...>(int)");
	CHECK_SHORT("decltype (g((A<int>)()).x) g<int>(int)", "g<...>(int)");
	CHECK_SHORT("void (anonymous namespace)::f<int>(int)",
		    "(anonymous namespace)::f<...>(int)");
	CHECK_SHORT("auto void f<int>(int)::{lambda(auto:1)#1}::operator()<char>(char) const",
		    "f<...>(int)::{lambda(auto:1)#1}::operator()<...>(char) const");
	CHECK_SHORT("A<int> A<int>::operator+<int>(int) const [clone .cold]",
		    "A<...>::operator+<...>(int) const [clone .cold]");
	CHECK_SHORT("int& A::operator[]<int>(int)", "A::operator[]<...>(int)");
	/* Nothing that a function returns. */
	CHECK_SHORT("operator new<int>(unsigned long)", "operator new<...>(unsigned long)");
	CHECK_SHORT("A<int>::operator unsigned long() const",
		    "A<...>::operator unsigned long() const");
	CHECK_SHORT("guard variable for void f<int>()::x", "guard variable for void f<...>()::x");
	CHECK_SHORT("vtable for A<int>", "vtable for A<...>");
	CHECK_SHORT("non-virtual thunk to A<int>::f(B)", "non-virtual thunk to A<...>::f(B)");
	CHECK_SHORT("A<int>::f(B) const [clone .part.0]", "A<...>::f(B) const [clone .part.0]");
	CHECK_SHORT("(anonymous namespace)::f(A<int> const&)",
		    "(anonymous namespace)::f(A<...> const&)");
	CHECK_SAME("int f[abi:cxx11]");
	/* Where the name is in it. */
	CHECK_SHORT("void (*f<int>(int))(char)", "void (*f<...>(int))(char)");
	CHECK_SHORT("int (A::*f<int>())(char)", "int (A::*f<...>())(char)");
}

TEST(what_compilers_put_in_braces_stays)
{
	CHECK_SAME("main::{lambda(int)#1}::operator()(int) const");
	CHECK_SHORT("main::{lambda(A<int>)#1}::operator()(A<int>) const",
		    "main::{lambda(A<...>)#1}::operator()(A<...>) const");
	CHECK_SHORT("f<int>::{lambda(auto:1)#2}::operator()<char>(char)",
		    "f<...>::{lambda(auto:1)#2}::operator()<...>(char)");
	CHECK_SAME("core::ops::function::FnOnce::call_once{{vtable.shim}}");
	CHECK_SAME("foo() [clone .cold]");
}

TEST(rust)
{
	CHECK_SHORT("<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop",
		    "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop");
	CHECK_SHORT("core::ptr::drop_in_place::<alloc::string::String>",
		    "core::ptr::drop_in_place::<...>");
	CHECK_SAME("<str as core::fmt::Debug>::fmt");
	CHECK_SHORT("<fn(A<B>) -> C as T>::f", "<fn(A<...>) -> C as T>::f");
	CHECK_SHORT("f::<fn() -> u8>::g", "f::<...>::g");
}

TEST(what_does_not_match_or_fit_stays)
{
	char deep[4096], out[16];

	CHECK_SAME("f<int");
	CHECK_SAME("f<int)>");
	CHECK_SAME("f<(int>)");
	CHECK_SAME("f(int<)>");
	CHECK_SAME("a<b>)");
	CHECK_SAME("main.recv(chan<- int)");
	memset(deep, '<', sizeof(deep));
	deep[0] = 'f';
	deep[sizeof(deep) - 1] = '\0';
	CHECK_SAME(deep);
	CHECK_EQ(short_templates("f<int>::name12", out, 15), 1);
	CHECK_EQ(short_templates("f<int>::name123", out, 15), 0);
	CHECK_EQ(short_templates("f<int>", out, 1), 0);
}

int main(void)
{
	RUN(arguments_of_templates);
	RUN(operators_stay);
	RUN(what_they_return);
	RUN(what_compilers_put_in_braces_stays);
	RUN(rust);
	RUN(what_does_not_match_or_fit_stays);
	return TEST_END();
}
