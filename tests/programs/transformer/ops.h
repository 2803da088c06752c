#ifndef OPS_H
#define OPS_H

/* y = W x; W has rows x cols entries, row after row */
void matvec(float *y, const float *w, const float *x, int rows, int cols);
void rmsnorm(float *y, const float *x, const float *gain, int n);
void softmax(float *x, int n);
void add_to(float *x, const float *y, int n);
float silu(float v);
int   argmax(const float *x, int n);

#endif
