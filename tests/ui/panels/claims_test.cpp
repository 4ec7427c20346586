// SPDX-License-Identifier: GPL-3.0-or-later
// What the window says of a head, and which head it opens on, must hold: on random tokens, not on two repeats.
#include "tests/ui/window_fixture.h"
#include "ui/panels/heads/head_story.h"

#include <QDirIterator>

namespace headlight::ui {
namespace claims_test {

/// One head.
analyze::HeadTable one_head(const std::map<std::string, double>& values,
                            std::map<std::string, std::int64_t, std::less<>> queries) {
    analyze::HeadTable table;
    table.n_layers = table.n_heads = 1;
    table.rows = 15;
    table.measures = analyze::head_measures();
    for (const auto& measure : table.measures) {
        const auto found = values.find(measure.id);
        table.values.push_back(Eigen::MatrixXd::Constant(1, 1, found == values.end() ? std::nan("") : found->second));
    }
    table.queries = std::move(queries);
    return table;
}

std::string story(const analyze::HeadTable& table) { return head_story(table, {Layer(0), Head(0)}).toStdString(); }

TEST(HeadStory, CallsAHeadByTheProbeAndSaysOfATextWhatTheTextSays) {
    const auto starts = [](const std::string& text, const char* with) { return text.rfind(with, 0) == 0; };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    const std::map<std::string, double> on_text{{"induction", 0.62}, {"induction_excess", 0.5}};
    const std::string two = story(one_head(on_text, {{"induction", 2}, {"induction_excess", 2}}));
    EXPECT_TRUE(has(two, "n = 2") && has(two, "too little")) << two;
    EXPECT_FALSE(has(two, "behaves like")) << two;
    const std::string six = story(one_head(on_text, {{"induction", 6}, {"induction_excess", 6}}));
    EXPECT_TRUE(starts(six, "On this text it behaves like an induction head") && has(six, "n = 6")) << six;

    auto probed = on_text;
    probed["probe_induction"] = 0.83;
    const std::string real = story(one_head(probed, {{"induction", 2}, {"induction_excess", 2}}));
    EXPECT_TRUE(starts(real, "An induction head: 0.830 on repeated random tokens")) << real;
    EXPECT_TRUE(has(real, "On this text: 0.620, 2 repeats.")) << real;
    probed["probe_induction"] = 0.006;
    const std::string refuted = story(one_head(probed, {{"induction", 6}, {"induction_excess", 6}}));
    EXPECT_TRUE(has(refuted, "hardly on repeated random tokens (0.00600)")) << refuted;

    // A sink behind a token that comes again.
    const std::string sink =
        story(one_head({{"induction", 0.8}, {"induction_excess", -0.1}, {"share_first", 0.9}, {"vw_share_first", 0.1}},
                       {{"induction", 6}, {"induction_excess", 6}}));
    EXPECT_FALSE(has(sink, "induction")) << sink;
    EXPECT_TRUE(has(sink, "0.900 of its weight rests on the first token (n = 15)") && has(sink, "only 0.100")) << sink;
    auto encoder = one_head({{"probe_induction", 0.8}}, {});
    encoder.causal = false;
    EXPECT_FALSE(starts(story(encoder), "An induction head")) << "the answer is in sight";
    auto tiny = one_head({{"share_first", 0.9}}, {});
    tiny.rows = 2;
    EXPECT_TRUE(story(tiny).empty());
}

TEST_F(WindowTest, OpensOnAnInductionHeadThatRandomTokensConfirm) {
    const Document& document = window.document();
    ASSERT_TRUE(document.probe().found());
    const HeadId head = selected().focus;
    EXPECT_GT(document.probe().found()->induction(head.layer.value, head.head.value), analyze::induction_from);
    EXPECT_EQ(*document.head_table()->find("probe_induction"), document.probe().found()->induction);
    EXPECT_TRUE(head_story(*document.head_table(), head).startsWith(QStringLiteral("An induction head: 0.")));
    EXPECT_EQ(document.finder().table(), document.head_table()) << "the finder asks the same measures";
    EXPECT_FALSE(window.history().stack().canUndo()) << "choosing the head was no step of anybody";
    // For the next start of the program.
    QDirIterator kept(qEnvironmentVariable("XDG_CACHE_HOME") + QStringLiteral("/headlight/models"), QDir::Files,
                      QDirIterator::Subdirectories);
    bool found = false;
    while (kept.hasNext()) found |= kept.next().contains(QString::fromStdString(document.model().model->hash()));
    EXPECT_TRUE(found);
}

TEST_F(WindowTest, AChosenHeadStaysWhenTheProbeArrives) {
    QDir(qEnvironmentVariable("XDG_CACHE_HOME") + QStringLiteral("/headlight/models")).removeRecursively();
    window.open(QStringLiteral("novella-7m"));
    ASSERT_TRUE(wait_for([&] { return window.document().up_to_date() && !window.document().opening(); }));
    window.document().selection().focus_head({Layer(0), Head(3)});
    ASSERT_TRUE(settle());
    EXPECT_TRUE(window.document().probe().found());
    EXPECT_EQ(selected().focus, (HeadId{Layer(0), Head(3)}));
}

TEST_F(WindowTest, AMeasureThatTheTextLacksGivesWayToOneItHas) {
    HeadsPanel& panel = window.heads_panel();
    EXPECT_EQ(panel.model().measures().front(), "probe_induction") << "what no text disturbs, until another one is chosen";
    window.document().edit_options([](ViewOptions& o) { o.measure = "induction"; });
    ASSERT_TRUE(settle());
    EXPECT_TRUE(panel.measure_note().isHidden());
    ASSERT_TRUE(retype(QStringLiteral("A fox ran.")));
    EXPECT_EQ(panel.model().measures().front(), "probe_induction");
    EXPECT_TRUE(panel.measure_note().isVisible());
    EXPECT_TRUE(panel.measure_note().text().startsWith(QStringLiteral("No token of this text comes twice")))
        << panel.measure_note().text().toStdString();
    EXPECT_EQ(window.document().options().measure, "induction") << "the choice stays for the next text";
    ASSERT_TRUE(retype(QStringLiteral("A fox and a fox and a fox ran.")));
    EXPECT_EQ(panel.model().measures().front(), "induction");
    EXPECT_TRUE(panel.measure_note().isHidden());
}

}  // namespace claims_test
}  // namespace headlight::ui
