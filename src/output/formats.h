/* SPDX-License-Identifier: MIT */
/* The writers behind the rows of output.c, each in the file of its name. */
#ifndef EBPROF_FORMATS_H
#define EBPROF_FORMATS_H

#include "output/output.h"

void callgrind_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void difference_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void difference_json_write(const struct profile *p, const struct output_options *o,
			   struct outfile *f);
void dhat_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void firefox_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void folded_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void html_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void ndjson_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void perfetto_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void perf_script_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void speedscope_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void svg_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void pprof_write(const struct profile *p, const struct output_options *o, struct outfile *f);
void top_write(const struct profile *p, const struct output_options *o, struct outfile *f);

#endif
