/* SPDX-License-Identifier: MIT */
/* Texts of probes, and names that they are compared with: any bytes have an answer or an error. */
#include <errno.h>

#include "fuzz/fuzz.h"
#include "probes/names.h"
#include "probes/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_pattern pattern;
	struct probe_spec spec;
	struct error e = { 0 };
	char *rest, *text = fuzz_text(data, size, &rest);
	int err;

	if (!text)
		return 0;
	/* The first line is a probe, what follows a name. */
	if (probe_spec_is(text)) {
		err = probe_spec_parse(&spec, text, &e);
		require(err == 0 || err == -EINVAL);
		require(err ? *e.text && !strpbrk(e.text, "\n\033") : *spec.name || spec.offset ||
								      strchr(text, '0'));
		if (!err && strlen(spec.name) < 64 && strlen(rest) < 256 &&
		    !probe_pattern_open(&pattern, spec.name)) {
			probe_name_matches(&pattern, rest);
			probe_name_matches_demangled(&pattern, rest);
			probe_pattern_close(&pattern);
		}
	}
	free(text);
	return 0;
}
