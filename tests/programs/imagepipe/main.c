/* imagepipe width height frames [output.pgm]
 *
 * Frames of discs that move over a noisy background: despeckle, blur, edges,
 * equalization, threshold, clean up, count.  Writes the last frame's edges,
 * shrunk, as a PGM file.
 */
#include <stdio.h>
#include <stdlib.h>

#include "filters.h"
#include "histogram.h"
#include "image.h"
#include "regions.h"
#include "scene.h"

enum { RAW, CLEAN, SMOOTH, EDGES, EQUAL, MASK, TMP, BEFORE, MOTION, STAGES };

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s width height frames [output.pgm]\n", argv[0]);
        return 2;
    }
    int w = atoi(argv[1]), h = atoi(argv[2]), frames = atoi(argv[3]);
    const char *output = argc > 4 ? argv[4] : "edges.pgm";
    static Region regions[MAX_REGIONS];
    Image *im[STAGES], *small;

    if (w < 16 || h < 16 || w > 20000 || h > 20000 || frames < 1) {
        fprintf(stderr, "%s: sizes must be 16..20000\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < STAGES; i++)
        if (!(im[i] = image_new(w, h))) {
            fprintf(stderr, "%s: no memory\n", argv[0]);
            return 1;
        }

    for (int f = 0; f < frames; f++) {
        scene_draw(im[RAW], f, w * h / 40000 + 3);
        median3(im[RAW], im[CLEAN]);
        blur(im[CLEAN], im[SMOOTH], 1.6);
        sobel(im[SMOOTH], im[EDGES]);
        equalize(im[SMOOTH], im[EQUAL]);

        int level = otsu(im[SMOOTH]);
        long white = threshold(im[SMOOTH], im[MASK], level);

        /* opening, then closing */
        erode(im[MASK], im[TMP]);
        dilate(im[TMP], im[MASK]);
        dilate(im[MASK], im[TMP]);
        erode(im[TMP], im[MASK]);

        int n = find_regions(im[MASK], regions, MAX_REGIONS);
        if (n < 0) {
            fprintf(stderr, "%s: no memory\n", argv[0]);
            return 1;
        }
        int largest = 0;
        for (int i = 1; i < n; i++)
            if (regions[i].area > regions[largest].area)
                largest = i;

        printf("frame %d: mean %.4f edges %.4f level %d white %ld regions %d\n", f,
               mean_level(im[SMOOTH]), mean_level(im[EDGES]), level, white, n);
        if (n > 0)
            printf("  largest %d pixels at %.3f %.3f, %d x %d\n",
                   regions[largest].area, regions[largest].cx, regions[largest].cy,
                   regions[largest].right - regions[largest].left + 1,
                   regions[largest].bottom - regions[largest].top + 1);
        if (f > 0) {
            difference(im[SMOOTH], im[BEFORE], im[MOTION]);
            printf("  motion %.4f, %ld pixels moved\n", mean_level(im[MOTION]),
                   threshold(im[MOTION], im[TMP], 24));
        }
        Image *t = im[BEFORE];
        im[BEFORE] = im[SMOOTH];
        im[SMOOTH] = t;
    }

    printf("hash: edges %u equalized %u mask %u\n", image_hash(im[EDGES]),
           image_hash(im[EQUAL]), image_hash(im[MASK]));

    small = image_new(w < 256 ? w : 256, h < 256 ? h : 256);
    if (!small)
        return 1;
    image_shrink(im[EDGES], small);
    if (image_write_pgm(small, output) != 0)
        return 1;

    image_free(small);
    for (int i = 0; i < STAGES; i++)
        image_free(im[i]);
    return 0;
}
