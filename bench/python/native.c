/* A run as a program in C or C++ does it: the call of the API, and the clock
   around it. compare.py loads it beside the package. */

#include "divisi-c/runtime.h"

#include <time.h>

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Nanoseconds of one run; less than 0 if it fails. */
int64_t time_run(const divisi_runtime_api *api, divisi_context *context,
                 const divisi_tensor *inputs, size_t num_inputs,
                 divisi_tensor *outputs, size_t num_outputs) {
  int64_t start = now();
  divisi_error *error =
      api->run(context, NULL, inputs, num_inputs, outputs, num_outputs);
  int64_t end = now();
  api->errors.free(error);
  return error ? -1 : end - start;
}
