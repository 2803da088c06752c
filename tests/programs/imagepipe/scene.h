#ifndef SCENE_H
#define SCENE_H

#include "image.h"

/* Draws a frame: a lit background, discs that move, noise. */
void scene_draw(Image *im, int frame, int discs);

#endif
