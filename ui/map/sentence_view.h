// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "ui/style/own_tip.h"

#include <QImage>
#include <QStringList>
#include <QWidget>

#include <vector>

namespace headlight::ui {

/// The tokens of a text, tinted by attention; those with a line are underlined and show their weight.
class SentenceView : public QWidget {
    Q_OBJECT
public:
    explicit SentenceView(QWidget* parent = nullptr);

    struct Content {
        QStringList tokens;
        std::vector<float> weights;     ///< [token]; empty: not known yet
        std::vector<int> lines;         ///< tokens that have a line in the map
        int chosen = -1;                ///< the selected token; -1: in another text
        bool keys = true;               ///< the listed tokens are keys (else queries)
        std::vector<QImage> patches{};  ///< [token] of a picture, null for class tokens; empty: the tokens are words
        int columns = 0;                ///< patches side by side
    };
    void set_content(Content);
    const Content& content() const { return content_; }
    /// The tokens with a line whose weight stands below them.
    std::vector<int> numbered() const;
    /// The position of a token.
    QRectF place(int token) const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;

Q_SIGNALS:
    void token_clicked(int token);

protected:
    void paintEvent(QPaintEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    bool event(QEvent*) override;

private:
    std::vector<QRectF> flow(double width) const;
    std::vector<int> numbered(const std::vector<QRectF>& places) const;
    void paint_patch(QPainter&, int token, const QRectF&, double share) const;
    int token_at(QPointF) const;

    Content content_;
    OwnTip tip_;
};

}  // namespace headlight::ui
