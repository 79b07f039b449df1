/* Runs a model on ones and prints what comes out, in C:
 *
 *   run_model MODEL [DIM [CONVERTED]]     DIM stands for every unknown dimension of the inputs, default 1
 *
 * With CONVERTED, a file, the model is converted to fp16 first, written there, and run from there. */
#include <stdio.h>
#include <stdlib.h>

#include <ampc.h>

/* Ones of an f32 input; zeros of every other type. The caller frees dims and data. */
static int make_input(const ampc_value *value, int64_t unknown, ampc_tensor *tensor) {
  size_t count = 1;
  int64_t *dims = malloc(sizeof(int64_t) * ((size_t)value->rank + 1));
  if (dims == NULL) return 0;
  for (int32_t i = 0; i < value->rank; ++i) {
    dims[i] = value->dims[i] < 0 ? unknown : value->dims[i];
    count *= (size_t)dims[i];
  }
  void *data = calloc(count + 1, ampc_dtype_size(value->dtype));
  if (data == NULL) {
    free(dims);
    return 0;
  }
  if (value->dtype == AMPC_F32) {
    for (size_t i = 0; i < count; ++i) ((float *)data)[i] = 1.0f;
  }
  tensor->name = value->name;
  tensor->dtype = value->dtype;
  tensor->rank = value->rank;
  tensor->dims = dims;
  tensor->data = data;
  tensor->bytes = count * ampc_dtype_size(value->dtype);
  return 1;
}

/* Name, type, shape and the first values. */
static void print_result(const ampc_tensor *tensor) {
  printf("%s %s [", tensor->name, ampc_dtype_name(tensor->dtype));
  for (int32_t i = 0; i < tensor->rank; ++i) printf("%s%lld", i == 0 ? "" : ", ", (long long)tensor->dims[i]);
  printf("]");
  if (tensor->dtype == AMPC_F32) {
    const float *values = tensor->data;
    for (size_t i = 0; i < 4 && i < tensor->bytes / sizeof(float); ++i) printf(" %.6g", values[i]);
  }
  printf("\n");
}

static int run(const ampc_session *session, int64_t unknown) {
  const size_t num_inputs = ampc_num_inputs(session);
  ampc_tensor *inputs = calloc(num_inputs + 1, sizeof(ampc_tensor));
  ampc_results *results = NULL;
  int ok = inputs != NULL;
  for (size_t i = 0; ok && i < num_inputs; ++i) {
    ampc_value value;
    ok = ampc_input(session, i, &value) == AMPC_OK && value.rank >= 0 && make_input(&value, unknown, &inputs[i]);
  }
  ok = ok && ampc_run(session, inputs, num_inputs, &results) == AMPC_OK;
  for (size_t i = 0; ok && i < ampc_num_results(results); ++i) {
    ampc_tensor tensor;
    ok = ampc_result(results, i, &tensor) == AMPC_OK;
    if (ok) print_result(&tensor);
  }
  ampc_free_results(results);
  for (size_t i = 0; inputs != NULL && i < num_inputs; ++i) {
    free((void *)inputs[i].dims);
    free((void *)inputs[i].data);
  }
  free(inputs);
  return ok;
}

int main(int argc, char **argv) {
  const ampc_option to_fp16[] = {{"dtype", "fp16"}, {"on-overflow", "error"}};
  const ampc_option how[] = {{"device", "cpu"}, {"threads", "2"}};
  ampc_session *session = NULL;
  if (argc < 2) {
    fprintf(stderr, "usage: run_model MODEL [DIM [CONVERTED]]\n");
    return AMPC_USAGE;
  }
  ampc_code code = argc > 3 ? ampc_convert(argv[1], argv[3], to_fp16, 2) : AMPC_OK;
  if (code == AMPC_OK) code = ampc_load(argc > 3 ? argv[3] : argv[1], how, 2, &session);
  if (code == AMPC_OK && !run(session, argc > 2 ? atoll(argv[2]) : 1)) code = AMPC_USAGE;
  if (code != AMPC_OK) fprintf(stderr, "run_model: %s\n", ampc_error_text());
  ampc_free_session(session);
  return code;
}
