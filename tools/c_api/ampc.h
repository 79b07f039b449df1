/* The C interface of ampc: load a model, run it, convert it to mixed precision. C11, and C++.
 *
 *   ampc_session *session;
 *   if (ampc_load("model.pdmodel", NULL, 0, &session) != AMPC_OK) fprintf(stderr, "%s\n", ampc_error_text());
 *
 * Errors: functions that can fail return an ampc_code, write their results only on AMPC_OK, and leave one sentence for ampc_error_text().
 * Nothing prints, exits or throws. A NULL where something is needed is AMPC_USAGE; functions that free take NULL.
 * Threads: any number of threads may use one session at the same time, ampc_run included; freeing it has to come after the last use.
 * Results belong to whoever got them and may be read by several threads. The error text is a thread's own.
 *
 * Compatibility: the name of the shared library says what fits (libampc.so.MAJOR.MINOR; until 1.0 every minor version may change the
 * interface). Within it functions, numbers of enums and members of structs keep their meaning; functions, enumerators and options are
 * added. Structs that have got no more members for a new purpose get a new name. Ownership: what a function returns through a ** is the
 * caller's, who frees it with the function named there; all other pointers that are returned point into the handle that they were asked of
 * and live as long as it does. Arguments are not kept after a call. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The same numbers as the exit codes of the command line, but for the last. */
typedef enum ampc_code {
  AMPC_OK = 0,
  AMPC_NO = 1,          /* the answer is no: ampc_verify, ampc_compare; their results are there all the same */
  AMPC_USAGE = 2,       /* a wrong argument: an option, a missing feed, a wrong type or shape */
  AMPC_BAD_INPUT = 3,   /* a file is absent or malformed */
  AMPC_UNSUPPORTED = 4, /* well formed, but an op, a device or a format is not supported */
  AMPC_INTERNAL = 5,    /* a write that failed, no memory, or an error of ampc */
  AMPC_CANCELLED = 6    /* a callback said so */
} ampc_code;

typedef enum ampc_dtype {
  AMPC_BOOL = 1, /* one byte, 0 or 1 */
  AMPC_U8 = 2,
  AMPC_I8 = 3,
  AMPC_I16 = 4,
  AMPC_I32 = 5,
  AMPC_I64 = 6,
  AMPC_F16 = 7,  /* IEEE half */
  AMPC_BF16 = 8, /* the upper half of an f32 */
  AMPC_F32 = 9,
  AMPC_F64 = 10,
  AMPC_C64 = 11,  /* two f32 */
  AMPC_C128 = 12, /* two f64 */
  AMPC_U16 = 13,
  AMPC_U32 = 14,
  AMPC_U64 = 15,
  AMPC_U4 = 16, /* 4 and 2 bits: one byte for each element */
  AMPC_I4 = 17,
  AMPC_U2 = 18,
  AMPC_I2 = 19,
  AMPC_F8E4M3FN = 20,
  AMPC_F8E4M3FNUZ = 21,
  AMPC_F8E5M2 = 22,
  AMPC_F8E5M2FNUZ = 23,
  AMPC_F8E8M0 = 24,
  AMPC_F4E2M1 = 25 /* one byte for each element */
} ampc_dtype;

/* One option as on the command line, without its dashes: {"threads", "2"}, {"exclude", "softmax"}; a flag's value is "true" or "false". An
 * option that takes a list may be given several times. An unknown key is AMPC_USAGE. */
typedef struct ampc_option {
  const char* key;
  const char* value;
} ampc_option;

/* What a model takes or gives. */
typedef struct ampc_value {
  const char* name;
  int32_t dtype; /* an ampc_dtype */
  int32_t rank;
  const int64_t* dims; /* `rank` of them; -1 is known only at a run */
} ampc_value;

/* Dense, row-major. */
typedef struct ampc_tensor {
  const char* name;
  int32_t dtype; /* an ampc_dtype */
  int32_t rank;
  const int64_t* dims;
  const void* data; /* may be NULL where `bytes` is 0; needs no alignment; nobody may write it during a call */
  size_t bytes;     /* of the data: the product of the dims times the size of the dtype */
} ampc_tensor;

typedef struct ampc_session ampc_session;
typedef struct ampc_results ampc_results;

/* "1.2.3" */
const char* ampc_version(void);

/* Why the last call of this thread that failed did so: where, what was found, what was needed. "" before that; lives until the next such
 * call. */
const char* ampc_error_text(void);

size_t ampc_dtype_size(int32_t dtype);      /* bytes of an element, 0 for no ampc_dtype */
const char* ampc_dtype_name(int32_t dtype); /* "f32", "invalid" for no ampc_dtype */

/* Reads the model in the file or folder `path` (.pdmodel, .json, .onnx, .ampc, .prog, a folder with __model__ or inference.json). Options:
 * device ("cpu", "cuda:0"), threads (of one run; "0": all processors), strict-rounding, tf32, params (the file of weights that the model's
 * name does not imply), tune-plans (a JSON file of measured choices between kernels; others are added). ampc_free_session frees it. */
ampc_code ampc_load(const char* path, const ampc_option* options, size_t num_options, ampc_session** session);
void ampc_free_session(ampc_session* session);

/* AMPC_USAGE for an index that is not below the number. */
size_t ampc_num_inputs(const ampc_session* session);
size_t ampc_num_outputs(const ampc_session* session);
ampc_code ampc_input(const ampc_session* session, size_t index, ampc_value* value);
ampc_code ampc_output(const ampc_session* session, size_t index, ampc_value* value);

/* One run: every input of the model once, in any order, with its dtype and dims that fit. No data is copied but of inputs that are not
 * aligned as their elements are. The first run with new dims plans, later ones only run. ampc_free_results frees the results. */
ampc_code ampc_run(const ampc_session* session, const ampc_tensor* inputs, size_t num_inputs, ampc_results** results);
void ampc_free_results(ampc_results* results);

/* The results in the order of the model's outputs, and by name; the data is aligned to 64 bytes. */
size_t ampc_num_results(const ampc_results* results);
ampc_code ampc_result(const ampc_results* results, size_t index, ampc_tensor* tensor);
ampc_code ampc_result_named(const ampc_results* results, const char* name, ampc_tensor* tensor);

/* `ampc convert INPUT -o OUTPUT`, with its options (`ampc convert --help`): dtype, level, include, exclude, low-io, calibrate, report, ...
 * A conversion that fails leaves no output. */
ampc_code ampc_convert(const char* input, const char* output, const ampc_option* options, size_t num_options);

/* Models in memory, and what becomes of models besides running them. */

typedef struct ampc_file {
  const char* name; /* as the other files of its model call it */
  const void* data;
  size_t bytes;
} ampc_file;

/* The model in the file or folder `path`; where there are files, the one of them that has this name, whose extension says the format
 * ("model.onnx"). */
typedef struct ampc_model {
  const char* path;
  const ampc_file* files; /* `num_files` of them, or NULL */
  size_t num_files;
} ampc_model;

/* Each may be NULL. They are called on the calling thread, and must not call back into ampc. */
typedef struct ampc_callbacks {
  void* user;
  /* What is being done: "loading", the name of a pass, "saving"; `total` is 0 where it is not known. Returns 0 to stop: AMPC_CANCELLED, and
   * no output. */
  int (*progress)(void* user, const char* stage, double done, double total);
  /* A sentence that the user should read, as it is found. */
  void (*log)(void* user, const char* sentence);
} ampc_callbacks;

/* What a call made: files, where they were wanted in memory; sentences; texts. */
typedef struct ampc_outcome ampc_outcome;
void ampc_free_outcome(ampc_outcome* outcome);
size_t ampc_num_files(const ampc_outcome* outcome);
ampc_code ampc_outcome_file(const ampc_outcome* outcome, size_t index, ampc_file* file); /* the model's program first */
size_t ampc_num_notes(const ampc_outcome* outcome);
const char* ampc_note(const ampc_outcome* outcome, size_t index); /* NULL for an index that is not below the number */
/* Writes the model that a conversion or a strip made, also where it is in memory: all of its files get their names from `path`, whose
 * extension chooses the format. The model that it was made of still has to be there, and is not written over: AMPC_USAGE. */
ampc_code ampc_outcome_save(const ampc_outcome* outcome, const char* path);
/* What there is to say, as JSON; of a conversion also the whole report, as JSON and as a page. Made at the first call for it. */
ampc_code ampc_outcome_json(ampc_outcome* outcome, const char** text);
ampc_code ampc_outcome_report(ampc_outcome* outcome, const char** text);
ampc_code ampc_outcome_page(ampc_outcome* outcome, const char** text);

/* As ampc_load; files in memory have to stay until the session is freed. */
ampc_code ampc_load_model(const ampc_model* model, const ampc_option* options, size_t num_options, ampc_session** session);

/* As ampc_run, in the order of the model's inputs, all of them; their names are not read. */
ampc_code ampc_run_ordered(const ampc_session* session, const ampc_tensor* inputs, size_t num_inputs, ampc_results** results);
/* As ampc_run_ordered into memory of the caller, apart from that of the inputs: `outputs` are all of the model's, in order, each with the
 * dtype, dims and bytes of its result (AMPC_USAGE else, with the dims in the sentence). They are computed there where one plan can do so.
 */
ampc_code ampc_run_into(const ampc_session* session, const ampc_tensor* inputs, size_t num_inputs, const ampc_tensor* outputs,
                        size_t num_outputs);

/* As ampc_convert; files in memory have to stay until the outcome is freed. `in_memory`: the model's files become those of `outcome`, and
 * `name` only says what they are called; else `name` is a path. The callbacks may be NULL. */
ampc_code ampc_convert_model(const ampc_model* model, const char* name, int in_memory, const ampc_option* options, size_t num_options,
                             const ampc_callbacks* callbacks, ampc_outcome** outcome);
/* `ampc strip`: takes a conversion back; `weights` is the model that has the exact weights, or NULL. */
ampc_code ampc_strip_model(const ampc_model* model, const ampc_model* weights, const char* name, int in_memory,
                           const ampc_callbacks* callbacks, ampc_outcome** outcome);
/* `ampc compare A B --json`, whose options are taken but for those that name files of feeds: rtol, atol, tolerance, outputs-only, device,
 * ... The feeds by name, floats in either's types, those of one run after the other: a name that is there again begins another run; or
 * none, and the options random, seed and dims. AMPC_NO for FAIL: the sentence is the reason, and the outcome is there. */
ampc_code ampc_compare_models(const ampc_model* a, const ampc_model* b, const ampc_tensor* feeds, size_t num_feeds,
                              const ampc_option* options, size_t num_options, const ampc_callbacks* callbacks, ampc_outcome** outcome);
/* `ampc explain --json`, with its options: those of a conversion that decide, op and why-cast. */
ampc_code ampc_explain_model(const ampc_model* model, const ampc_option* options, size_t num_options, const ampc_callbacks* callbacks,
                             ampc_outcome** outcome);
/* `ampc tune --json`, with its options: budget, judge, goal, plan-out, ... The runs on `input` files, or random. AMPC_NO where nothing was
 * found: the outcome is there. */
ampc_code ampc_tune_model(const ampc_model* model, const ampc_option* options, size_t num_options, const ampc_callbacks* callbacks,
                          ampc_outcome** outcome);
/* `ampc inspect --json`: signature, ops, types, weights and casts. */
ampc_code ampc_inspect_model(const ampc_model* model, ampc_outcome** outcome);
/* `ampc verify --json`: AMPC_NO for a model that is not well formed; the sentence says why. */
ampc_code ampc_verify_model(const ampc_model* model, ampc_outcome** outcome);

#ifdef __cplusplus
}
#endif
