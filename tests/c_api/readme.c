#include "tests/c_api/readme.h"

#include <stdio.h>

#include <ampc.h>

ampc_code RunReadme(ampc_tensor image, float *first) {
  ampc_session *session;
  ampc_results *results;
  if (ampc_load("rec_fp16.pdmodel", NULL, 0, &session) != AMPC_OK) fprintf(stderr, "%s\n", ampc_error_text());
  ampc_code code = ampc_run(session, &image, 1, &results);

  ampc_tensor tensor;
  if (code == AMPC_OK) code = ampc_result(results, 0, &tensor);
  if (code == AMPC_OK) *first = *(const float *)tensor.data;
  ampc_free_results(results);
  ampc_free_session(session);
  return code;
}
