/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes of a machine tell each other about their use of the devices: npu-smi, libdcmi and the runtime's
 * own answers read it.
 *
 * A file a user and device, <folder>/anynpu-<uid>/device-<n> (folder: option ANYNPU_STATS, /dev/shm), of one size, made
 * of slots of 128 bytes. A process owns a slot while it holds the kernel's record lock on the slot's first byte, so a
 * process that was killed is gone at once, whatever it left behind, and a slot is never owned twice. Only the owner
 * writes a slot, by plain atomic stores; readers copy the file and never write: no lock between them, and nothing that
 * another user leaves in a file can do more than show wrong numbers. Containers take part by sharing the folder.
 *
 * The kernel drops a process's record locks on a file when the process closes any descriptor of it: descriptors stay
 * open to the end of the process, here and in every copy of this code. */
#ifndef ANYNPU_BASE_STATS_H
#define ANYNPU_BASE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATS_SLOTS = 127, STATS_SLICES = 8, STATS_SLICE_MS = 200, STATS_NAME = 24, STATS_FULL = 10000 };

/* Written by its owner alone. busy: a ring of slices of 200 ms; bits 16…: number of the slice on the monotonic clock,
 * bits 0…15: the share of the process's workers that computed for this device, in 1/10000. */
struct stats_slot {
    _Atomic uint32_t pid; /* in the owner's namespace; 0: empty */
    uint32_t spare;
    _Atomic uint64_t start; /* of the process, clock ticks since boot */
    _Atomic uint64_t memory, peak, capacity;
    char name[STATS_NAME];
    _Atomic uint64_t busy[STATS_SLICES];
};

/* This process's slot of the device (as the machine counts), zeroed but for pid, start, name and capacity. When there
 * is no folder or no slot left, a private one that nobody else sees. Slots stay mapped after stats_leave(). */
struct stats_slot *stats_join(int device, uint64_t capacity);
void stats_leave(int device, struct stats_slot *slot);

/* Share in 1/10000 for the slice that is now running; a late writer also fills the slices it missed. */
void stats_busy(struct stats_slot *slot, uint64_t first_slice, uint64_t last_slice, uint32_t share);
uint64_t stats_slice(int64_t ns);

/* A process that uses a device. */
struct stats_process {
    int32_t pid; /* in the reader's namespace where it is visible, else in its own */
    char name[STATS_NAME];
    uint64_t memory, peak, capacity;
    uint32_t busy; /* over the last second, 1/10000 */
};

/* Fills at most room processes of that device and returns their number, which is ordered by pid. */
size_t stats_read(int device, struct stats_process *out, size_t room);

/* Highest device that any process uses, plus one; 0: none. */
int stats_devices(void);

#endif
