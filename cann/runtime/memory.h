/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory. Each device owns one range of addresses over one memfd as large as its capacity; pages come with use.
 * What fits where is kept beside the memory, never in it. Also other ranges that count as device memory (reserved and
 * mapped addresses, memory of other processes) and host memory that was allocated or registered here.
 * Lock: memory (one, innermost but for log). */
#ifndef ANYNPU_RUNTIME_MEMORY_H
#define ANYNPU_RUNTIME_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device.h"

enum range_kind { RANGE_NONE, RANGE_DEVICE, RANGE_HOST, RANGE_REGISTERED };

/* What an address belongs to. */
struct range {
    enum range_kind kind;
    int32_t device; /* RANGE_DEVICE: which */
    char *base;     /* of the block, mapping or registration */
    size_t size;    /* its bytes */
};

struct range memory_find(const void *address);

/* The device in whose own range the address lies, -1: none. No lock. */
int memory_device_of(const void *address);

/* [address, address + bytes) lies inside one block of device memory. */
bool memory_is_device(const void *address, size_t bytes);

/* Allocation from a device; 0, 207001 or 207018 with text. */
int memory_alloc(struct device *device, size_t size, size_t align, void **out);
int memory_free(void *address);

/* Free and total bytes as reported; peak of what was allocated. */
void memory_info(struct device *device, size_t *free, size_t *total, size_t *peak);

/* All memory of the device back to the machine. */
void memory_reset(struct device *device);

/* Where the address lies in which memfd, and that one's size: for other mappings and other processes. False for memory
 * that a device does not own itself. */
bool memory_file(const void *address, int *fd, uint64_t *offset, uint64_t *capacity);

/* Maps [offset, offset + size) of a memfd for clients; usable: what to add to reach it from tasks (guard mode). NULL
 * when it fails. fd -1 reserves addresses only. */
char *memory_map(int fd, uint64_t offset, uint64_t size, ptrdiff_t *usable);
void memory_unmap(char *base, uint64_t size, ptrdiff_t usable);

/* Registers and forgets another range; base + usable is where tasks reach it. A status without text. */
int range_add(enum range_kind kind, int32_t device, void *base, size_t size, ptrdiff_t usable);
bool range_remove(void *base, enum range_kind kind);

/* The address that this process may use for a handed-out one (differs in guard mode). */
void *memory_usable(const void *address);

bool memory_guarded(void);

#endif
