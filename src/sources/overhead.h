/* SPDX-License-Identifier: MIT */
/* --max-overhead: what measuring may cost, in %. */
#ifndef EBPROF_SOURCES_OVERHEAD_H
#define EBPROF_SOURCES_OVERHEAD_H

#include "cli/cli.h"

#define OVERHEAD_NONE (-1.0)		/* no bound; 0: it was not given */
#define OVERHEAD_OF_PROBES 10.0		/* the default of those in programs that run already */

cli_store overhead_store;		/* double: %, or OVERHEAD_NONE for "none" */

#endif
