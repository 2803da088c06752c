#include <stdlib.h>

#include "graph.h"

/* labels the connected components by breadth first search */
vertex_t count_components(const csr_t *s, vertex_t *label, vertex_t *largest)
{
	const vertex_t none = UINT32_MAX;
	vertex_t *queue = xmalloc(s->n * sizeof(*queue));
	vertex_t found = 0, v;

	*largest = 0;
	for (v = 0; v < s->n; v++)
		label[v] = none;

	for (v = 0; v < s->n; v++) {
		vertex_t head = 0, tail = 0;

		if (label[v] != none)
			continue;
		label[v] = found;
		queue[tail++] = v;
		while (head < tail) {
			vertex_t u = queue[head++];

			for (size_t k = s->row_ptr[u]; k < s->row_ptr[u + 1]; k++) {
				vertex_t w = s->col[k];

				if (label[w] == none) {
					label[w] = found;
					queue[tail++] = w;
				}
			}
		}
		if (tail > *largest)
			*largest = tail;
		found++;
	}
	free(queue);
	return found;
}
