#ifndef COMPLEX_H_
#define COMPLEX_H_

#include <math.h>

struct complex {
    double re, im;
};

static inline struct complex cnum(double re, double im)
{
    struct complex z = { re, im };
    return z;
}

static inline struct complex cadd(struct complex a, struct complex b)
{
    return cnum(a.re + b.re, a.im + b.im);
}

static inline struct complex csub(struct complex a, struct complex b)
{
    return cnum(a.re - b.re, a.im - b.im);
}

static inline struct complex cmul(struct complex a, struct complex b)
{
    return cnum(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

static inline struct complex cconj(struct complex a)
{
    return cnum(a.re, -a.im);
}

static inline struct complex cscale(double s, struct complex a)
{
    return cnum(s * a.re, s * a.im);
}

static inline double cabs2(struct complex a)
{
    return a.re * a.re + a.im * a.im;
}

#endif
