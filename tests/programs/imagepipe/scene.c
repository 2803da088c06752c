#include <math.h>
#include "scene.h"

static unsigned hash3(unsigned a, unsigned b, unsigned c)
{
    unsigned h = a * 0x8da6b343u ^ b * 0xd8163841u ^ c * 0xcb1ab31fu;

    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    h ^= h >> 12;
    h *= 0x297a2d39u;
    h ^= h >> 15;
    return h;
}

void scene_draw(Image *im, int frame, int discs)
{
#pragma omp parallel for
    FOR_PIXELS(im, y, x) {
        unsigned r = hash3(x, y, frame);
        int level = 60 + 40 * x / im->w + 30 * y / im->h + (int)(r & 15);

        if ((x / 64 + y / 64) % 2)
            level += 6;
        if ((r >> 8) % 200 == 0)
            level = (r >> 20) & 1 ? 255 : 0;
        PIX(im, x, y) = CLAMP(level, 0, 255);
    }

    for (int d = 0; d < discs; d++) {
        int radius = 6 + (int)(hash3(d, 1, 7) % 24);
        int cx = (int)((hash3(d, 2, 7) % im->w + frame * (3 + d % 5)) % im->w);
        int cy = (int)((hash3(d, 3, 7) % im->h + frame * (1 + d % 3)) % im->h);
        int bright = 150 + (int)(hash3(d, 4, 7) % 90);

        for (int y = cy - radius; y <= cy + radius; y++)
            for (int x = cx - radius; x <= cx + radius; x++) {
                int d2 = SQR(x - cx) + SQR(y - cy);

                if (x < 0 || y < 0 || x >= im->w || y >= im->h || d2 > SQR(radius))
                    continue;
                PIX(im, x, y) = CLAMP(bright - 40 * d2 / SQR(radius), 0, 255);
            }
    }
}
