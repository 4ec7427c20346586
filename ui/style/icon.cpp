// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/style/appearance.h"

#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QSvgRenderer>

namespace headlight::ui {

namespace {

/// Draws an SVG whose strokes are black in the theme's colour of the moment: icons follow the palette live, at any scale.
class PaletteIcon : public QIconEngine {
public:
    explicit PaletteIcon(const QString& name) : name_(name) {
        QFile file(QStringLiteral(":/headlight/icons/%1.svg").arg(name));
        if (file.open(QIODevice::ReadOnly)) source_ = file.readAll();
    }

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        const figure::Theme& t = Appearance::instance().theme();
        const QColor color = mode == QIcon::Disabled ? t.faint : state == QIcon::On ? t.accent : t.muted;
        QByteArray colored = source_;
        colored.replace("#000000", color.name().toLatin1());
        QSvgRenderer(colored).render(painter, rect);
    }

    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        if (size.isEmpty()) return {};  // of a button in a window of 50 pixels
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(0, 0), size), mode, state);
        return pixmap;
    }

    QIconEngine* clone() const override { return new PaletteIcon(name_); }

private:
    QString name_;
    QByteArray source_;
};

}  // namespace

QIcon icon(const QString& name) { return QIcon(new PaletteIcon(name)); }

}  // namespace headlight::ui
