// SPDX-License-Identifier: GPL-3.0-or-later
// Every figure of a corpus, of a small store that is made here.
#include "headlight/figure/corpus/corpus_views.h"

#include "headlight/base/error.h"
#include "headlight/corpus/heads/head_means.h"
#include "headlight/corpus/neurons/agreement.h"
#include "headlight/corpus/neurons/neuron_table.h"
#include "headlight/corpus/neurons/token_neurons.h"
#include "headlight/corpus/probe/arc_run.h"
#include "headlight/corpus/probe/mix_run.h"
#include "headlight/corpus/probe/probe.h"
#include "headlight/corpus/probe/structural_run.h"
#include "headlight/corpus/run/run.h"
#include "headlight/figure/export/export.h"
#include "headlight/io/json_file.h"
#include "headlight/trace/trace.h"
#include "tests/figure/painting.h"
#include "tests/support/temp_folder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

namespace headlight::figure {
namespace corpus_views_test {

namespace fs = std::filesystem;

/// Ends in an Error whose hint has these words.
auto hints_at(const char* words) {
    using namespace testing;
    return Throws<Error>(Property(&Error::facts, testing::Field(&ErrorFacts::hint, HasSubstr(words))));
}

/// Made once: sentences of a treebank through the built-in model.
class CorpusViews : public testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = std::make_unique<test::TempFolder>();
        const fs::path model = fs::path(HEADLIGHT_SOURCE_DIR) / "models/novella-7m";
        corpus::CorpusRun run;
        run.setup.store = folder_->path() / "store";
        run.setup.model = model_ = model::Model::load(model);
        run.setup.tokenizer = tokenizer_ = trace::load_tokenizer(model);
        run.setup.texts = {.from = fs::path(HEADLIGHT_SOURCE_DIR) / "tests/fixtures/treebank/ewt-excerpt.conllu", .limit = 60};
        for (const corpus::AccumulatorKind& kind : corpus::accumulator_kinds())
            if (!kind.of_mentions) run.setup.options.measures.emplace_back(kind.id);
        corpus::run_corpus(run);
        stored_ = corpus::read_store(run.setup.store);
        corpus::TextStore texts(run.setup.store, stored_->manifest);
        corpus::ProbeOptions options;
        options.controls = false;
        const corpus::StatesOptions states{.store = run.setup.store, .model = run.setup.model, .tokenizer = tokenizer_};
        const corpus::Manifest& manifest = stored_->manifest;
        const corpus::LabelledExamples upos = corpus::read_labels(texts, "upos");
        corpus::write_probe(run.setup.store, manifest, corpus::run_probe(manifest, states, upos, options));
        for (const corpus::ProbeKind kind : {corpus::ProbeKind::mix, corpus::ProbeKind::edge})
            corpus::write_layer_mix(
                run.setup.store, manifest,
                corpus::run_layer_mix(manifest, states, upos, {.kind = kind, .fit = {.seeds = 1, .epochs = 1}, .bootstrap = {}}));
        corpus::StructuralRunOptions structural{.ranks = {2, 4}, .fit = {}, .bootstrap = {.draws = 20}};
        structural.fit.epochs = 1;
        corpus::write_structural(run.setup.store, manifest, corpus::run_structural(manifest, states, structural));
        corpus::write_arcs(run.setup.store, manifest,
                           corpus::run_arcs(manifest, states, {.fit = {.iterations = 3}, .bootstrap = {}}));
    }
    static void TearDownTestSuite() {
        stored_.reset();
        model_.reset();
        tokenizer_.reset();
        folder_.reset();
    }
    static inline std::unique_ptr<test::TempFolder> folder_;
    static inline StorePtr stored_;
    static inline std::shared_ptr<const model::Model> model_;
    static inline std::shared_ptr<const text::Tokenizer> tokenizer_;
};

TEST_F(CorpusViews, EveryOneIsDrawnWithATableAndAWordOfWhatItIsOf) {
    std::set<std::string> ids;
    for (const CorpusView& view : corpus_views()) {
        SCOPED_TRACE(view.id);
        EXPECT_TRUE(ids.insert(view.id).second);
        if (view.gathered == "mentions") continue;  // of other files: coreference_figure_test.cpp
        CorpusRequest request;
        request.view = view.id;
        request.head = {Layer(4), Head(5)};
        request.neuron = {Layer(2), Neuron(7)};
        if (view.with_model) request.model = model_, request.tokenizer = tokenizer_;
        if (view.of_token) request.token = " the";
        if (view.of_question) request.question = "heads where word attends to its head > 1 %";
        const auto figure = corpus_figure(stored_, request);
        EXPECT_FALSE(figure->title().isEmpty());
        EXPECT_GT(figure->description().size(), 80);
        EXPECT_FALSE(figure->table().rows.empty());
        for (const Theme* theme : {&Theme::light(), &Theme::dark_theme()}) {
            ExportOptions options;
            options.style.theme = theme;
            options.scale = 1;
            const QImage image = export_image(*figure, {}, corpus_provenance(*stored_, request), options);
            std::set<QRgb> colours;
            for (int y = 0; y < image.height(); y += 2)
                for (int x = 0; x < image.width(); x += 2) colours.insert(image.pixel(x, y));
            EXPECT_GT(colours.size(), 8u);
        }
        EXPECT_NE(corpus_provenance(*stored_, request).command.find(view.id), std::string::npos);
    }
    EXPECT_EQ(corpus::corpus_words(*stored_), "novella-7m over 51 texts");
}

TEST_F(CorpusViews, TheMosaicHasTheMeansThatTheTableHas) {
    CorpusRequest request{.view = "corpus-heads", .measure = "entropy"};
    const Table mosaic = corpus_figure(stored_, request)->table();
    const corpus::HeadMeans means = corpus::head_means(stored_->merged.arrays, stored_->text_of_chunk);
    const auto m = static_cast<std::size_t>(std::ranges::find(means.measures, "entropy") - means.measures.begin());
    ASSERT_LT(m, means.measures.size());
    const auto column = static_cast<std::size_t>(std::ranges::find(mosaic.columns, "entropy") - mosaic.columns.begin());
    ASSERT_LT(column, mosaic.columns.size());
    ASSERT_EQ(std::ssize(mosaic.rows), means.layers * means.heads);
    for (const auto& row : mosaic.rows) {
        const std::int64_t layer = std::get<std::int64_t>(row[0]), head = std::get<std::int64_t>(row[1]);
        EXPECT_DOUBLE_EQ(std::get<double>(row[column]), means.by_text[means.index(m, layer, head)].mean);
    }
}

/// Against the texts around the triggers of every neuron of a layer.
TEST_F(CorpusViews, NeuronsOfATokenAreThoseWhoseTriggersAreIt) {
    const corpus::Neurons neurons(stored_->merged.arrays);
    corpus::TextStore texts(stored_->folder, stored_->manifest);
    const corpus::TokenNeurons found = corpus::neurons_of_token(neurons, texts, " the", 3, 0);
    std::map<std::int64_t, std::pair<std::int64_t, double>> expected;  // triggers and the sum of their coefficients
    for (std::int64_t n = 0; n < neurons.width(Layer(3)); ++n)
        for (const corpus::Trigger& trigger : neurons.largest(Layer(3), Neuron(n)))
            if (corpus::context_of(texts, trigger, 1).token == " the") {
                ++expected[n].first;
                expected[n].second += static_cast<double>(trigger.value);
            }
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(found.neurons.size(), expected.size());
    double low = 1;
    for (const corpus::TokenNeuron& of : found.neurons) {
        const auto& [count, sum] = expected.at(of.id.neuron.value);
        EXPECT_EQ(of.with_token, count);
        EXPECT_NEAR(of.mean, sum / static_cast<double>(count), 1e-6);
        EXPECT_LE(of.share().low, low);
        low = of.share().low;
    }
    const corpus::TokenNeurons first = corpus::neurons_of_token(neurons, texts, " the", 3, 2);
    ASSERT_EQ(first.neurons.size(), 2u);
    EXPECT_EQ(first.found, found.found);
    EXPECT_EQ(first.neurons[0].id, found.neurons[0].id);
    EXPECT_THROW(corpus::neurons_of_token(neurons, texts, " nosuchtoken"), Error);
}

TEST_F(CorpusViews, TheCommandIsWhatAShellReads) {
    CorpusRequest request{.view = "corpus-question", .question = "heads where \"it's\" attends to NOUN > 0.3"};
    request.head = {Layer(-1), Head(-1)};  // the best one
    const std::string folder = stored_->folder.lexically_normal().string();
    EXPECT_EQ(corpus_provenance(*stored_, request).command,
              "headlight corpus plot " + folder +
                  " --view corpus-question --question 'heads where \"it'\\''s\" attends to NOUN > 0.3'");
    corpus::StoredCorpus elsewhere = *stored_;
    elsewhere.folder = "/tmp/two words/";
    request = {.view = "corpus-distance"};
    request.head = {Layer(4), Head(5)};
    EXPECT_EQ(corpus_provenance(elsewhere, request).command,
              "headlight corpus plot '/tmp/two words/' --view corpus-distance --layer 4 --head 5");
}

TEST_F(CorpusViews, AQuestionShowsItsIntervalAndItsBaseline) {
    const auto figure = corpus_figure(stored_, {.view = "corpus-question", .question = "VERB attends to its nsubj > 0 %"});
    const test::TempFolder folder;
    const std::string file = folder / "question.svg";
    export_figure(*figure, {}, {}, {}, file);
    const std::string svg = test::slurp(file);
    EXPECT_THAT(svg, testing::ContainsRegex("[0-9.]+–[0-9.]+</text>"));
    EXPECT_THAT(svg, testing::HasSubstr("(the baseline)"));
}

TEST_F(CorpusViews, AStoppedFigureIsNotMade) {
    const CancelToken cancelled;
    cancelled.cancel();
    corpus::StoredCorpus fresh = *stored_;
    fresh.results = std::make_shared<Results>();
    const auto store = std::make_shared<const corpus::StoredCorpus>(std::move(fresh));
    for (const char* view : {"corpus-heads", "corpus-intervals", "corpus-relations"})
        EXPECT_THROW(corpus_figure(store, {.view = view}, cancelled), Cancelled) << view;
}

// In its row, and with the model in the small head view above, whose weight is that of the list.
TEST_F(CorpusViews, AnExampleSaysWhereItStands) {
    CorpusRequest request{.view = "corpus-examples"};
    request.head = {Layer(4), Head(5)};
    const Table rows = corpus_figure(stored_, request)->table();
    for (const bool with_model : {false, true}) {
        if (with_model) request.model = model_, request.tokenizer = tokenizer_;
        const auto figure = corpus_figure(stored_, request);
        EXPECT_EQ(figure->table().rows, rows.rows);
        const QSizeF size = figure->layout({1000, 0}, {}, {});
        std::set<std::string> names;
        QString first;
        for (double y = 0; y < size.height() && names.size() < 3; y += 4) {
            const Hit hit = figure->hit_test({200, y}, {}, {});
            if (first.isEmpty()) first = hit.tip;
            for (const auto& [name, value] : hit.options) {
                names.insert(name);
                EXPECT_GE(std::stoll(value), 0);
            }
        }
        EXPECT_EQ(names, (std::set<std::string>{"chunk", "key", "query"}));
        if (!with_model) continue;
        EXPECT_TRUE(first.endsWith(QStringLiteral("weight ") + QString::number(std::get<double>(rows.rows[0][1]), 'f', 3)))
            << first.toStdString();
    }
}

TEST_F(CorpusViews, AFileIsNamedAsItsViewIs) {
    const CorpusRequest request{.view = "corpus-heads"};
    const test::TempFolder folder;
    export_figure(*corpus_figure(stored_, request), {}, corpus_provenance(*stored_, request), {}, folder / "a.json");
    EXPECT_EQ(io::read_json(folder / "a.json")["view"], "corpus-heads");
}

TEST_F(CorpusViews, ACardHasItsValueAndAValueItsFigure) {
    CorpusRequest request{.view = "corpus-values"};
    EXPECT_THROW(corpus_figure(stored_, request), Error) << "values are the model's";
    request.model = model_, request.tokenizer = tokenizer_;
    const Table layers = corpus_figure(stored_, request)->table();
    const corpus::ValueAgreement found = corpus::value_agreement(corpus::Neurons(stored_->merged.arrays), *model_);
    ASSERT_EQ(layers.rows.size(), 6u);
    EXPECT_EQ(layers.rows, corpus::table_of(found).rows);
    EXPECT_GT(found.layers[3].triggered, 900);
}

TEST_F(CorpusViews, ACellOfTheConfusionMatrixListsItsWords) {
    CorpusRequest request{.view = "corpus-probe"};
    const corpus::ProbeResult probe = corpus::read_probe(stored_->folder, stored_->manifest, "upos");
    const auto& confusion = probe.best().confusion;
    const auto cell_of = [](const Hit& hit) {
        std::pair<std::string, std::string> cell;
        for (const auto& [name, value] : hit.options)
            (name == "label" ? cell.first : name == "predicted" ? cell.second : cell.first) = value;
        return cell;
    };
    auto figure = corpus_figure(stored_, request);
    QSizeF size = figure->layout({1000, 0}, {}, {});
    // Every cell says what it is of, and how many examples it has.
    std::map<std::pair<std::string, std::string>, QString> cells;
    each_hit(*figure, QRectF({}, size), 4, 4, [&](const Hit& hit) {
        if (!hit.options.empty() && hit.options.front().first == "label") cells[cell_of(hit)] = hit.tip;
    });
    ASSERT_EQ(std::ssize(cells), confusion.size());
    const auto name = [&](Eigen::Index c) { return probe.classes[static_cast<std::size_t>(c)]; };
    for (Eigen::Index label = 0; label < confusion.rows(); ++label)
        for (Eigen::Index predicted = 0; predicted < confusion.cols(); ++predicted)
            if (confusion.row(label).sum() > 0) {
                EXPECT_TRUE(
                    cells.at({name(label), name(predicted)})
                        .contains(QStringLiteral(": %1 of %2 ").arg(confusion(label, predicted)).arg(confusion.row(label).sum())))
                    << cells.at({name(label), name(predicted)}).toStdString();
            }
    // The words of a cell: their examples are all of the cell's, and a click opens the text of the first one.
    Eigen::Index label = 0, predicted = 0;
    confusion.maxCoeff(&label, &predicted);
    request.label = name(label), request.predicted = name(predicted);
    const double before = size.height();
    figure = corpus_figure(stored_, request);
    size = figure->layout({1000, 0}, {}, {});
    EXPECT_GT(size.height(), before);
    EXPECT_NE(corpus_provenance(*stored_, request).command.find("--label " + request.label), std::string::npos);
    std::set<std::string> words;
    for (std::size_t i = 0; i < probe.tested.size(); ++i)
        if (probe.tested[i].label == label && probe.best().predicted[i] == predicted) words.insert(probe.tested[i].type);
    std::set<std::string> shown;
    for (double y = 0; y < size.height(); y += 4)
        for (const auto& [option, value] : figure->hit_test({120, y}, {}, {}).options)
            if (option == "query_last") shown.insert(value);
    EXPECT_GT(shown.size(), 1u);
    EXPECT_FALSE(words.empty());
    request.label = "NUON";
    EXPECT_THAT([&] { corpus_figure(stored_, request); }, hints_at("NOUN")) << "there is no such class";
}

TEST_F(CorpusViews, ProbesOfTheStoreOnly) {
    EXPECT_TRUE(corpus_view("corpus-mix").of_labels());
    EXPECT_FALSE(corpus_view("corpus-arcs").of_labels());
    EXPECT_THROW(corpus_figure(stored_, {.view = "corpus-mix", .labels = "xpos"}), Error);
    // The attention probe's weights are heads that can be selected.
    const auto figure = corpus_figure(stored_, {.view = "corpus-arcs"});
    std::set<HeadId> heads;
    each_hit(*figure, QRectF({}, figure->layout({700, 0}, {}, {})), 5, 5, [&](const Hit& hit) {
        if (hit.head) heads.insert(*hit.head);
    });
    EXPECT_EQ(heads.size(), 48u);
}

TEST_F(CorpusViews, MistakesAreNamed) {
    EXPECT_THROW(corpus_figure(stored_, {.view = "corpus-relation"}), Error);
    EXPECT_THROW(corpus_figure(stored_, {.view = "corpus-intervals", .measure = "nothing"}), Error);
    CorpusRequest head{.view = "corpus-examples"};
    head.head = {Layer(99), Head(0)};
    EXPECT_THROW(corpus_figure(stored_, head), Error);
    EXPECT_THROW(corpus_figure(stored_, {.view = "corpus-question", .question = "heads where VERBS attends to its nsubj > 1 %"}),
                 Error);
    corpus::StoredCorpus bare = *stored_;
    bare.manifest.options.measures = {"heads"};
    EXPECT_THAT([&] { corpus_figure(std::make_shared<const corpus::StoredCorpus>(bare), {.view = "corpus-relations"}); },
                hints_at("--measure words"))
        << "the store has no words";
}

}  // namespace corpus_views_test
}  // namespace headlight::figure
