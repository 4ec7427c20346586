// SPDX-License-Identifier: GPL-3.0-or-later
#include "figure/plot/tickers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headlight::figure::plot {
namespace tickers_test {

std::vector<std::string> labels(double low, double high) {
    LogTicker ticker;
    QVector<double> ticks;
    QVector<QString> texts;
    ticker.generate({low, high}, QLocale::c(), u'g', 6, ticks, nullptr, &texts);
    std::vector<std::string> out;
    for (const QString& text : texts) out.push_back(text.toStdString());
    return out;
}

TEST(LogTicker, OneStyleOfNumbersOnAnAxis) {
    EXPECT_THAT(labels(100, 200'000), testing::IsSupersetOf({"100", "1,000", "10,000", "100,000"}));
    EXPECT_THAT(labels(0.02, 3), testing::IsSupersetOf({"0.1", "1"}));
    for (const auto& [low, high] : {std::pair(1.0, 1e6), std::pair(1e-3, 1e3)})
        for (const std::string& label : labels(low, high)) EXPECT_EQ(label.find("⁰"), std::string::npos) << label;
    for (const auto& [low, high] : {std::pair(1e-6, 1.0), std::pair(10.0, 1e9)})
        for (const std::string& label : labels(low, high)) EXPECT_EQ(label.substr(0, 2), "10") << label << " between powers";
    EXPECT_THAT(labels(10, 1e9), testing::Contains("10⁴"));
}

}  // namespace tickers_test
}  // namespace headlight::figure::plot
