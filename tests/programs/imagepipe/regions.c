#include <stdlib.h>
#include "regions.h"

static int find_root(int *parent, int a)
{
    while (parent[a] != a) {
        parent[a] = parent[parent[a]];
        a = parent[a];
    }
    return a;
}

static void join(int *parent, int a, int b)
{
    a = find_root(parent, a);
    b = find_root(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

int find_regions(const Image *im, Region *list, int max)
{
    int n = im->w * im->h, count = 0;
    int *parent = malloc(n * sizeof *parent);
    int *number = malloc(n * sizeof *number);

    if (!parent || !number) {
        free(parent);
        free(number);
        return -1;
    }
    for (int i = 0; i < n; i++)
        parent[i] = i;
    FOR_PIXELS(im, y, x) {
        if (!PIX(im, x, y))
            continue;
        if (x > 0 && PIX(im, x - 1, y))
            join(parent, y * im->w + x, y * im->w + x - 1);
        if (y > 0 && PIX(im, x, y - 1))
            join(parent, y * im->w + x, (y - 1) * im->w + x);
    }
    FOR_PIXELS(im, y, x) {
        int i = y * im->w + x, root;

        if (!im->data[i])
            continue;
        root = find_root(parent, i);
        if (root == i) {
            number[i] = count < max ? count++ : max - 1;
            list[number[i]] = (Region){ 0, x, x, y, y, 0.0, 0.0 };
        }
        Region *r = &list[number[root]];
        r->area++;
        r->cx += x;
        r->cy += y;
        if (x < r->left) r->left = x;
        if (x > r->right) r->right = x;
        if (y < r->top) r->top = y;
        if (y > r->bottom) r->bottom = y;
    }
    for (int k = 0; k < count; k++) {
        list[k].cx /= list[k].area;
        list[k].cy /= list[k].area;
    }
    free(parent);
    free(number);
    return count;
}
