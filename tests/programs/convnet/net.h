#ifndef NET_H
#define NET_H

#include "layers.h"

#define CLASSES 10
#define BLOCKS 3

/* a convolution and a residual pair, then pooling; three times */
struct block {
	struct conv_layer enter;
	struct norm_layer enter_norm;
	struct conv_layer depth;
	struct norm_layer depth_norm;
	struct conv_layer point;
};

struct net {
	struct block block[BLOCKS];
	struct dense_layer hidden;
	struct dense_layer out;
};

struct report {
	double norm[BLOCKS];
	double asleep[BLOCKS];
	float peak[BLOCKS];
};

void net_init(struct net *net, unsigned seed);
void net_free(struct net *net);
struct tensor net_forward(const struct net *net, const struct tensor *images,
			  struct report *rep);
long net_parameters(const struct net *net);

/* data.c */
void images_fill(struct tensor *x, int *label, unsigned seed);

#endif
