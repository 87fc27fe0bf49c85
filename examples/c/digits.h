/* Images of handwritten digits, read from a text file; ../data/README.md says where they are
 * from. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stddef.h>

enum { DIGITS_PIXELS = 64, DIGITS_CLASSES = 10 };

typedef struct {
    double pixels[DIGITS_PIXELS]; /* 0 to 1 */
    int label;                    /* 0 to 9 */
} digit;

/* Reads all images of the file into memory to be given to free(). NULL after a message on standard
 * error. */
digit* digits_read(const char* path, size_t* out_count);

/* A generator of random numbers, the same on every machine: the next of 64 bits. */
unsigned long long digits_random(unsigned long long* state);

/* Puts the images in an order that depends on the state alone. */
void digits_shuffle(digit* digits, size_t count, unsigned long long* state);

#endif
