# SPDX-License-Identifier: BSD-3-Clause
# The C half with whichever clang is installed.
find_program(CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
set(CMAKE_C_COMPILER ${CLANG})
