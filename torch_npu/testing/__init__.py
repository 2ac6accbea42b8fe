# SPDX-License-Identifier: BSD-3-Clause
"""What tests of operators on NPUs use: `testcase` a TestCase that compares tensors, `common_utils` inputs and conditions,
`decorator` a test for each dtype and format. Not imported with the package."""
