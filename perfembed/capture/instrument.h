/* Included before the user's file: what the inserted calls need, and nothing that could change the file. */
#ifndef PERFEMBED_INSTRUMENT_H
#define PERFEMBED_INSTRUMENT_H
void perfembed_begin(int nest, const long long *values);
void perfembed_end(int nest);
void perfembed_leave(const int *nest);
int perfembed_due(int nest, const long long *values);
void perfembed_before(int nest, const long long *values, const void *const *addresses);
void perfembed_after(int nest);
#endif
