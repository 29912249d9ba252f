// SPDX-License-Identifier: BSD-3-Clause
// Reads the file of GASNET_TRAFFIC.
#pragma once

#include <stdio.h>

#include "view_matrix.h"

// Adds the lines of a file, whose name is matrix->files[index]. False, with a sentence in errbuf
// that names file, line and remedy: the file is not a traffic matrix, or is damaged.
bool aq_view_csv_read(FILE *stream, uint32_t index, aq_view_matrix_t *matrix, char *errbuf,
                      size_t errbuf_size);
