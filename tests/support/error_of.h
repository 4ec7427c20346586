// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "headlight/base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace headlight::test {

/// The facts of the Error that the work ends in.
template <class Work>
ErrorFacts error_facts(Work&& work) {
    try {
        work();
    } catch (const Error& error) {
        return error.facts();
    }
    ADD_FAILURE() << "no error";
    return {};
}

/// The message of the Error that the work ends in; `otherwise` where it ends well.
template <class Work>
std::string error_of(Work&& work, const char* otherwise = "no error") {
    try {
        work();
    } catch (const Error& error) {
        return error.what();
    }
    return otherwise;
}

}  // namespace headlight::test
