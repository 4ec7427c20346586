// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <string_view>

namespace headlight::intervention {

/// resources/tasks/NAME.jsonl, compiled in (src/intervention/CMakeLists.txt).
struct TaskFile {
    std::string_view name, text;
};
extern const TaskFile task_files[];
extern const int number_of_task_files;

}  // namespace headlight::intervention
