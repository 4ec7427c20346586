// SPDX-License-Identifier: GPL-3.0-or-later
#include "headlight/map/tables.h"

#include <cmath>
#include <set>
#include <span>
#include <utility>

namespace headlight::map {
namespace {

using analyze::NamedArray;
using Cell = analyze::Table::Cell;
using Sizes = std::vector<std::int64_t>;

/// Empty for values that were not measured.
Cell number(const std::vector<float>& of, std::size_t i) {
    return i < of.size() && std::isfinite(of[i]) ? Cell(static_cast<double>(of[i])) : Cell();
}

template <class T>
NamedArray integers(std::string name, const std::vector<T>& values) {
    return analyze::integer_array(std::move(name), {values.begin(), values.end()});
}

void add_tokens(std::vector<NamedArray>& arrays, const MapTokens& tokens, const std::string& prefix) {
    arrays.push_back(integers(prefix + "text", tokens.text));
    arrays.push_back(integers(prefix + "position", tokens.position));
    arrays.push_back(integers(prefix + "token_ids", tokens.token_ids));
    arrays.push_back(analyze::text_array(prefix + "tokens", tokens.tokens));
    arrays.push_back(integers(prefix + "apart", tokens.apart));
    if (!tokens.tags.empty()) arrays.push_back(analyze::text_array(prefix + "part_of_speech", tokens.tags));
}

}  // namespace

analyze::Table points_table(const QueryKeyMap& map, std::optional<HeadId> only) {
    analyze::Table table;
    table.columns = {"layer", "head", "role", "text", "position", "token", "x", "y"};
    const bool space = !map.heads.empty() && map.heads.front().dims == 3;
    if (space) table.columns.emplace_back("z");
    table.columns.insert(table.columns.end(), {"norm", "trust"});
    const bool tagged = !map.tokens.tags.empty();
    if (tagged) table.columns.emplace_back("part_of_speech");
    table.definitions = {
        {"role", "query or key of the token"},
        {"text", "number of the text, from 0"},
        {"norm", "length of the vector that attention multiplies"},
        {"trust", "share of the 15 neighbours that are neighbours in the picture; empty for first and special tokens"}};
    const auto queries = query_count(map), points = point_count(map);
    for (const HeadMap& head : map.heads) {
        if (only && *only != HeadId{head.layer, head.head}) continue;
        for (std::size_t i = 0; i < points; ++i) {
            const bool query = i < queries;
            const MapTokens& of = query ? map.tokens : key_tokens(map);
            const std::size_t token = query ? i : i - queries;
            std::vector<Cell> row = {head.layer.value,
                                     head.head.value,
                                     std::string(query ? "query" : "key"),
                                     std::int64_t{of.text[token]},
                                     std::int64_t{of.position[token]},
                                     of.tokens[token]};
            for (int d = 0; d < head.dims; ++d)
                row.push_back(number(head.points, i * static_cast<std::size_t>(head.dims) + static_cast<std::size_t>(d)));
            row.push_back(number(head.norms, i));
            row.push_back(number(head.trust, i));
            if (tagged) row.push_back(token < of.tags.size() ? Cell(of.tags[token]) : Cell());
            table.rows.push_back(std::move(row));
        }
    }
    return table;
}

analyze::Table map_arrays(const QueryKeyMap& map) {
    std::set<std::int64_t> layers, heads;
    for (const HeadMap& head : map.heads) {
        layers.insert(head.layer.value);
        heads.insert(head.head.value);
    }
    const std::int64_t l = std::ssize(layers), h = std::ssize(heads);
    const auto queries = static_cast<std::int64_t>(query_count(map)), points = static_cast<std::int64_t>(point_count(map));
    const std::int64_t dims = map.heads.empty() ? 2 : map.heads.front().dims;
    NamedArray q{"queries", {l, h, queries, dims}}, k{"keys", {l, h, points - queries, dims}}, norms{"norms", {l, h, points}},
        trust{"trust", {l, h, points}}, explained{"explained", {l, h, dims}};
    NamedArray poor{"poor", {l, h}};
    std::size_t measured = 0;
    for (const HeadMap& head : map.heads) {
        q.values.insert(q.values.end(), head.points.begin(), head.points.begin() + queries * dims);
        k.values.insert(k.values.end(), head.points.begin() + queries * dims, head.points.end());
        norms.values.insert(norms.values.end(), head.norms.begin(), head.norms.end());
        trust.values.insert(trust.values.end(), head.trust.begin(), head.trust.end());
        measured += static_cast<std::size_t>(points);
        norms.values.resize(measured, NAN);
        trust.values.resize(measured, NAN);
        explained.values.insert(explained.values.end(), head.explained.begin(), head.explained.end());
        poor.texts.push_back(head.poor);
    }
    analyze::Table out;
    out.definitions = {
        {"scale_c", "c: queries are multiplied by it and keys divided, which leaves their products as they are"},
        {"trustworthiness", "Venna & Kaski 2001 with 15 neighbours: 1 where neighbours in the picture are neighbours"},
        {"continuity", "Venna & Kaski 2001 with 15 neighbours: 1 where neighbours are neighbours in the picture"},
        {"faithfulness",
         "mean over the queries with at least 3 keys, each of weight one, of Spearman's correlation of q.k with the negative "
         "distance in the picture; keys: of the same text, without first and special tokens"},
        {"attention_near", "share of softmax(scale q.k) on the 10 nearest of these keys, mean over queries with more than 10"},
        {"divergence", "t-SNE: Kullback-Leibler divergence in nats, without exaggeration"},
        {"poor", "why the picture should not be trusted; empty: it can be"}};
    out.arrays = {std::move(q), std::move(k), std::move(norms), std::move(trust)};
    for (const auto& [name, member] : head_numbers) {
        NamedArray array{name, {l, h}};
        for (const HeadMap& head : map.heads) array.values.push_back(head.*member);
        out.arrays.push_back(std::move(array));
    }
    if (std::ssize(explained.values) == l * h * dims) out.arrays.push_back(std::move(explained));
    out.arrays.push_back(std::move(poor));
    out.arrays.push_back(analyze::integer_array("layers", {layers.begin(), layers.end()}));
    out.arrays.push_back(analyze::integer_array("heads", {heads.begin(), heads.end()}));
    add_tokens(out.arrays, map.tokens, "");
    if (!map.source.tokens.empty()) add_tokens(out.arrays, map.source, "key_");
    out.arrays.push_back(analyze::text_array("texts", map.tokens.names));
    return out;
}

std::vector<io::ArrayStream> vector_streams(const std::shared_ptr<const MapVectors>& vectors) {
    std::set<Layer> layers;
    for (const HeadVectors& head : vectors->heads) layers.insert(head.layer);
    if (layers.empty()) return {};
    const std::int64_t l = std::ssize(layers), h = std::ssize(vectors->heads) / l;
    const auto stream = [&](const char* name, auto member, const Rows& first) {
        return io::ArrayStream{
            name, io::DType::F32, {l, h, first.count, first.width}, [vectors, member](const io::PutBytes& put) {
                for (const HeadVectors& head : vectors->heads) put(std::as_bytes(std::span(*(head.*member))));
            }};
    };
    const HeadVectors& first = vectors->heads.front();
    return {stream("queries_original", &HeadVectors::queries, first.query_rows()),
            stream("keys_original", &HeadVectors::keys, first.key_rows())};
}

}  // namespace headlight::map
