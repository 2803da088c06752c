/* gas.h - ideal gas relations and numerical fluxes, all by value */
#ifndef GAS_H
#define GAS_H

#include <math.h>
#include "euler.h"

#define GAMMA 1.4

static inline struct prim to_prim(struct state q)
{
    struct prim w;
    w.rho = q.rho;
    w.u = q.mu / q.rho;
    w.v = q.mv / q.rho;
    w.p = (GAMMA - 1.0) * (q.e - 0.5 * (q.mu * w.u + q.mv * w.v));
    return w;
}

static inline struct state to_cons(struct prim w)
{
    struct state q;
    q.rho = w.rho;
    q.mu = w.rho * w.u;
    q.mv = w.rho * w.v;
    q.e = w.p / (GAMMA - 1.0) + 0.5 * w.rho * (w.u * w.u + w.v * w.v);
    return q;
}

static inline double sound_speed(struct prim w)
{
    return sqrt(GAMMA * w.p / w.rho);
}

static inline struct state state_scale(double s, struct state a)
{
    a.rho *= s;
    a.mu *= s;
    a.mv *= s;
    a.e *= s;
    return a;
}

static inline struct state state_add(struct state a, struct state b)
{
    return (struct state){ a.rho + b.rho, a.mu + b.mu, a.mv + b.mv, a.e + b.e };
}

static inline struct state state_sub(struct state a, struct state b)
{
    return (struct state){ a.rho - b.rho, a.mu - b.mu, a.mv - b.mv, a.e - b.e };
}

/* minmod limiter */
static inline double minmod(double a, double b)
{
    if (a * b <= 0.0)
        return 0.0;
    return fabs(a) < fabs(b) ? a : b;
}

/* limited half slope of the three cells l, c, r */
static inline struct prim half_slope(struct prim l, struct prim c, struct prim r)
{
    struct prim s;
    s.rho = 0.5 * minmod(c.rho - l.rho, r.rho - c.rho);
    s.u = 0.5 * minmod(c.u - l.u, r.u - c.u);
    s.v = 0.5 * minmod(c.v - l.v, r.v - c.v);
    s.p = 0.5 * minmod(c.p - l.p, r.p - c.p);
    return s;
}

static inline struct prim prim_add(struct prim a, struct prim b)
{
    return (struct prim){ a.rho + b.rho, a.u + b.u, a.v + b.v, a.p + b.p };
}

static inline struct prim prim_sub(struct prim a, struct prim b)
{
    return (struct prim){ a.rho - b.rho, a.u - b.u, a.v - b.v, a.p - b.p };
}

/* physical flux along x */
static inline struct state flux_x(struct prim w, struct state q)
{
    struct state f;
    f.rho = q.mu;
    f.mu = q.mu * w.u + w.p;
    f.mv = q.mv * w.u;
    f.e = (q.e + w.p) * w.u;
    return f;
}

/* state between the outer wave and the contact, s the speed of the wave */
static inline struct state star_state(struct prim w, struct state q, double s,
                                      double sm)
{
    double factor = w.rho * (s - w.u) / (s - sm);
    struct state r;
    r.rho = factor;
    r.mu = factor * sm;
    r.mv = factor * w.v;
    r.e = factor * (q.e / w.rho + (sm - w.u) * (sm + w.p / (w.rho * (s - w.u))));
    return r;
}

/* HLLC flux along x between a left and a right state */
static inline struct state hllc(struct prim l, struct prim r)
{
    struct state ql = to_cons(l), qr = to_cons(r);
    double cl = sound_speed(l), cr = sound_speed(r);
    double sl = fmin(l.u - cl, r.u - cr);
    double sr = fmax(l.u + cl, r.u + cr);

    if (sl >= 0.0)
        return flux_x(l, ql);
    if (sr <= 0.0)
        return flux_x(r, qr);

    double ml = l.rho * (sl - l.u), mr = r.rho * (sr - r.u);
    double sm = (r.p - l.p + ml * l.u - mr * r.u) / (ml - mr);

    if (sm >= 0.0) {
        struct state star = star_state(l, ql, sl, sm);
        return state_add(flux_x(l, ql), state_scale(sl, state_sub(star, ql)));
    } else {
        struct state star = star_state(r, qr, sr, sm);
        return state_add(flux_x(r, qr), state_scale(sr, state_sub(star, qr)));
    }
}

/* turn the frame so that a face normal to y looks like one normal to x */
static inline struct prim turn_prim(struct prim w)
{
    double t = w.u;
    w.u = w.v;
    w.v = t;
    return w;
}

static inline struct state turn_state(struct state q)
{
    double t = q.mu;
    q.mu = q.mv;
    q.mv = t;
    return q;
}

#endif
