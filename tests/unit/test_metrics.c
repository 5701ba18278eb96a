/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <string.h>

#include "push/metrics.h"
#include "push/metrics_page.h"
#include "push/metrics_server.h"

static const char *status(const char *request)
{
	return metrics_status(request, strlen(request));
}

TEST(answers_what_is_asked)
{
	CHECK_STR(status("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), "200 OK");
	CHECK_STR(status("GET /metrics?x=1 HTTP/1.0\r\n\r\n"), "200 OK");
	CHECK_STR(status("GET / HTTP/1.1\r\n\r\n"), "404 Not Found");
	CHECK_STR(status("GET /metricsx HTTP/1.1\r\n\r\n"), "404 Not Found");
	CHECK_STR(status("POST /metrics HTTP/1.1\r\n\r\n"), "405 Method Not Allowed");
	CHECK_STR(status("GET /metrics\r\n\r\n"), "400 Bad Request");
	CHECK_STR(status("\r\n\r\n"), "400 Bad Request");
	CHECK_STR(status("GET /metrics\r\nx: HTTP/1.1\r\n\r\n"), "400 Bad Request");
	CHECK(!status("GET /metrics HTTP/1.1\r\n"));
	CHECK(!status(""));
}

TEST(has_an_end_of_patience)
{
	static char many[4096];

	memset(many, 'x', sizeof(many));
	CHECK(!metrics_status(many, sizeof(many) - 1));
	CHECK_STR(metrics_status(many, sizeof(many)), "431 Request Header Fields Too Large");
}

TEST(formats_all)
{
	const struct profile_account account = {
		.taken = 12, .kept = 9, .nlost = 2, .lost = { { "ring buffer", 3 }, { "x", 0 } },
	};
	const struct metrics_process processes[] = { { "sampler", 1.5, 4096 } };
	const struct spool_counts server = { .spooled = { 10, 0, 500 }, .sent = { 7, 0, 0 },
					     .dropped = { 1, 0, 99 } };
	const struct spool_counts *const servers[] = { &server };
	const struct metrics_values v = {
		.account = &account, .frequency = 7, .counts = { .windows = 2, .failed = 1 },
		.servers = servers, .nservers = 1, .processes = processes, .nprocesses = 1,
	};
	metrics_text to = { 0 };

	metrics_format(&to, &v);
	vec_push(&to, '\0');
	CHECK(strstr(to.v, "\nebprof_samples_total 12\n"));
	CHECK(strstr(to.v, "\nebprof_frequency_hertz 7\n"));
	CHECK(strstr(to.v, "\nebprof_samples_lost_total{reason=\"ring buffer\"} 3\n"));
	CHECK(strstr(to.v, "\nebprof_samples_lost_total{reason=\"x\"} 0\n"));
	CHECK(strstr(to.v, "\n# TYPE ebprof_windows_total counter\nebprof_windows_total 2\n"));
	CHECK(strstr(to.v, "\nebprof_profiles_failed_total 1\n"));
	CHECK(strstr(to.v, "\nebprof_requests_total{server=\"1\",outcome=\"sent\"} 7\n"));
	CHECK(strstr(to.v, "\nebprof_requests_bytes_total{server=\"1\",outcome=\"dropped\"} 99\n"));
	CHECK(strstr(to.v, "\n# TYPE ebprof_spool_bytes gauge\n"));
	CHECK(strstr(to.v, "\nebprof_spool_bytes{server=\"1\"} 401\n"));
	CHECK(strstr(to.v, "\nebprof_spool_requests{server=\"1\"} 2\n"));
	CHECK(strstr(to.v, "\nebprof_cpu_seconds_total{process=\"sampler\"} 1.50\n"));
	CHECK(strstr(to.v, "\nebprof_resident_memory_bytes{process=\"sampler\"} 4096\n"));
	vec_free(&to);
}

TEST(has_a_page_of_now)
{
	static char text[METRICS_PAGE_MOST + 10], got[METRICS_PAGE_MOST];
	struct metrics_page *p = metrics_page_new();

	CHECK(p && !metrics_page_read(p, got));
	metrics_page_write(p, "one\n", 4);
	metrics_page_write(p, "two\n", 4);
	CHECK(metrics_page_read(p, got) == 4 && !memcmp(got, "two\n", 4));
	/* Cut at the end of a line. */
	memset(text, 'x', sizeof(text));
	text[100] = '\n';
	metrics_page_write(p, text, sizeof(text));
	CHECK_EQ(metrics_page_read(p, got), 101);
	metrics_page_free(p);
}

TEST(refuses_what_is_no_address)
{
	static const char *const wrong[] = { "", "x", ":", "127.0.0.1:", "1.2.3:80", "::1:80",
					     "[::1]", "127.0.0.1:65536", "127.0.0.1:-1", "[x]:1",
					     "localhost:80" };
	struct metrics_page *p = metrics_page_new();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error e = { 0 };

		CHECK(!metrics_server_new(wrong[i], p, &e) && e.status == STATUS_USAGE);
	}
	metrics_page_free(p);
}

int main(void)
{
	RUN(answers_what_is_asked);
	RUN(has_an_end_of_patience);
	RUN(formats_all);
	RUN(has_a_page_of_now);
	RUN(refuses_what_is_no_address);
	return TEST_END();
}
