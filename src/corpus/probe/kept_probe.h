// SPDX-License-Identifier: GPL-3.0-or-later
// Results of probes as files of a store: probes/TASK.json of linear ones, probes/KIND/TASK.json of the others.
#pragma once

#include "headlight/corpus/probe/probe_kind.h"
#include "headlight/corpus/statistics/bootstrap.h"
#include "headlight/corpus/store/manifest.h"
#include "headlight/io/json_file.h"

#include <Eigen/Core>

#include <functional>
#include <type_traits>

namespace headlight::corpus {

void keep_probe(const std::filesystem::path& store, const Manifest&, ProbeKind, const std::string& task, nlohmann::json content);
/// Error: there is none of the task, naming those that are there; one of other texts; `read` finds a damaged file.
void read_kept_probe(const std::filesystem::path& store, const Manifest&, ProbeKind, const std::string& task,
                     const std::function<void(const nlohmann::json&)>& read);

/// Numbers that may be NaN are null in JSON.
inline double number_in(const nlohmann::json& value) { return value.is_null() ? kNaN : value.get<double>(); }
inline nlohmann::json interval_json(const Interval& of) { return {of.mean, of.low, of.high}; }
inline Interval interval_in(const nlohmann::json& of) { return {number_in(of.at(0)), number_in(of.at(1)), number_in(of.at(2))}; }
nlohmann::json json_rows(const auto& matrix) {
    nlohmann::json rows = nlohmann::json::array();
    for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
        nlohmann::json& row = rows.emplace_back(nlohmann::json::array());
        for (Eigen::Index c = 0; c < matrix.cols(); ++c) row.push_back(matrix(r, c));
    }
    return rows;
}
template <class Matrix>
Matrix matrix_in(const nlohmann::json& rows, Eigen::Index height) {
    Matrix out(height, rows.empty() ? 0 : static_cast<Eigen::Index>(rows.at(0).size()));
    for (Eigen::Index r = 0; r < out.rows(); ++r)
        for (Eigen::Index c = 0; c < out.cols(); ++c) {
            const nlohmann::json& value = rows.at(static_cast<std::size_t>(r)).at(static_cast<std::size_t>(c));
            if constexpr (std::is_floating_point_v<typename Matrix::Scalar>)
                out(r, c) = static_cast<typename Matrix::Scalar>(number_in(value));
            else
                out(r, c) = value.get<typename Matrix::Scalar>();
        }
    return out;
}
/// Compact, whatever bytes the texts have.
inline std::string dumped(const nlohmann::json& of) { return of.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

}  // namespace headlight::corpus
