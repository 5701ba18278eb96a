/* SPDX-License-Identifier: MIT */
#include "lang/python_path.h"
#include "test.h"

TEST(below_what_site_enters)
{
	CHECK_STR(python_module_path("/usr/lib/python3.11/selectors.py"), "selectors.py");
	CHECK_STR(python_module_path("/opt/x/lib64/python3.9/asyncio/events.py"),
		  "asyncio/events.py");
	CHECK_STR(python_module_path("/usr/lib/python3/dist-packages/numpy/core/numeric.py"),
		  "numpy/core/numeric.py");
	CHECK_STR(python_module_path("/home/u/.venv/lib/python3.12/site-packages/a/b.py"),
		  "a/b.py");
	CHECK_STR(python_module_path("/usr/lib/python311.zip/os.py"), "os.py");
	CHECK_STR(python_module_path("/usr/lib/python3/dist-packages/a/lib/python3/b.py"), "b.py");
}

TEST(elsewhere_all_of_it)
{
	const char *const files[] = {
		"/srv/app/main.py", "<frozen importlib._bootstrap>", "<string>", "",
		"/srv/python3.11/main.py", "/usr/lib/python3.11", "/usr/lib/python3.11/",
		"/usr/lib/python30x/a.py", "/usr/lib/python3.zip.d/a.py", "site-packages",
		"/usr/lib/python/a.py",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		CHECK_STR(python_module_path(files[i]), files[i]);
}

int main(void)
{
	RUN(below_what_site_enters);
	RUN(elsewhere_all_of_it);
	return TEST_END();
}
