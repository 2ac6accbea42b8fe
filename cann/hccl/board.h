/* SPDX-License-Identifier: BSD-3-Clause */
/* The board: memory that the ranks of a communicator on one computer share. It holds a row of entries for each of the
 * last BOARD_SLOTS collectives, in which every rank says what it was asked to do, where its buffers are, and how far it
 * is; room for small payloads; channels for messages between two ranks; and each rank's bell.
 *
 * Collective number s uses row s % BOARD_SLOTS. A rank's word there is 4 s + BOARD_HERE once its entry is written and
 * 4 s + BOARD_RESULT when the first rank of the computer has put a small result on the board (with several computers);
 * 4 s + BOARD_DONE when it neither reads nor writes others' memory for it any more; words only grow, so that a row may
 * be used again when all words are at 4 (s - BOARD_SLOTS) + BOARD_DONE. Whoever changes a word rings the bells of those
 * who sleep. There are two lanes of all this, numbered apart: collectives that are called (numbered when they are), and
 * those of graphs (numbered when executed). The memory is a memfd: nothing of it outlives the processes. */
#ifndef ANYNPU_HCCL_BOARD_H
#define ANYNPU_HCCL_BOARD_H

#include <string.h>

#include "comm.h"

enum { BOARD_SLOTS = 16, BOARD_SMALL = 16384, BOARD_HERE = 1, BOARD_RESULT = 2, BOARD_DONE = 3 };
enum { BOARD_CALLED, BOARD_GRAPH, BOARD_LANES };
enum { PAIR_SLOTS = 8, PAIR_SMALL = 4096 };

/* What all ranks must agree on. */
struct call {
    uint8_t op, dtype, reduce, zero;
    uint32_t root;
    uint64_t count;
    uint64_t counts; /* hash of counts and displacements */
    uint64_t zero2;
};

_Static_assert(sizeof(struct call) == 32, "board_note");

enum { REF_NONE, REF_INLINE, REF_MEMORY };

/* Where a rank's buffer is. */
struct ref {
    uint32_t kind;
    int32_t fd, device; /* as in struct share */
    uint32_t zero;
    uint64_t offset, capacity;
    char *pointer; /* for ranks of the same process */
    uint64_t zero2;
};

struct entry {
    _Alignas(64) _Atomic uint64_t word;
    struct call call;
    _Alignas(64) struct ref send, recv;
};

/* A piece for one rank: of an all-to-all. */
struct piece {
    uint64_t offset, bytes;
};

/* One message from one rank to another; number m of a channel uses slot m % PAIR_SLOTS. */
struct message {
    _Alignas(64) _Atomic uint64_t word; /* m + 1 once it is written */
    uint64_t count;
    uint32_t dtype, zero;
    struct ref ref;
};

struct channel {
    _Alignas(64) _Atomic uint64_t taken; /* messages that the receiver has copied */
    struct message messages[PAIR_SLOTS];
};

struct board_rank {
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic uint32_t sleepers;
    _Atomic uint32_t left; /* has destroyed its communicator */
    /* what it is doing, for texts */
    _Alignas(64) _Atomic uint64_t call[4]; /* a struct call; two streams may write at once */
    _Atomic uint64_t sequence;
    _Atomic uint32_t busy;
};

struct board {
    struct board *next; /* of this process */
    int fd;             /* while it is open, else -1 */
    uint32_t users;
    uint32_t n;
    size_t bytes;
    struct board_head *head;
    struct board_rank *ranks;
    struct entry *entries;    /* [lane][slot][rank] */
    struct piece *pieces;     /* [lane][slot][from][to] */
    struct channel *channels; /* [lane][from][to] */
    char *data;               /* [lane][slot][rank][BOARD_SMALL] */
    char *messages;           /* [lane][from][to][PAIR_SLOTS][PAIR_SMALL] */
};

struct board_head {
    uint64_t magic;
    uint32_t n;
    _Atomic uint32_t broken; /* 1: being written, 2: result and text are set */
    int32_t result;
    char text[COMM_TEXT];
};

/* A new board for n ranks, with its descriptor; NULL with text. */
struct board *board_new(uint32_t n);
/* Another rank's; within a process ranks have one mapping together. */
struct board *board_open(uint32_t n, int32_t pid, int32_t fd);
/* Everybody has it: closes the descriptor. */
void board_seal(struct board *board);
void board_free(struct board *board);

static inline size_t board_row(uint32_t lane, uint64_t s)
{
    return lane * BOARD_SLOTS + s % BOARD_SLOTS;
}

static inline struct entry *board_entry(const struct board *b, uint32_t lane, uint64_t s, uint32_t rank)
{
    return &b->entries[board_row(lane, s) * b->n + rank];
}

static inline char *board_data(const struct board *b, uint32_t lane, uint64_t s, uint32_t rank)
{
    return b->data + (board_row(lane, s) * b->n + rank) * BOARD_SMALL;
}

static inline struct piece *board_pieces(const struct board *b, uint32_t lane, uint64_t s, uint32_t from)
{
    return &b->pieces[(board_row(lane, s) * b->n + from) * b->n];
}

static inline size_t board_pair(const struct board *b, uint32_t lane, uint32_t from, uint32_t to)
{
    return ((size_t)lane * b->n + from) * b->n + to;
}

static inline struct channel *board_channel(const struct board *b, uint32_t lane, uint32_t from, uint32_t to)
{
    return &b->channels[board_pair(b, lane, from, to)];
}

static inline char *board_message(const struct board *b, uint32_t lane, uint32_t from, uint32_t to, uint64_t m)
{
    return b->messages + (board_pair(b, lane, from, to) * PAIR_SLOTS + m % PAIR_SLOTS) * PAIR_SMALL;
}

static inline void board_note(struct board_rank *r, const struct call *call, uint64_t sequence)
{
    uint64_t words[4];
    memcpy(words, call, sizeof words);
    for (int i = 0; i < 4; i++)
        atomic_store_explicit(&r->call[i], words[i], memory_order_relaxed);
    atomic_store_explicit(&r->sequence, sequence, memory_order_relaxed);
}

static inline struct call board_noted(const struct board_rank *r)
{
    uint64_t words[4];
    struct call call;
    for (int i = 0; i < 4; i++)
        words[i] = atomic_load_explicit(&r->call[i], memory_order_relaxed);
    memcpy(&call, words, sizeof call);
    return call;
}

/* Wakes one rank, or all but `me`, if they sleep; after a word was changed. */
void board_ring(const struct board *board, uint32_t rank);
void board_ring_all(const struct board *board, uint32_t me);

#endif
