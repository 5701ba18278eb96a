/* SPDX-License-Identifier: MIT */
/* A file of options, with each way of storing one. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli_config.h"

struct options {
	string_vec strings;
	int_vec pids, cpus;
	uint64_t duration, rate, memory, count;
	double percent;
	int flag;
};

#define ROW(name, store, field) { 0, 0, name, "X", store, offsetof(struct options, field), "", 0 }

static const struct cli_option rows[] = {
	ROW("to", cli_strings, strings), ROW("pid", cli_pids, pids), ROW("cpus", cli_cpus, cpus),
	ROW("every", cli_duration, duration), ROW("frequency", cli_rate, rate),
	ROW("keep-size", cli_memory, memory), ROW("period", cli_count, count),
	ROW("max", cli_percent, percent),
	{ 0, 0, "all", NULL, cli_flag, offsetof(struct options, flag), "", 0 },
	CLI_END
};
static const struct cli_command command = { .name = "push", .rows = rows };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options o = { 0 };
	struct cli_given given = { 0 };
	struct error e = { 0 };
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (!cli_config_parse(&command, &o, "file", text, &given, &e) != !*e.text)
		abort();
	vec_free(&o.strings);
	vec_free(&o.pids);
	vec_free(&o.cpus);
	free(text);
	return 0;
}
