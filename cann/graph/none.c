/* SPDX-License-Identifier: BSD-3-Clause */
/* libgraph.so, libge_runner.so and libacl_tdt_channel.so: programs for a chip name them as needed, mostly without
 * calling them. They are here so that such programs load; what they would offer (the C++ graph interface, data
 * channels) is not offered, and a program that calls it is told so by the loader. */
typedef int nothing;
