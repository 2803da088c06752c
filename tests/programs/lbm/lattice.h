#ifndef LATTICE_H
#define LATTICE_H

/*
 * D2Q9
 *
 *      6  2  5
 *       \ | /
 *      3--0--1
 *       / | \
 *      7  4  8
 */
#define Q 9

extern const int    ex[Q], ey[Q];
extern const int    opposite[Q];
extern const double weight[Q];

enum { FLUID = 0, SOLID = 1 };

/* distribution q at (x, y), and scalars at (x, y) */
#define F(f, x, y, q) (f)[((long) (y) * sim->nx + (x)) * Q + (q)]
#define AT(s, x, y)   (s)[(long) (y) * sim->nx + (x)]

typedef struct simulation {
    int nx, ny;
    double tau;                 /* relaxation time */
    double speed;               /* at the inlet */
    double *f, *g;              /* now and next */
    double *rho, *ux, *uy;
    unsigned char *flag;
    int obstacle_cells;
    double drag, lift;          /* on the obstacle, last step */
    double mean_drag;           /* over the steps of the last advance() */
} Simulation;

Simulation *simulation_new(int nx, int ny, double reynolds, double speed);
void simulation_free(Simulation *sim);

void place_cylinder(Simulation *sim, double cx, double cy, double r);
void start_flow(Simulation *sim);

/* one time step in three parts */
void moments(Simulation *sim);
void collide(Simulation *sim);
void stream(Simulation *sim);
void advance(Simulation *sim, int steps);

#endif
