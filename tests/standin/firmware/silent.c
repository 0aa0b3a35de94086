// Prints nothing and succeeds.
#include "board.h"
int main(void) { return 0; }
