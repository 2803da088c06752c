/* md.h - Lennard-Jones fluid, reduced units */
#ifndef MD_H
#define MD_H

typedef double real;

#define DIM 3
#define RDF_BINS 120

/* the system; everything else is derived from it */
extern int natoms;
extern real box;              /* edge of the cube */
extern real *pos;             /* pos[3*i + d] */
extern real *vel;
extern real *frc;

/* interaction */
extern real rcut;
extern real ecut;             /* energy at the cutoff, subtracted */

/* linked cells: head[c] is the first atom of cell c, next[i] the one that
   follows atom i in its cell; -1 ends a list */
extern int ncell;             /* along one edge */
extern int *head;
extern int *next;

/* results of forces() */
extern real epot;
extern real virial;
extern long pairs;

/* setup.c */
void setup(int fcc_cells, real density, real temperature, unsigned seed);
void cleanup(void);

/* cells.c */
void cells_init(void);
void cells_fill(void);
void cells_sort_atoms(void);

/* force.c */
void forces(void);
real potential_of(int i);

/* integrate.c */
void step_first(real dt);
void step_second(real dt);
void rescale(real temperature);

/* measure.c */
real kinetic(void);
real momentum(void);
void rdf_sample(long *hist, real rmax);
void rdf_print(const long *hist, int samples, real rmax);
void bonds(real r, int *fewest, int *most, double *mean);

#endif
