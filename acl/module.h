/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of the module acl. Everything here needs the GIL; it is given up during calls of the library. */
#ifndef ANYNPU_ACL_MODULE_H
#define ANYNPU_ACL_MODULE_H

#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* A function of the library as a row. `form` has a letter for each parameter in C's order:
 *   k address, handle or number    s text    S text or None
 *   P address  U uint32  I int32  Z size_t  L int64  F float: comes out
 * `gives`: what the function itself returns: e a status, after what comes out; k a number; t a text; - nothing. */
struct row {
    const char *part; /* "rt", "mdl", "" for acl itself */
    const char *name, *symbol, *form;
    char gives;
};

extern const struct row rows[];

/* A function of the library by its name, NULL with an exception. */
void *library_function(const char *symbol);

/* Functions written by hand, by part: {part, method}, ended by {NULL}. */
struct extra {
    const char *part;
    PyMethodDef method;
};

extern const struct extra records[], memory[];

#endif
