/* SPDX-License-Identifier: BSD-3-Clause */
/* aclopAttr: named values for an operator called by name. A list of copies, owned by the client, used by one thread at
 * a time. */
#include <stdlib.h>
#include <string.h>

#include "acl/acl_op.h"
#include "runtime/error.h"

struct value {
    struct value *next;
    char *name;
    size_t count; /* elements of a list; 1 for a single value */
    size_t bytes;
    char data[]; /* the elements; of strings and lists of lists their lengths stand in front */
};

struct aclopAttr {
    struct value *first;
};

aclopAttr *aclopCreateAttr(void)
{
    struct aclopAttr *attr = calloc(1, sizeof *attr);
    if (!attr)
        fail(ACL_ERROR_BAD_ALLOC, "no host memory for attributes");
    return attr;
}

static void free_value(struct value *v)
{
    free(v->name);
    free(v);
}

void aclopDestroyAttr(const aclopAttr *attr)
{
    if (!attr)
        return;
    for (struct value *v = attr->first, *next; v; v = next) {
        next = v->next;
        free_value(v);
    }
    free((aclopAttr *)attr);
}

/* A new value of the name, in the place of the old one; its data is for the caller to fill. */
static aclError add(aclopAttr *attr, const char *name, size_t count, size_t bytes, struct value **made)
{
    CHECK_ARG(attr);
    CHECK_ARG(name);
    struct value *v = malloc(sizeof *v + bytes);
    char *copy = strdup(name);
    if (!v || !copy) {
        free(v);
        free(copy);
        return fail(ACL_ERROR_BAD_ALLOC, "no host memory for the attribute %s", name);
    }
    *v = (struct value){attr->first, copy, count, bytes};
    for (struct value **at = &attr->first; *at; at = &(*at)->next)
        if (strcmp((*at)->name, name) == 0) {
            struct value *old = *at;
            *at = old->next;
            free_value(old);
            break;
        }
    v->next = attr->first;
    attr->first = v;
    *made = v;
    return ACL_SUCCESS;
}

static aclError set(aclopAttr *attr, const char *name, int count, const void *values, size_t element)
{
    struct value *v;
    if (count < 0 || (count && !values))
        return fail(ACL_ERROR_INVALID_PARAM, "the attribute %s was given %d values%s", name ? name : "(null)", count,
                    count > 0 ? " by a NULL pointer" : "");
    TRY(add(attr, name, (size_t)count, (size_t)count * element, &v));
    if (count)
        memcpy(v->data, values, v->bytes);
    return ACL_SUCCESS;
}

aclError aclopSetAttrBool(aclopAttr *attr, const char *attrName, uint8_t attrValue)
{
    return set(attr, attrName, 1, &attrValue, sizeof attrValue);
}

aclError aclopSetAttrInt(aclopAttr *attr, const char *attrName, int64_t attrValue)
{
    return set(attr, attrName, 1, &attrValue, sizeof attrValue);
}

aclError aclopSetAttrFloat(aclopAttr *attr, const char *attrName, float attrValue)
{
    return set(attr, attrName, 1, &attrValue, sizeof attrValue);
}

aclError aclopSetAttrString(aclopAttr *attr, const char *attrName, const char *attrValue)
{
    CHECK_ARG(attrValue);
    struct value *v;
    TRY(add(attr, attrName, 1, strlen(attrValue) + 1, &v));
    memcpy(v->data, attrValue, v->bytes);
    return ACL_SUCCESS;
}

aclError aclopSetAttrDataType(aclopAttr *attr, const char *attrName, aclDataType attrValue)
{
    return set(attr, attrName, 1, &attrValue, sizeof attrValue);
}

aclError aclopSetAttrListDataType(aclopAttr *attr, const char *attrName, int numValues, const aclDataType values[])
{
    return set(attr, attrName, numValues, values, sizeof values[0]);
}

aclError aclopSetAttrListBool(aclopAttr *attr, const char *attrName, int numValues, const uint8_t *values)
{
    return set(attr, attrName, numValues, values, sizeof values[0]);
}

aclError aclopSetAttrListInt(aclopAttr *attr, const char *attrName, int numValues, const int64_t *values)
{
    return set(attr, attrName, numValues, values, sizeof values[0]);
}

aclError aclopSetAttrListFloat(aclopAttr *attr, const char *attrName, int numValues, const float *values)
{
    return set(attr, attrName, numValues, values, sizeof values[0]);
}

aclError aclopSetAttrListString(aclopAttr *attr, const char *attrName, int numValues, const char **values)
{
    size_t bytes = 0;
    struct value *v;
    for (int i = 0; i < numValues; i++) {
        CHECK_ARG(values && values[i]);
        bytes += strlen(values[i]) + 1;
    }
    TRY(add(attr, attrName, numValues > 0 ? (size_t)numValues : 0, bytes, &v));
    for (int i = 0, at = 0; i < numValues; i++) {
        size_t length = strlen(values[i]) + 1;
        memcpy(v->data + at, values[i], length);
        at += (int)length;
    }
    return ACL_SUCCESS;
}

aclError aclopSetAttrListListInt(aclopAttr *attr, const char *attrName, int numLists, const int *numValues,
                                 const int64_t *const values[])
{
    size_t count = 0;
    struct value *v;
    for (int i = 0; i < numLists; i++) {
        CHECK_ARG(numValues && values);
        if (numValues[i] < 0 || (numValues[i] && !values[i]))
            return fail(ACL_ERROR_INVALID_PARAM, "list %d of an attribute was given %d values", i, numValues[i]);
        count += 1 + (size_t)numValues[i];
    }
    TRY(add(attr, attrName, numLists > 0 ? (size_t)numLists : 0, count * sizeof(int64_t), &v));
    char *at = v->data;
    for (int i = 0; i < numLists; i++) { /* length, elements */
        int64_t length = numValues[i];
        memcpy(at, &length, sizeof length);
        if (length)
            memcpy(at + sizeof length, values[i], sizeof(int64_t) * (size_t)length);
        at += sizeof length * (size_t)(1 + length);
    }
    return ACL_SUCCESS;
}
