/* Reading and shuffling the images. */
#include "digits.h"

#include <stdio.h>
#include <stdlib.h>

/* One line: 64 pixels from 0 to 16 and the label, separated by commas. 1 if it is one. */
static int parse_line(const char* line, digit* out) {
    for (int i = 0; i <= DIGITS_PIXELS; ++i) {
        char* end;
        long value = strtol(line, &end, 10);
        long highest = i < DIGITS_PIXELS ? 16 : DIGITS_CLASSES - 1;
        if (end == line || value < 0 || value > highest) return 0;
        if (i < DIGITS_PIXELS) {
            out->pixels[i] = (double)value / 16.0;
            if (*end++ != ',') return 0;
        } else {
            out->label = (int)value;
        }
        line = end;
    }
    return *line == '\n' || *line == '\r' || *line == '\0';
}

/* Room for one more image. */
static digit* grow(digit* digits, size_t count, size_t* room) {
    if (count < *room) return digits;
    *room = *room == 0 ? 1024 : *room * 2;
    digits = realloc(digits, *room * sizeof *digits);
    if (digits == NULL) {
        perror("digits");
        exit(1);
    }
    return digits;
}

digit* digits_read(const char* path, size_t* out_count) {
    FILE* file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        return NULL;
    }
    char line[1024];
    digit* digits = NULL;
    size_t count = 0;
    size_t room = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        digits = grow(digits, count, &room);
        if (!parse_line(line, &digits[count])) break;
        ++count;
    }
    if (count == 0 || !feof(file)) {
        fprintf(stderr, "%s: line %lu is not an image\n", path, (unsigned long)count + 1);
        free(digits);
        digits = NULL;
    }
    fclose(file);
    *out_count = count;
    return digits;
}

/* splitmix64, by Sebastiano Vigna: public domain. */
unsigned long long digits_random(unsigned long long* state) {
    unsigned long long z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

void digits_shuffle(digit* digits, size_t count, unsigned long long* state) {
    for (size_t i = count; i > 1; --i) {
        size_t other = (size_t)(digits_random(state) % i);
        digit swapped = digits[i - 1];
        digits[i - 1] = digits[other];
        digits[other] = swapped;
    }
}
