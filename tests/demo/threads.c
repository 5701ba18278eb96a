/* SPDX-License-Identifier: MIT */
/*
 * What the pictures of the page (docs/page-*.png) are of, an imaginary order service: one thread
 * receives orders, few of them every few seconds, two work them off below one lock, one archives
 * twice a second.
 *
 *	threads SECONDS
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define WORKERS 2
#define ROOM 400

/* Not a constant to the compiler. */
static const char *volatile order =
	"4711,alice@example.org,2026-11-21,3 x green tea,berlin,express";
static volatile uint64_t sink;
static atomic_bool done;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t book_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_order = PTHREAD_COND_INITIALIZER;
static int queued;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static inline uint64_t mix(uint64_t h, char c)
{
	return (h ^ (unsigned char)c) * 0x100000001b3u;
}

static NOINLINE uint64_t hash_field(const char *field, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (int round = 0; round < 900; round++)
		for (size_t i = 0; i < n; i++)
			h = mix(h, field[i]);
	return h;
}

static NOINLINE uint64_t parse_order(const char *line)
{
	uint64_t sum = 0;

	while (*line) {
		size_t n = strcspn(line, ",");

		sum += hash_field(line, n);
		line += n + (line[n] == ',');
	}
	return sum;
}

static NOINLINE double discount(double price, int day)
{
	return price * 0.999 + (double)(day % 7);
}

static NOINLINE double price_order(uint64_t number)
{
	double price = (double)(number % 1000);

	for (int i = 0; i < 20000; i++)
		price = discount(price, i);
	return price;
}

static NOINLINE void book_order(uint64_t number)
{
	pthread_mutex_lock(&book_lock);
	sink += hash_field(order, 4);
	sink += (uint64_t)price_order(number);
	pthread_mutex_unlock(&book_lock);
}

static NOINLINE bool take_order(void)
{
	pthread_mutex_lock(&queue_lock);
	while (!queued && !done)
		pthread_cond_wait(&has_order, &queue_lock);
	if (queued)
		queued--;
	pthread_mutex_unlock(&queue_lock);
	return !done;
}

static void *work(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (take_order())
		book_order(parse_order(order));
	return NULL;
}

static NOINLINE void write_archive(int fd)
{
	char block[8192];

	memset(block, 'o', sizeof(block));
	for (int i = 0; i < 3000; i++)
		if (pwrite(fd, block, sizeof(block), i % 64 * (off_t)sizeof(block)) < 0)
			abort();
	sink += hash_field(block, 1000);
	fsync(fd);
}

static void *archive(void *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	pthread_setname_np(pthread_self(), "archive");
	while (fd >= 0 && !done) {
		pause_ms(470);
		write_archive(fd);
	}
	unlink(path);
	return NULL;
}

static NOINLINE void receive_orders(int n)
{
	pthread_mutex_lock(&queue_lock);
	queued = queued + n < ROOM ? queued + n : ROOM;
	pthread_cond_broadcast(&has_order);
	pthread_mutex_unlock(&queue_lock);
}

int main(int argc, char **argv)
{
	static char names[WORKERS][8] = { "work 1", "work 2" }, path[] = "/tmp/ebprof-threads";
	pthread_t threads[WORKERS + 1];
	int seconds = argc > 1 ? atoi(argv[1]) : 5;

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, names[i]);
	pthread_create(&threads[WORKERS], NULL, archive, path);
	for (int i = 0; i < seconds * 20; i++) {
		receive_orders(i % 100 < 70 ? 60 + i % 100 * 4 : 4);
		pause_ms(50);
	}
	done = true;
	receive_orders(0);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
