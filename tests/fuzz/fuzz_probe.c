/* SPDX-License-Identifier: MIT */
/* Texts of probes, and names that they are compared with: any bytes have an answer or an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/names.h"
#include "probes/spec.h"

static void require(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_pattern pattern;
	struct probe_spec spec;
	struct error e = { 0 };
	char *text = malloc(size + 1);
	size_t line;
	int err;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	/* The first line is a probe, what follows a name. */
	line = strcspn(text, "\n");
	if (text[line])
		text[line++] = '\0';
	/* What repeats repetitions takes as much memory as its user asks for. */
	if (probe_spec_is(text) && !strchr(text, '{')) {
		err = probe_spec_parse(&spec, text, &e);
		require(err == 0 || err == -EINVAL);
		require(err ? *e.text && !strpbrk(e.text, "\n\033") : *spec.name || spec.offset ||
								      strchr(text, '0'));
		if (!err && strlen(spec.name) < 64 && strlen(text + line) < 256 &&
		    !probe_pattern_open(&pattern, spec.name)) {
			probe_name_matches(&pattern, text + line);
			probe_name_matches_demangled(&pattern, text + line);
			probe_pattern_close(&pattern);
		}
	}
	free(text);
	return 0;
}
