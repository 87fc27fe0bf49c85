/* The smallest user of the installed library: it must be of the same release as the headers. */
#include <stdio.h>
#include <string.h>

#include <tutti/tutti.h>

int main(void) {
    const char* text = tutti_version_string();
    char number[32];
    sprintf(number, "%d.%d.%d", TUTTI_VERSION_MAJOR, TUTTI_VERSION_MINOR, TUTTI_VERSION_PATCH);
    printf("tutti %s\n", text);
    return strcmp(text, number) != 0 || tutti_version() != TUTTI_VERSION;
}
