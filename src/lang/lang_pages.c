/* SPDX-License-Identifier: MIT */
#include "lang/lang_pages.h"

#include <errno.h>
#include <string.h>

void lang_pages_begin(struct lang_pages *p, const struct lang_reader *from)
{
	p->from = from;
	for (size_t i = 0; i < LANG_PAGES; i++)
		p->pages[i].state = PAGE_UNKNOWN;
}

/* The page at @address; NULL: it cannot be read. */
static const struct lang_page *page_at(struct lang_pages *p, pid_t pid, uint64_t address)
{
	struct lang_page *page = &p->pages[address / LANG_PAGE % LANG_PAGES];

	if (page->state == PAGE_UNKNOWN || page->address != address) {
		page->address = address;
		page->state = p->from->read(p->from->ctx, pid, address, page->bytes, LANG_PAGE)
				      ? PAGE_MISSING
				      : PAGE_THERE;
	}
	return page->state == PAGE_THERE ? page : NULL;
}

int lang_pages_read(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	struct lang_pages *p = ctx;

	for (size_t done = 0; done < size;) {
		uint64_t at = address + done, inside = at % LANG_PAGE;
		size_t n = LANG_PAGE - inside < size - done ? LANG_PAGE - inside : size - done;
		const struct lang_page *page = page_at(p, pid, at - inside);

		if (!page)
			return -EFAULT;
		memcpy((uint8_t *)to + done, page->bytes + inside, n);
		done += n;
	}
	return 0;
}
