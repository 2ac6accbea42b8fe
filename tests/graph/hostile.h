/* SPDX-License-Identifier: BSD-3-Clause */
/* Hostile model files: one function that takes any bytes as an ONNX file and as an offline model, used by the test
 * (bytes that are nearly right) and by libFuzzer (any). */
#ifndef ANYNPU_TESTS_GRAPH_HOSTILE_H
#define ANYNPU_TESTS_GRAPH_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

/* Reads the bytes both ways and infers the types of what was read; must return. True: it was a model. */
int hostile_try(const uint8_t *bytes, size_t size);

#endif
