/* The smallest user of the installed library: it must be of the same release as the headers. */
#include <stdio.h>
#include <string.h>

#include <tutti/tutti.h>

int main(void) {
    const char* text = tutti_version_string();
    char number[32];
    unsigned version = (unsigned)tutti_version();
    sprintf(number, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
    printf("tutti %s\n", text);
    return strcmp(text, number) != 0;
}
