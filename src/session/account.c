/* SPDX-License-Identifier: MIT */
#include "session/account.h"

#include "unwind/result.h"

void account_fill(struct profile *p, const struct collector *c, const struct assembler *a)
{
	static const char *const losses[EBP_LOSSES] = {
		[EBP_LOST_RING] = "ring buffer full", [EBP_LOST_MAP] = "count map full",
		[EBP_LOST_PROBE] = "interrupted a probe",
		[EBP_LOST_PACE] = "after the last stack of --max-overhead",
	};
	struct profile_account *to = profile_account(p);
	struct ebp_counters counters;

	collector_counters(c, &counters);
	*to = (struct profile_account){ .taken = counters.taken };
	for (int i = 0; i < EBP_RESULTS; i++) {
		uint64_t n = assembler_results(a)[i];

		to->kept += n;
		if (i != EBP_COMPLETE)
			to->truncated[to->ntruncated++] = (struct profile_reason){
				unwind_result_name(i), n
			};
	}
	for (int i = 0; i < EBP_LOSSES; i++)
		to->lost[to->nlost++] = (struct profile_reason){ losses[i], counters.lost[i] };
}

void account_complete(struct profile *p, const struct collector *c)
{
	struct profile_account *to = profile_account(p);
	struct ebp_counters counters;

	collector_counters(c, &counters);
	/* Counted by the kernel, but the map could not be read, or it was too late to: mostly 0. */
	to->lost[to->nlost++] = (struct profile_reason){ "not fetched", counters.kept - to->kept };
}
