/* SPDX-License-Identifier: BSD-3-Clause */
/* Activation functions and their gradients: rows of the elementwise kind (elementwise.h). */
#ifndef ANYNPU_OPS_ACTIVATION_H
#define ANYNPU_OPS_ACTIVATION_H

#include "ops/elementwise.h"

#endif
