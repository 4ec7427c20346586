// SPDX-License-Identifier: GPL-3.0-or-later
// Every file of a store, of a map's cache and of an unfinished sweep, damaged behind a checksum that holds: as another program,
// or somebody who means harm, would write it.
#include "headlight/corpus/coreference/coreference.h"
#include "headlight/corpus/distances/head_distances.h"
#include "headlight/corpus/heads/head_means.h"
#include "headlight/corpus/heads/head_places.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neuron_table.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/probe/structural_run.h"
#include "headlight/corpus/reading/conllu.h"
#include "headlight/corpus/store/stored_corpus.h"
#include "headlight/corpus/syntax/relations.h"
#include "headlight/corpus/syntax/tag_attention.h"
#include "headlight/corpus/syntax/word_query.h"
#include "headlight/io/hash.h"
#include "headlight/map/run/map_run.h"
#include "intervention/sweep/unfinished.h"
#include "tests/corpus/runs.h"
#include "tests/map/heads.h"
#include "tests/readers/mutated.h"
#include "tests/support/checksums.h"

namespace headlight::test {
namespace store_readers_test {

namespace fs = std::filesystem;
using namespace corpus;

/// All that a store can be asked without its model.
void ask(const StoredCorpus& stored) {
    const Arrays& arrays = stored.merged.arrays;
    const BootstrapOptions few{.draws = 2};
    TextStore texts(stored.folder, stored.manifest);
    Gathered all(stored.manifest.options.measures, arrays, stored.manifest.options.seed);
    Gathered twice = all.fresh();
    twice.merge(all);
    (void)saved_arrays(twice);
    for (const std::string& kind : stored.manifest.options.measures) {
        if (kind == "heads") {
            (void)head_table_of(head_means(arrays, stored.text_of_chunk, few));
            (void)distance_weights(arrays);
            for (const HeadExample criterion : {HeadExample::weight, HeadExample::value, HeadExample::induction})
                for (const Example& each : head_examples(arrays, criterion, {Layer(0), Head(1)}))
                    (void)texts.chunk_with(each.text, {each.query, std::max(each.key, 0)});
        } else if (kind == "distances") {
            const HeadDistances distances(arrays);
            (void)distances.means();
            (void)distances.standard_errors();
        } else if (kind == "words") {
            const WordIndex index = WordIndex::read(arrays);
            (void)relation_table(index, {.bootstrap = few});
            const WordQuery query("VERB attends to its nsubj > 0.1", index);
            (void)query.heads();
        } else if (kind == "tags") {
            (void)head_alignments(TagAttention::read(arrays), few);
        } else if (kind == "mentions") {
            const MentionIndex index = MentionIndex::read(arrays);
            (void)examples_of(index, coreference_table(index, stored.text_of_chunk, few), 3, texts);
        } else if (kind == "agreement") {
            (void)layer_agreement(Agreement(arrays), stored.text_of_chunk, few);
        } else if (kind == "neurons") {
            const Neurons neurons(arrays);
            for (std::int64_t n = 0; n < 3; ++n)
                (void)neuron_table(neurons, Layer(0), Neuron(n), [&](const Trigger& t) { return context_of(texts, t, 5); });
        }
    }
}

class StoreReaders : public testing::Test {
protected:
    /// Of a small model over documents with words and mentions.
    static void SetUpTestSuite() {
        folder_ = new TempFolder;
        const fs::path texts = *folder_ / "texts";
        fs::create_directories(texts);
        fs::copy_file(source_file("tests/fixtures/coreference/documents.conllu"), texts / "documents.conllu");
        fs::copy_file(source_file("tests/fixtures/coreference/pro_stereotyped.txt"), texts / "pro_stereotyped.txt");
        RunSetup setup = run_setup(store(), texts, {}, opened(fixture_model("gpt2")));
        for (const AccumulatorKind& kind : accumulator_kinds()) setup.options.measures.emplace_back(kind.id);
        setup.options.block = 4;
        run_store(setup);
    }
    static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }
    static fs::path store() { return *folder_ / "store"; }

    /// Damages a file of the store, and restores it.
    static void damage(const std::string& name, int runs, const Damage& damage, const std::function<void()>& read) {
        const std::string sound = slurp(store() / name);
        expect_only_errors({sound}, runs, damage, [&](const std::string& bytes) {
            folder_->write("store/" + name, bytes);
            read();
        });
        folder_->write("store/" + name, sound);
    }
    static void open_and_ask() { ask(*read_store(store())); }

    static inline TempFolder* folder_ = nullptr;
};

std::string damaged_checked_json(Mutator& mutate, const std::string& seed) {
    std::string text = seed.substr(0, seed.rfind(",\"sha256\":")) + "}";
    text = damaged_json(mutate, text);
    return text.empty() ? text : io::with_checksum(std::move(text)) + "\n";
}

TEST_F(StoreReaders, Merged) {
    const fs::path aside = *folder_ / "segments";
    fs::rename(store() / "segments", aside);  // or they would stand in for it
    for (const std::string& kind : read_manifest(store()).options.measures) {
        SCOPED_TRACE(kind);
        damage(
            "merged.safetensors", 120,
            [&](Mutator& mutate, const std::string& seed) { return damaged_arrays(mutate, seed, kind + "."); }, open_and_ask);
    }
    damage("merged.safetensors", 100, damaged_bytes, open_and_ask);
    fs::rename(aside, store() / "segments");
}

TEST_F(StoreReaders, Segments) {
    const std::string merged = slurp(store() / "merged.safetensors");
    folder_->write("store/merged.safetensors", "damaged");
    damage(
        "segments/0000.safetensors", 300, [](Mutator& mutate, const std::string& seed) { return damaged_arrays(mutate, seed); },
        open_and_ask);
    folder_->write("store/merged.safetensors", merged);
}

TEST_F(StoreReaders, Manifests) { damage("manifest.json", 1500, damaged_checked_json, open_and_ask); }

TEST_F(StoreReaders, Texts) {
    const std::string name = part_name(0), manifest = slurp(store() / "manifest.json");
    damage(
        name, 1500, [](Mutator& mutate, const std::string& seed) { return damaged_arrays(mutate, seed); },
        [&] {
            Manifest m = read_manifest(store());
            m.parts[0].sha256 = io::sha256_file(store() / name);
            TextStore texts(store(), m);
            (void)texts.text_of_chunk();
            for (std::int64_t chunk = 0; chunk < texts.chunks(); ++chunk) {
                const Chunk at = texts.chunk(chunk);
                const Text& text = texts.text(at.text);
                (void)bytes_of(at, text);
                (void)tree_problem(text.words);
                (void)indexed_words({.number = chunk,
                                     .text = text,
                                     .first_byte = at.first_byte,
                                     .first_query = at.first_query,
                                     .whole = at.whole,
                                     .encoding = at.encoding});
            }
            (void)read_labels(texts, "upos");
        });
}

TEST_F(StoreReaders, Labels) {
    const Manifest manifest = read_manifest(store());
    TextStore texts(store(), manifest);
    const std::string id = texts.text(0).id, other = texts.text(1).id;
    const InputFile file("labels.tsv");
    expect_only_errors({"text\tlabel\tbegin\tend\n" + id + "\tx\t0\t3\n" + other + "\ty\t0\t3\n",
                        "text\tlabel\tbegin\tend\tbegin2\tend2\n" + id + "\tx\t0\t3\t4\t6\n" + other + "\ty\t0\t3\t4\t6\n"},
                       3000, damaged_text, [&](const std::string& bytes) { (void)read_labels(texts, file(bytes).string()); });
}

TEST_F(StoreReaders, KeptProbes) {
    const Manifest manifest = read_manifest(store());
    LayerProbe layer;
    layer.accuracy = {0.5, 0.4, 0.6};
    layer.predicted = {0, 1};
    layer.probe.weights = Eigen::MatrixXd::Ones(2, 3);
    layer.probe.biases = Eigen::VectorXd::Ones(2);
    layer.confusion.setOnes(2, 2);
    ProbeResult probe{.task = "upos",
                      .classes = {"NOUN", "VERB"},
                      .majority = 0.5,
                      .tested = {{.span = {0, 0, 1}, .label = 0, .text = 0, .type = "a"},
                                 {.span = {0, 1, 2}, .label = 1, .text = 1, .type = "b"}},
                      .layers = {layer}};
    probe.heads.layer = 1;
    probe.heads.n_heads = 2;
    probe.heads.difference = Eigen::MatrixXd::Ones(2, 2);
    probe.heads.stream = Eigen::VectorXd::Ones(2);
    write_probe(store(), manifest, probe);
    damage("probes/upos.json", 3000, damaged_checked_json, [&] {
        const ProbeResult read = read_probe(store(), manifest, "upos");
        (void)table_of(read);
        (void)arrays_of(read);
        if (!read.heads.empty()) (void)table_of(read.heads, read, 3);
    });
}

TEST(Readers, MapCache) {
    const TempFolder folder;
    const auto vectors = map::small_head();
    const map::MapOptions options{.projection = map::Projection::pca};
    map::MapRun run(vectors, options, folder.path());
    run.run(1);
    const std::string name = map::cache_key(*vectors, 0, options) + ".safetensors";
    const std::size_t points = run.head(0).points.size();
    expect_only_errors(
        {slurp(folder / name)}, 2000, [](Mutator& mutate, const std::string& seed) { return damaged_arrays(mutate, seed); },
        [&](const std::string& bytes) {
            folder.write(name, bytes);
            const auto read = map::read_cached(folder.path(), *vectors, 0, options);
            ASSERT_EQ(read ? read->points.size() : points, points);
        });
}

TEST(Readers, UnfinishedSweeps) {
    using namespace intervention;
    const SweepFacts facts{{"model", "this"}};
    const std::string header = header_line(facts, 60'000);
    BegunPair begun{
        .base = 0.5, .other = -1, .beside = {1, 2, 3}, .states = {CellState::computed, CellState::certain, CellState::missing}};
    const std::vector<std::string> lines{pair_line(1, begun),
                                         pass_line(1, {{.cell = 0, .sum = 0.25}, {.cell = 2, .sum = 1, .taken = 1, .of = 3}})};
    expect_only_errors(lines, 10'000, damaged_checked_json, [&](const std::string& line) {
        (void)content_of(header + line, facts, 2, 3, {"s.unfinished", "", ""});
    });
    expect_only_errors({header}, 3'000, damaged_checked_json, [&](const std::string& line) {
        (void)content_of(line, facts, 2, 3, {"s.unfinished", "", ""});
    });
}

}  // namespace store_readers_test
}  // namespace headlight::test
