/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"

/* RFC 4648, section 10. */
static const struct {
	const char *bytes, *text;
} vectors[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xfe", "+//+" },
};

TEST(vectors_of_the_rfc)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		size_t n = strlen(vectors[i].bytes), size = 0;
		char text[16] = "";
		unsigned char bytes[16] = "";

		CHECK_EQ(base64_encode(text, (const unsigned char *)vectors[i].bytes, n),
			 BASE64_SIZE(n));
		CHECK_STR(text, vectors[i].text);
		CHECK_EQ(base64_decode(bytes, &size, text, strlen(text)), 0);
		CHECK_EQ(size, n);
		CHECK_STR((char *)bytes, vectors[i].bytes);
	}
}

TEST(damaged_text)
{
	static const char *const bad[] = { "Z",	   "Zg=",  "Zg",   "Z===",     "Zm9v\n",
					   "Zm=v", "=m9v", "Zm9-", "Zg==Zg==", "====" };
	unsigned char bytes[16];
	size_t size;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_EQ(base64_decode(bytes, &size, bad[i], strlen(bad[i])), -EBADMSG);
	CHECK_EQ(base64_decode(bytes, &size, "Zm\0v", 4), -EBADMSG);
}

int main(void)
{
	RUN(vectors_of_the_rfc);
	RUN(damaged_text);
	return TEST_END();
}
