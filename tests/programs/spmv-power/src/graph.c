/*
 * A random directed graph with a few very popular vertices: every edge
 * descends through a square of four unequal quarters until one entry of
 * the adjacency matrix is left.
 */
#include "graph.h"

static uint64_t splitmix(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

edge_t *graph_generate(vertex_t n, size_t m, uint64_t seed)
{
	edge_t *e = xmalloc(m * sizeof(*e));
	long k;

#pragma omp parallel for
	for (k = 0; k < (long)m; k++) {
		uint64_t s = seed + 0x632be59bd9b4e019ull * (uint64_t)k;
		vertex_t lo_r = 0, hi_r = n, lo_c = 0, hi_c = n;
		uint64_t bits = splitmix(&s);
		int left = 8;

		while (hi_r - lo_r > 1 || hi_c - lo_c > 1) {
			unsigned dice;

			if (left == 0) {
				bits = splitmix(&s);
				left = 8;
			}
			dice = bits & 0xff;
			bits >>= 8;
			left--;
			/* 0.53, 0.20, 0.20, 0.07 of 256 */
			int down = dice >= 187;
			int right = (dice >= 136 && dice < 187) || dice >= 238;
			vertex_t mid_r = lo_r + (hi_r - lo_r + 1) / 2;
			vertex_t mid_c = lo_c + (hi_c - lo_c + 1) / 2;

			if (down && mid_r < hi_r)
				lo_r = mid_r;
			else
				hi_r = mid_r;
			if (right && mid_c < hi_c)
				lo_c = mid_c;
			else
				hi_c = mid_c;
		}
		e[k].from = lo_r;
		e[k].to = lo_c;
	}
	return e;
}
