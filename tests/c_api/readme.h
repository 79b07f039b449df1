/* The lines of C that tools/docs/programs.md prints, and what they leave. */
#pragma once

#include <ampc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs rec_fp16.pdmodel of the working directory on `image`; `first` gets the first value of the first result. */
ampc_code RunReadme(ampc_tensor image, float* first);

#ifdef __cplusplus
}
#endif
