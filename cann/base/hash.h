/* SPDX-License-Identifier: BSD-3-Clause */
/* The number that stands for a text in traces and in MsprofGetHashId: the same text, the same number, on every machine;
 * never 0. Eight bytes a step, so that long stacks cost little. Not for security. */
#ifndef ANYNPU_BASE_HASH_H
#define ANYNPU_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t text_hash(const char *text, size_t bytes)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ bytes, word;
    for (; bytes >= 8; bytes -= 8, text += 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0xd6e8feb86659fd93u;
        h ^= h >> 32;
    }
    word = 0;
    for (size_t i = 0; i < bytes; i++)
        word |= (uint64_t)(uint8_t)text[i] << 8 * i;
    h = (h ^ word) * 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 29;
    return h ? h : 1;
}

#endif
