// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/base/version.h"

#include <cstdio>

int main() { std::printf("headlight %s\n", headlight::version()); }
